// Shapley values of the features of kernel expansions, for kernels that are products over features.
//
// With k(x, s) = prod_j k_j(x_j, s_j), the game of row x against background row z and vector s has
// the value prod_{j in S} a_j prod_{j not in S} b_j for a set S of features, where a_j = k_j(x_j,
// s_j) and b_j = k_j(z_j, s_j). Owen's integral over its multilinear extension gives
//
//   phi_i = integral_0^1 (a_i - b_i) prod_{j != i} (t a_j + (1 - t) b_j) dt,
//
// a polynomial of degree d - 1 in t, summed by a quadrature rule that the caller provides. The
// products are those of a prefix and a suffix: factors may vanish, so that none is divided out.
#pragma once

#include <cstdint>

#include "kernels/kernel.hpp"
#include "kernels/rows.hpp"

namespace widestreet {

struct ShapleyTask {
  Kernel kernel;       // rbf or laplacian
  RowList rows;        // explained rows
  RowList background;  // rows that features are taken from if they are not in a set
  RowList vectors;
  int64_t nodes = 0;  // of the quadrature rule on [0, 1], ascending and symmetric about 1/2
  const double* node = nullptr;
  const double* weight = nullptr;
  int64_t lines = 1;             // of coefficients
  const double* coef = nullptr;  // lines x vectors
  double* out = nullptr;         // rows x features x lines; sums over the background are added
  int threads = 1;
};

}  // namespace widestreet
