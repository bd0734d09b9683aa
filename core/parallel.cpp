#include "parallel.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#  include <pthread.h>
#endif

namespace widestreet {
namespace {

using Clock = std::chrono::steady_clock;

// Time for which a thread of the pool looks for the next job before it sleeps. Systems put a thread
// that wakes up beside the one that woke it: jobs of less than a millisecond would be over before
// it is moved to another processor.
constexpr std::chrono::microseconds kAwake{200};
constexpr int kLooks = 64;                      // before the thread gives way to others
constexpr int kCalledAtOnce = 2;                // threads that a thread wakes before it works
constexpr std::chrono::milliseconds kIdle{20};  // between two calls of `idle`

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

struct Job {
  const std::function<void(Tasks&)>& body;
  Tasks tasks;
  int active = 0;  // threads of the pool inside body
  std::condition_variable left;
  std::exception_ptr error;

  Job(const std::function<void(Tasks&)>& b, int64_t count) : body(b), tasks(count) {}
};

// Threads that wait for invitations. It is never destroyed: its threads may wait until the process
// ends.
//
// A thread stays awake after a job if it had waited for this job only shortly, as between the short
// calls of a fit. In an idle process all of them sleep.
class Pool {
 public:
  void run(Job& job, int helpers, const std::function<void()>& idle) {
    std::unique_lock<std::mutex> lock(mutex_);
    helpers = std::min(helpers, grown_to(helpers));
    invitations_.insert(invitations_.end(), helpers, &job);
    count();
    call_some(lock);
    work_on(job, lock);
    invitations_.erase(std::remove(invitations_.begin(), invitations_.end(), &job),
                       invitations_.end());
    count();
    const auto done = [&] { return job.active == 0; };
    if (!idle) job.left.wait(lock, done);
    while (!job.left.wait_for(lock, kIdle, done)) {
      lock.unlock();
      idle();
      lock.lock();
    }
  }

 private:
  // Leaves the lock locked.
  void work_on(Job& job, std::unique_lock<std::mutex>& lock) {
    try {
      job.body(job.tasks);
      lock.lock();
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      job.error = std::current_exception();
    }
  }

  // How many threads there are, after an attempt to have this many. The system may refuse.
  int grown_to(int wanted) {
    try {
      for (; threads_ < wanted; ++threads_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
    }
    return threads_;
  }

  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    bool soon = false;  // whether the last job came soon
    while (true) {
      const auto begun = Clock::now();
      if (soon && invitations_.empty()) {
        lock.unlock();
        look_until(begun + kAwake);
        lock.lock();
      }
      ++asleep_;
      while (invitations_.empty()) {
        wake_.wait(lock);
        called_ = std::max(0, called_ - 1);
      }
      --asleep_;
      soon = Clock::now() - begun < kAwake;
      Job& job = *invitations_.front();
      invitations_.pop_front();
      count();
      ++job.active;
      call_some(lock);
      work_on(job, lock);
      if (--job.active == 0) job.left.notify_all();
    }
  }

  // Wakes a few threads for the invitations. Each of them wakes more: to wake many takes the caller
  // as long as some of its tasks. Unlocks the lock.
  void call_some(std::unique_lock<std::mutex>& lock) {
    const int wanted = int(invitations_.size()) - called_;
    const int more = std::max(0, std::min({kCalledAtOnce, wanted, asleep_ - called_}));
    called_ += more;
    lock.unlock();
    for (int k = 0; k < more; ++k) wake_.notify_one();
  }

  // Returns when there is an invitation, or at the end.
  void look_until(Clock::time_point end) const {
    do {
      for (int look = 0; look < kLooks; ++look) {
        if (waiting_.load(std::memory_order_relaxed) > 0) return;
        pause();
      }
      std::this_thread::yield();
    } while (Clock::now() < end);
  }

  // Sets: waiting.
  void count() { waiting_.store(int(invitations_.size()), std::memory_order_relaxed); }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job*> invitations_;
  std::atomic<int> waiting_{0};  // invitations, readable without the mutex
  int asleep_ = 0;               // threads that wait to be woken
  int called_ = 0;               // of these, threads that were woken and have not begun
  int threads_ = 0;
};

Pool* the_pool = nullptr;

Pool& pool() {
  static const bool made = [] {
    the_pool = new Pool;
#if defined(__unix__) || defined(__APPLE__)
    // A forked process has none of the threads: it begins with a pool of its own.
    pthread_atfork(nullptr, nullptr, [] { the_pool = new Pool; });
#endif
    return true;
  }();
  (void)made;
  return *the_pool;
}

}  // namespace

void share(int64_t count, int threads, const std::function<void(Tasks&)>& body,
           const std::function<void()>& idle) {
  Job job(body, count);
  const int helpers = int(std::min<int64_t>(threads, count)) - 1;
  if (helpers <= 0) {
    body(job.tasks);
    return;
  }
  pool().run(job, helpers, idle);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace widestreet
