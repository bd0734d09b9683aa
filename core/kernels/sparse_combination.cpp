// This file is compiled without contraction: the rounding errors of sums are differences of
// rounded numbers.
#include "kernels/sparse_combination.hpp"

#include <algorithm>
#include <cmath>

namespace widestreet {
namespace {

// Replaces (a, b) by their rounded sum and its error. Sets: a, b.
inline void two_sum(double& a, double& b) {
  const double total = a + b, other = total - a;
  b = (a - (total - other)) + (b - other);
  a = total;
}

}  // namespace

void sparse_combination(const RowList& list, const double* coef, double* high, double* low) {
  const Rows& rows = *list.rows;
  std::fill_n(high, rows.d, 0.0);
  std::fill_n(low, rows.d, 0.0);
  for (int64_t j = 0; j < list.size; ++j) {
    const double c = coef[j];
    const int64_t i = list.at(j), end = rows.begin_of(i + 1);
    for (int64_t p = rows.begin_of(i); p < end; ++p) {
      const double value = rows.value_at(p);
      const int64_t k = rows.column_at(p);
      double error = c * value;
      const double of_product = std::fma(c, value, -error);
      two_sum(high[k], error);
      low[k] += error + of_product;
      two_sum(high[k], low[k]);
    }
  }
}

}  // namespace widestreet
