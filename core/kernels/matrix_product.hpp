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

// A x for each x of so many. Sets: out (count x rows).
void times(const MatrixView& A, const double* x, int64_t count, double* out, int threads);

// A' x, the same for any number of threads. Sets: out (count x columns).
void transposed_times(const MatrixView& A, const double* x, int64_t count, double* out,
                      int threads);

}  // namespace widestreet
