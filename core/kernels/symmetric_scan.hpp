// Sums over an RBF kernel in double between rows of one list: a value serves both of its rows.
#pragma once

#include <cstdint>

#include "kernels/rows.hpp"

namespace widestreet {

// Adds to out[i] the terms coef[j] K(i, j) for rows i of [from, to) and rows j >= from, and to
// out[j] the terms coef[i] K(i, j) for the rows j >= to. Over all ranges of a partition of the list
// that is K coef. The length of a range is a multiple of 48, except for the last. A term takes part
// in less than 48 + (to - from) / 192 additions and one for each range, or in those of a scan. The
// sums do not depend on the number of threads.
struct SymmetricScanTask {
  double gamma = 1;
  RowList rows;
  int64_t from = 0, to = 0;
  const double* coef = nullptr;  // one per row
  double* out = nullptr;         // one per row
  int threads = 1;
};

}  // namespace widestreet
