// Arrays in memory that no thread has touched yet.
//
// The first access to new memory takes many times as long as the next one, because the system clears
// it. Here the threads that write the values do that, each for its part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "parallel.hpp"

namespace widestreet {

// So many values that are not set.
template <class T>
struct Fresh {
  explicit Fresh(size_t count = 0) : size(count), values(new T[count]) {}

  size_t size;
  std::unique_ptr<T[]> values;
};

// The lists that tasks have found, one after the other; list_of(task) is a vector.
template <class T, class ListOf>
Fresh<T> joined(int64_t tasks, ListOf&& list_of, int threads) {
  std::vector<size_t> begin(size_t(tasks) + 1, 0);
  for (int64_t t = 0; t < tasks; ++t) begin[t + 1] = begin[t] + list_of(t).size();
  Fresh<T> all(begin[tasks]);
  const bool few = int64_t(all.size) < kWorthSharing;
  for_ranges(tasks, few ? std::max<int64_t>(tasks, 1) : 1, threads, [&](int64_t t, int64_t end) {
    for (; t < end; ++t)
      std::copy(list_of(t).begin(), list_of(t).end(), all.values.get() + begin[t]);
  });
  return all;
}

}  // namespace widestreet
