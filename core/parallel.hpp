// Work shared among threads that are kept between calls.
//
// The calling thread draws tasks until there are none; other threads join when they wake up in
// time. The caller never waits for a thread that has not begun: on a busy machine, where the others
// may not get a processor for a while, the caller does their part. (OpenMP must assemble its team
// at every barrier, which costs a time slice each time.) Results do not depend on which thread ran
// which task.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

namespace widestreet {

// Values to be moved or summed, above which it is worth waking other threads.
constexpr int64_t kWorthSharing = 200000;

// The numbers of the remaining tasks.
class Tasks {
 public:
  explicit Tasks(int64_t count) : count_(count) {}
  // Sets: task. Returns false when there are none left.
  bool draw(int64_t& task) {
    task = next_.fetch_add(1, std::memory_order_relaxed);
    return task < count_;
  }

 private:
  std::atomic<int64_t> next_{0};
  const int64_t count_;
};

// Calls body on the calling thread and on up to threads - 1 others at the same time; each call
// draws from the tasks until there are none. An exception of a body reaches the caller. If given,
// `idle` is called on the calling thread from time to time while it waits for the others; it must
// not throw. (Python handles signals on the main thread only.)
void share(int64_t count, int threads, const std::function<void(Tasks&)>& body,
           const std::function<void()>& idle = {});

// Calls work(begin, end) for parts of [0, size), all of length `step` except the last.
template <class Work>
void for_ranges(int64_t size, int64_t step, int threads, Work&& work,
                const std::function<void()>& idle = {}) {
  const int64_t count = (size + step - 1) / step;
  auto body = [&](Tasks& tasks) {
    for (int64_t t; tasks.draw(t);) work(t * step, std::min((t + 1) * step, size));
  };
  if (count > 1 && threads > 1)
    share(count, threads, body, idle);
  else if (count > 0)
    for (int64_t t = 0; t < count; ++t) work(t * step, std::min((t + 1) * step, size));
}

}  // namespace widestreet
