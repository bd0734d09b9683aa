// Sums of some rows of a matrix against weights.
#pragma once

#include <cstdint>

namespace widestreet {

// out_p = sum_j values[rows_p][j] weights_j
struct DotsTask {
  const double* values = nullptr;
  int64_t stride = 0;  // from one row to the next
  const int64_t* rows = nullptr;
  int64_t count = 0;
  const double* weights = nullptr;
  int64_t size = 0;
  double* out = nullptr;
};

}  // namespace widestreet
