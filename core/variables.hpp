// The variables of a dual problem: targets, boxes and groups.
#pragma once

#include <cstdint>

namespace widestreet {

// Each row has one variable per layer; variable (layer, row) is entry layer * stride + row of every
// array, and of the array of coefficients beta that goes with them. All arrays are the caller's.
struct Variables {
  int64_t rows = 0;
  int layers = 1;
  int groups = 1;
  int64_t stride = 0;
  const double* target = nullptr;
  const double* lower = nullptr;
  const double* upper = nullptr;
  const uint8_t* group = nullptr;

  int64_t at(int layer, int64_t row) const { return layer * stride + row; }

  // The variables of rows [begin, begin + count).
  Variables part(int64_t begin, int64_t count) const {
    return {count,          layers,        groups,        stride,
            target + begin, lower + begin, upper + begin, group + begin};
  }

  // Calls f(variable, row) for every variable, layer by layer.
  template <class F>
  void each(F&& f) const {
    for (int layer = 0; layer < layers; ++layer)
      for (int64_t row = 0; row < rows; ++row) f(at(layer, row), row);
  }
};

}  // namespace widestreet
