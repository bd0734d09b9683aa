// Passes over all rows for the certificate (rows that matter, places, exact sums) and for the first
// targets.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "fresh.hpp"
#include "kernels/rows.hpp"
#include "variables.hpp"

namespace widestreet {

// Rows with zero coefficients, and limits of F = target - score beyond which they matter.
struct Zeros {
  Variables dual;
  const int64_t* index = nullptr;  // the rows, or all if null
  int64_t size = 0;
  const double* score = nullptr;  // of all rows of the dual, with bounds on their errors
  const double* error = nullptr;
  double more = 0;               // error of every score beside these
  const double* grow = nullptr;  // one limit per group
  const double* shrink = nullptr;
};

// Rows of which a variable may grow and F may not be below the limit of its group, or of which a
// variable may shrink and F may not be above. Values that are no numbers matter. The rounding of
// the comparison is allowed for.
Fresh<int64_t> rows_that_matter(const Zeros& zeros, int threads);

// The positions of true values: of bytes other than zero.
Fresh<int64_t> places(const uint8_t* mask, int64_t count, int threads);

// The largest target of variables that may grow from zero, and the smallest of those that may
// shrink; infinite where there are none.
std::pair<double, double> extreme_targets(const Variables& dual, int threads);

// Floats with the same exact sum as the values, few of them unless exponents differ much. Returns
// false if a value is not finite or so large that sums may overflow. Sets: terms.
//
// A value is m 2^(e - 53) with an integer |m| < 2^53, which is split into hi 2^26 + lo. Sums of hi
// and of lo over values with the same exponent e are integers that 64 bits hold exactly.
bool exact_terms(const double* values, int64_t count, std::vector<double>& terms, int threads);

}  // namespace widestreet
