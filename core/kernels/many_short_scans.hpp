// Scans of many short lists of rows in one call, each against the rows of the list itself.
#pragma once

#include <cstdint>

#include "kernels/kernel.hpp"
#include "kernels/rows.hpp"

namespace widestreet {

// The lists stand one after the other; list p is [end[p-1], end[p]).
struct PartsTask {
  Kernel kernel;
  const Rows* rows = nullptr;
  int64_t parts = 0;
  const int64_t* end = nullptr;
  const int64_t* index = nullptr;  // of each row among `rows`
  const double* coef = nullptr;    // of each row; zeros cost nothing
  double* out = nullptr;           // the sum for each row is added to it
  int threads = 1;                 // each list is the work of one
};

// In float64. Sets: out. Returns the number of kernel values.
int64_t scan_parts(const PartsTask& task);

}  // namespace widestreet
