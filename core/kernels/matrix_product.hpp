// A matrix in memory times some vectors: read once, by as many threads as the memory can feed.
#pragma once

#include <cstdint>

namespace widestreet {

// Row major, without gaps.
struct MatrixView {
  const double* values = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  const double* row(int64_t i) const { return values + i * columns; }
};

// A x, or A' x, for each x of so many: the same for any number of threads, and for any number of
// vectors that are multiplied together. Sets: out (one line for each x).
struct ProductTask {
  MatrixView A;
  bool transposed = false;
  const double* x = nullptr;  // one line for each x
  int64_t count = 1;
  double* out = nullptr;
  int threads = 1;
};

}  // namespace widestreet
