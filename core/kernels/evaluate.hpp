// Kernel values between two lists of rows: summed against coefficients (scan) or written (tile).
//
// This header declares the work; evaluate.cpp does it and is compiled once per instruction set.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/kernel.hpp"
#include "kernels/rows.hpp"

namespace widestreet {

// Right rows that were packed once for many scans in double precision. It never changes, so any
// number of threads may use it. The panel is that of the instruction set which packed it.
struct PackedRows {
  Kernel kernel;
  int64_t size = 0;
  int64_t d = 0;
  std::shared_ptr<const void> panel;
};

// Several scans in one call have the same kernel, rows, precision and number of threads, and different
// results: threads share them.
struct ScanTask {
  Kernel kernel;
  RowList left;
  RowList right;
  const PackedRows* packed = nullptr;  // right rows of this kernel; then `right` holds their number
  int64_t sets = 1;                    // of coefficients, hence of sums
  const double* coef = nullptr;        // sets x right rows
  double* out = nullptr;               // sets x left rows; the sums are added to it
  int64_t out_ld = 0;                  // values from one set to the next
  bool in_double = true;               // precision of the kernel values
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
