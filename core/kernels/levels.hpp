// Rows whose values all lie on a grid of up to 256 levels, origin + step * level: pixels, counts,
// zeros and ones. Products of levels are sums of integers, which are exact (bytes.hpp, binary.hpp).
#pragma once

#include <cstdint>

#include "kernels/rows.hpp"

namespace widestreet {

// Deviations from the grid, relative to |value| + |origin|: that of a value in double and of a step
// computed from such values, and the same in float.
constexpr double kPrecise = 0x1p-51;
constexpr double kRough = 0x1p-22;

struct LevelsTask {
  const Rows* rows = nullptr;
  double step = 1;
  double origin = 0;
  uint8_t* levels = nullptr;  // n x stride, all zero at first; null: only 0 and 1 are wanted
  int64_t stride = 0;
  double* squares = nullptr;  // of each row: the sum of its squared levels
  int threads = 1;
};

struct LevelsReport {
  bool found = false;    // all values are on the grid up to kRough; else the rest has no meaning
  bool precise = false;  // up to kPrecise
  bool binary = false;   // all levels are 0 or 1
  double error = 0;      // bound on the norm of the deviations of a row
};

}  // namespace widestreet
