// Linear combinations of CSR rows with nearly all digits (Dekker, A floating-point technique for
// extending the available precision, 1971).
#pragma once

#include "kernels/rows.hpp"

namespace widestreet {

// sum_p coef[p] row(p) for each column, as unevaluated sums high + low of two numbers. For at most n
// rows the error is at most n 2^-103 of the sum of absolute terms. Sets: high and low, d values each.
void sparse_combination(const RowList& list, const double* coef, double* high, double* low);

}  // namespace widestreet
