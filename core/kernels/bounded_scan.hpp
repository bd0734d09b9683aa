// Sums over an RBF kernel in float, whose errors have a tight bound.
//
// Rows are given as they are multiplied: z = x.s + (a + b) for a left row x with start value a and a
// right row s with start value b, where a + b is exact. Products are added up from zero, in parts of
// kTerms features, and a + b last: then every rounding is relative to a sum of products only. Values
// 2^z are summed in double. _src/kernels/bounded_scan.py prepares the rows and proves the bound.
#pragma once

#include <cstdint>

namespace widestreet {

struct BoundedRows {
  int64_t size = 0;
  const float* features = nullptr;  // size x d
  const float* start = nullptr;
};

struct BoundedScanTask {
  BoundedRows left, right;
  int64_t d = 0;
  const double* coef = nullptr;   // one per right row
  const float* weight = nullptr;  // one per right row, not negative
  double* sums = nullptr;         // one per left row: the sum against coef is added to it
  double* sizes = nullptr;        // the same for weight, to a relative error of 1e-4
  int threads = 1;
};

}  // namespace widestreet
