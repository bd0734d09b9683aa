// Kernel values between two lists of rows: summed against coefficients (scan) or written (tile).
//
// This header declares the work; evaluate.cpp does it and is compiled once per instruction set.
#pragma once

#include <cstdint>

#include "kernel.hpp"
#include "rows.hpp"

namespace widestreet {

struct ScanTask {
  Kernel kernel;
  RowList left;
  RowList right;
  const double* coef = nullptr;  // one per right row
  double* out = nullptr;         // one per left row; the sums are added to it
  bool in_double = true;         // precision of the kernel values
  int threads = 1;
};

struct TileTask {
  Kernel kernel;
  RowList left;
  RowList right;
  void* out = nullptr;  // T, row major, `ld` values from one row to the next
  int64_t ld = 0;
  const int64_t* out_row = nullptr;  // row of `out` for each left row; null: in order
  bool in_double = true;
  int threads = 1;
};

}  // namespace widestreet
