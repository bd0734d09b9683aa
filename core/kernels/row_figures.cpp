#include "kernels/row_figures.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "parallel.hpp"

namespace widestreet {
namespace {

constexpr int64_t kRange = 1024;           // rows of one task
constexpr int64_t kRangeOfFigures = 4096;  // and of one that has sums of its own for each column
constexpr double kInf = std::numeric_limits<double>::infinity();

template <class Stored>
double dense_square(const Rows& rows, int64_t i) {
  const Stored* x = static_cast<const Stored*>(rows.values) + i * rows.row_stride;
  const int64_t step = rows.col_stride;
  double even = 0, odd = 0;  // two sums: one addition need not wait for the other
  int64_t k = 0;
  auto part = [&](int64_t at) {
    const double value = double(x[at * step]) - (rows.centre ? rows.centre[at] : 0.0);
    return value * value;
  };
  for (; k + 1 < rows.d; k += 2) {
    even += part(k);
    odd += part(k + 1);
  }
  return even + odd + (k < rows.d ? part(k) : 0.0);
}

double square(const Rows& rows, int64_t i) {
  if (rows.storage == Rows::Storage::dense)
    return rows.is_double ? dense_square<double>(rows, i) : dense_square<float>(rows, i);
  double sum = 0;
  for (int64_t p = rows.begin_of(i); p < rows.begin_of(i + 1); ++p)
    sum += rows.value_at(p) * rows.value_at(p);
  return sum;
}

// Adds one row to the figures of its columns. Sets: total, low, high.
template <class Stored>
inline void add_line(const Stored* __restrict x, int64_t d, double* __restrict total,
                     Stored* __restrict low, Stored* __restrict high) {
  for (int64_t k = 0; k < d; ++k) {
    total[k] += double(x[k]);
    low[k] = x[k] < low[k] ? x[k] : low[k];
    high[k] = x[k] > high[k] ? x[k] : high[k];
  }
}

// Figures of the columns of some rows. Sets: total, low, high.
template <class Stored>
void figures_of(const Rows& rows, int64_t begin, int64_t end, double* total, double* low,
                double* high) {
  const Stored* values = static_cast<const Stored*>(rows.values);
  std::vector<Stored> least(rows.d, std::numeric_limits<Stored>::infinity());
  std::vector<Stored> most(rows.d, -std::numeric_limits<Stored>::infinity());
  std::fill_n(total, rows.d, 0.0);
  if (rows.col_stride == 1) {
    for (int64_t i = begin; i < end; ++i)
      add_line(values + i * rows.row_stride, rows.d, total, least.data(), most.data());
  } else {
    for (int64_t k = 0; k < rows.d; ++k)
      for (int64_t i = begin; i < end; ++i)
        add_line(values + i * rows.row_stride + k * rows.col_stride, 1, total + k, &least[k],
                 &most[k]);
  }
  std::copy(least.begin(), least.end(), low);
  std::copy(most.begin(), most.end(), high);
}

}  // namespace

void squares(const RowList& list, double* out, int threads) {
  for_ranges(list.size, kRange, threads, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) out[p] = square(*list.rows, list.at(p));
  });
}

double largest_square(const Rows& rows, int threads) {
  std::vector<double> largest((rows.n + kRange - 1) / kRange, 0.0);
  for_ranges(rows.n, kRange, threads, [&](int64_t begin, int64_t end) {
    double mine = 0;
    for (int64_t i = begin; i < end; ++i) mine = std::max(mine, square(rows, i));
    largest[begin / kRange] = mine;
  });
  double all = 0;
  for (const double one : largest) all = std::max(all, one);
  return all;
}

void column_figures(const Rows& rows, double* total, double* low, double* high, int threads) {
  const int64_t d = rows.d, tasks = (rows.n + kRangeOfFigures - 1) / kRangeOfFigures;
  std::vector<double> found(3 * d * tasks);
  for_ranges(rows.n, kRangeOfFigures, threads, [&](int64_t begin, int64_t end) {
    double* mine = found.data() + 3 * d * (begin / kRangeOfFigures);
    (rows.is_double ? figures_of<double> : figures_of<float>)(rows, begin, end, mine, mine + d,
                                                              mine + 2 * d);
  });
  std::fill_n(total, d, 0.0);
  std::fill_n(low, d, kInf);
  std::fill_n(high, d, -kInf);
  for (int64_t t = 0; t < tasks; ++t)
    for (int64_t k = 0; k < d; ++k) {
      const double* one = found.data() + 3 * d * t + k;
      total[k] += one[0];
      low[k] = std::min(low[k], one[d]);
      high[k] = std::max(high[k], one[2 * d]);
    }
}

}  // namespace widestreet
