#include "dots.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {

void dots(const DotsTask& task) {
  constexpr int kLanes = 32;  // sums side by side, so that additions need not wait for each other
  for (int64_t p = 0; p < task.count; ++p) {
    const double* row = task.values + task.rows[p] * task.stride;
    double sums[kLanes] = {};
    int64_t j = 0;
    for (; j + kLanes <= task.size; j += kLanes)
      for (int l = 0; l < kLanes; ++l) sums[l] += row[j + l] * task.weights[j + l];
    double total = 0;
    for (; j < task.size; ++j) total += row[j] * task.weights[j];
    for (double sum : sums) total += sum;
    task.out[p] = total;
  }
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
