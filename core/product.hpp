// A matrix in memory times a vector: read once, by as many threads as the memory can feed.
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

// A x. Sets: out (rows).
void times(const MatrixView& A, const double* x, double* out, int threads);

// A' x, the same for any number of threads. Sets: out (columns).
void transposed_times(const MatrixView& A, const double* x, double* out, int threads);

}  // namespace widestreet
