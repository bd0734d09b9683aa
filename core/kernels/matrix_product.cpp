#include "kernels/matrix_product.hpp"

#include <algorithm>
#include <vector>

#include "parallel.hpp"

namespace widestreet {
namespace {

constexpr int kLanes = 8;            // sums that are added up side by side
constexpr int64_t kPart = 1 << 16;   // values of a task
constexpr int64_t kMostParts = 256;  // sums of columns that are kept at a time

int64_t rows_of_part(const MatrixView& A) {
  const int64_t enough = kPart / std::max<int64_t>(1, A.columns);
  return std::max<int64_t>({1, enough, (A.rows + kMostParts - 1) / kMostParts});
}

int threads_for(const MatrixView& A, int threads) {
  return A.rows * A.columns < kWorthSharing ? 1 : threads;
}

double dot(const double* a, const double* x, int64_t size) {
  double sums[kLanes] = {};
  int64_t j = 0;
  for (; j + kLanes <= size; j += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += a[j + lane] * x[j + lane];
  for (; j < size; ++j) sums[0] += a[j] * x[j];
  double sum = 0;
  for (double part : sums) sum += part;
  return sum;
}

}  // namespace

void times(const MatrixView& A, const double* x, int64_t count, double* out, int threads) {
  for_ranges(A.rows, rows_of_part(A), threads_for(A, threads), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t c = 0; c < count; ++c)
        out[c * A.rows + i] = dot(A.row(i), x + c * A.columns, A.columns);
  });
}

void transposed_times(const MatrixView& A, const double* x, int64_t count, double* out,
                      int threads) {
  const int64_t step = rows_of_part(A), parts = (A.rows + step - 1) / step;
  const int64_t size = count * A.columns;
  std::vector<double> sums(parts * size);
  for_ranges(A.rows, step, threads_for(A, threads), [&](int64_t begin, int64_t end) {
    double* part = sums.data() + begin / step * size;
    for (int64_t i = begin; i < end; ++i) {
      const double* a = A.row(i);
      for (int64_t c = 0; c < count; ++c) {
        const double factor = x[c * A.rows + i];
        double* sum = part + c * A.columns;
        for (int64_t j = 0; j < A.columns; ++j) sum[j] += factor * a[j];
      }
    }
  });
  std::fill(out, out + size, 0.0);
  for (int64_t p = 0; p < parts; ++p)
    for (int64_t j = 0; j < size; ++j) out[j] += sums[p * size + j];
}

}  // namespace widestreet
