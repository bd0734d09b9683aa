#include "kernels/matrix_product.hpp"

#include <algorithm>
#include <vector>

#include "kernels/simd.hpp"
#include "parallel.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {
namespace {

typedef Vec<double> Doubles;
constexpr int kLanes = Simd<double>::lanes;
constexpr int64_t kPart = 1 << 16;   // values of a task
constexpr int64_t kMostParts = 256;  // sums of columns that are kept at a time
constexpr int kRowsTogether = 4;
constexpr int kMostVectors = kLanes == 8 ? 5 : 3;  // whose sums fit into the registers

int64_t rows_of_part(const MatrixView& A) {
  const int64_t enough = kPart / std::max<int64_t>(1, A.columns);
  return std::max<int64_t>({1, enough, (A.rows + kMostParts - 1) / kMostParts});
}

int threads_for(const ProductTask& task) {
  return task.A.rows * task.A.columns < kWorthSharing ? 1 : task.threads;
}

// The products of `rows` rows with `count` vectors: the sums stay in registers.
template <int rows, int count>
void dots(const MatrixView& A, int64_t i, const double* x, double* out) {
  Doubles sums[rows][count] = {};
  const double* a = A.row(i);
  int64_t j = 0;
  for (; j + kLanes <= A.columns; j += kLanes) {
    Doubles right[count];
    for (int c = 0; c < count; ++c) right[c] = load(x + c * A.columns + j);
    for (int r = 0; r < rows; ++r) {
      const Doubles left = load(a + r * A.columns + j);
      for (int c = 0; c < count; ++c) sums[r][c] += left * right[c];
    }
  }
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < count; ++c) {
      double sum = 0;
      for (int l = 0; l < kLanes; ++l) sum += sums[r][c][l];
      for (int64_t k = j; k < A.columns; ++k) sum += a[r * A.columns + k] * x[c * A.columns + k];
      out[c * A.rows + i + r] = sum;
    }
}

// The products of rows [begin, end) with `count` vectors.
template <int count>
void dots_of_rows(const MatrixView& A, int64_t begin, int64_t end, const double* x, double* out) {
  int64_t i = begin;
  for (; i + kRowsTogether <= end; i += kRowsTogether) dots<kRowsTogether, count>(A, i, x, out);
  for (; i < end; ++i) dots<1, count>(A, i, x, out);
}

void times(const ProductTask& task) {
  static constexpr decltype(&dots_of_rows<1>) of_vectors[] = {
      dots_of_rows<1>, dots_of_rows<2>, dots_of_rows<3>, dots_of_rows<4>, dots_of_rows<5>};
  const MatrixView& A = task.A;
  for_ranges(A.rows, rows_of_part(A), threads_for(task), [&](int64_t begin, int64_t end) {
    int64_t done = 0;
    for (int64_t groups = (task.count + kMostVectors - 1) / kMostVectors; groups > 0; --groups) {
      const int64_t count = (task.count - done + groups - 1) / groups;
      of_vectors[count - 1](A, begin, end, task.x + done * A.columns, task.out + done * A.rows);
      done += count;
    }
  });
}

// Adds the rows from a on, each times its factor. Sets: sum.
template <int rows>
void add_rows(const double* a, int64_t columns, const double* factor, double* sum) {
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    Doubles s = load(sum + j);
    for (int r = 0; r < rows; ++r) s += factor[r] * load(a + r * columns + j);
    store(sum + j, s);
  }
  for (; j < columns; ++j)
    for (int r = 0; r < rows; ++r) sum[j] += factor[r] * a[r * columns + j];
}

void transposed_times(const ProductTask& task) {
  const MatrixView& A = task.A;
  const int64_t step = rows_of_part(A), parts = (A.rows + step - 1) / step;
  const int64_t size = task.count * A.columns;
  std::vector<double> sums(parts * size);
  for_ranges(A.rows, step, threads_for(task), [&](int64_t begin, int64_t end) {
    double* part = sums.data() + begin / step * size;
    for (int64_t i = begin; i < end; i += kRowsTogether)
      for (int64_t c = 0; c < task.count; ++c) {
        const double* factor = task.x + c * A.rows + i;
        double* sum = part + c * A.columns;
        if (i + kRowsTogether <= end)
          add_rows<kRowsTogether>(A.row(i), A.columns, factor, sum);
        else
          for (int64_t r = 0; i + r < end; ++r)
            add_rows<1>(A.row(i + r), A.columns, factor + r, sum);
      }
  });
  std::fill(task.out, task.out + size, 0.0);
  for (int64_t p = 0; p < parts; ++p)
    for (int64_t j = 0; j < size; ++j) task.out[j] += sums[p * size + j];
}

}  // namespace

void multiply(const ProductTask& task) {
  task.transposed ? transposed_times(task) : times(task);
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
