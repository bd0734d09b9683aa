// What changed between two lists of coefficients.
#pragma once

#include <cstdint>

#include "fresh.hpp"

namespace widestreet {

// Coefficients of some rows; the numbers of the rows ascend. Those of other rows are zero.
struct Coefficients {
  const int64_t* ids = nullptr;
  const double* values = nullptr;
  int64_t size = 0;
};

struct ChangedRows {
  Fresh<int64_t> ids;
  Fresh<double> values;
};

// The rows whose coefficients differ, ascending, and now - before.
ChangedRows changes(const Coefficients& now, const Coefficients& before, int threads);

}  // namespace widestreet
