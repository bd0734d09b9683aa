// Rows as a scan with a tight bound multiplies them, and what its partial sums contribute to the
// bound (_src/kernels/bounded_scan.py).
#pragma once

#include <cstdint>

#include "kernels/rows.hpp"

namespace widestreet {

struct RoundedRows {
  float* features = nullptr;  // size x d: rows times the scale, rounded
  float* start = nullptr;     // -|x|^2 / 2 on the grid
  double* factor = nullptr;   // 2 to the power of what the grid leaves of it
  double* error = nullptr;    // norm of what rounding removed from the row
};

// Sets: the arrays of `rounded`.
void round_rows(const RowList& rows, double scale, double grid, const RoundedRows& rounded,
                int threads);

// Ranges of features, in groups that begin with the same feature.
struct FeatureRanges {
  int64_t d = 0;
  int64_t groups = 0;
  const int64_t* begin = nullptr;   // first feature of a group
  const int64_t* last = nullptr;    // the number of ranges in all groups up to this one
  const int64_t* end = nullptr;     // of a range, behind its last feature; ascending in a group
  const double* longest = nullptr;  // of a range: largest norm of a vector
  const double* trace = nullptr;    // of a range: of M
  const float* moments = nullptr;   // d x d: M, whose parts below the diagonal are zero; or null
};

// Sets: out[i] to the sum over all ranges of the bounds on sum_j |c_j| K_ij |x''.s''_j|, given V.
void bound_ranges(const float* features, int64_t rows, const FeatureRanges& ranges, const double* V,
                  double* out, int threads);

}  // namespace widestreet
