#include "solve/changes.hpp"

#include <algorithm>
#include <vector>

#include "parallel.hpp"

namespace widestreet {
namespace {

constexpr int64_t kPart = 16384;  // coefficients of a task, of the longer list

// Merges [i, i_end) of one list with [j, j_end) of the other. Sets: ids, values.
void merge(const Coefficients& now, int64_t i, int64_t i_end, const Coefficients& before, int64_t j,
           int64_t j_end, std::vector<int64_t>& ids, std::vector<double>& values) {
  while (i < i_end || j < j_end) {
    const bool mine = i < i_end && (j >= j_end || now.ids[i] <= before.ids[j]);
    const bool other = j < j_end && (i >= i_end || before.ids[j] <= now.ids[i]);
    const double change = (mine ? now.values[i] : 0.0) - (other ? before.values[j] : 0.0);
    if (change != 0) {
      ids.push_back(mine ? now.ids[i] : before.ids[j]);
      values.push_back(change);
    }
    i += mine;
    j += other;
  }
}

}  // namespace

ChangedRows changes(const Coefficients& now, const Coefficients& before, int threads) {
  const Coefficients& longer = now.size < before.size ? before : now;
  const int64_t tasks = std::max<int64_t>(1, (longer.size + kPart - 1) / kPart);
  // The position in a list of the first row of a task.
  auto begin_of = [&](const Coefficients& list, int64_t task) {
    if (task == 0) return int64_t(0);
    if (task == tasks) return list.size;
    return int64_t(std::lower_bound(list.ids, list.ids + list.size, longer.ids[task * kPart]) -
                   list.ids);
  };
  std::vector<std::vector<int64_t>> ids(tasks);
  std::vector<std::vector<double>> values(tasks);
  for_ranges(tasks, 1, threads, [&](int64_t t, int64_t) {
    merge(now, begin_of(now, t), begin_of(now, t + 1), before, begin_of(before, t),
          begin_of(before, t + 1), ids[t], values[t]);
  });
  return {joined<int64_t>(
              tasks, [&](int64_t t) -> auto& { return ids[t]; }, threads),
          joined<double>(tasks, [&](int64_t t) -> auto& { return values[t]; }, threads)};
}

}  // namespace widestreet
