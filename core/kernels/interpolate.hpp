// Values of functions that are polynomials in each cell of a grid, at rows with few features.
//
// This header declares the work; interpolate.cpp does it and is compiled once per instruction set.
#pragma once

#include <cstdint>

#include "kernels/rows.hpp"

namespace widestreet {

constexpr int kMostFeatures = 3;  // of the rows of a grid
constexpr int kDegrees = 16;      // Chebyshev polynomials in each direction: degrees 0 to 15

// A grid of equal cells. Rows are inside, up to rounding; those outside count as on its border.
struct Grid {
  int d = 1;
  const double* low = nullptr;     // d: where the first cell begins
  const double* half = nullptr;    // d: half of the width of a cell
  const int64_t* count = nullptr;  // d: cells in each direction; the last one varies fastest
  int64_t cells() const {
    int64_t all = 1;
    for (int k = 0; k < d; ++k) all *= count[k];
    return all;
  }
};

struct InterpolationTask {
  Grid grid;
  RowList rows;
  const int64_t* place = nullptr;  // of each cell: the number of its polynomial
  const double* coef = nullptr;    // sets x polynomials x kDegrees^d
  int64_t polynomials = 0;
  int64_t sets = 1;
  double* out = nullptr;  // sets x rows: the values
  int64_t out_ld = 0;     // values from one set to the next
  int threads = 1;
};

}  // namespace widestreet
