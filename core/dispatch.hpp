// The functions that exist once per instruction set, and which of them runs.
#pragma once

#include <string>
#include <vector>

#include "explain/shapley.hpp"
#include "kernels/bounded_scan.hpp"
#include "kernels/evaluate.hpp"
#include "kernels/interpolate.hpp"
#include "kernels/levels.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/symmetric_scan.hpp"
#include "solve/smo_blocks.hpp"
#include "solve/tilt.hpp"

namespace widestreet {

struct Functions {
  const char* name;
  void (*scan)(const ScanTask*, int64_t count);
  PackedRows (*pack)(const Kernel&, const RowList&, int threads);
  void (*tile)(const TileTask&);
  LevelsReport (*find_levels)(const LevelsTask&);
  void (*mark_cells)(const Grid&, const RowList&, uint8_t* occupied, int threads);
  void (*interpolate)(const InterpolationTask&);
  SubproblemReport (*solve)(const Subproblem&);
  void (*add_scores)(const ScoreTask&);
  void (*exp2_array)(const double*, double*, int64_t, bool);
  void (*add_shapley_values)(const ShapleyTask&);
  void (*bounded_scan)(const BoundedScanTask&);
  void (*symmetric_scan)(const SymmetricScanTask&);
  void (*multiply)(const ProductTask&);
  double (*find_eta)(const Tilt&, double edge, double start);
  double (*tilt)(const Tilt&, double eta, double* log, double* weight);
  bool vnni = false;  // whether they may use the products of bytes of AVX-512 VNNI
};

// Instruction sets this build and this processor share, best first: "avx512", "avx2", "portable".
// With VNNI, "avx512" uses it and "avx512bw" does not.
std::vector<std::string> available();

// The set in use: the best one unless another was forced.
const Functions& functions();

// Throws std::invalid_argument for a name that is not available.
void force(const std::string& name);

}  // namespace widestreet
