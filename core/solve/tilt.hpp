// Weights on the simplex that are tilted by margins, for the multiplicative updates.
#pragma once

#include <cstdint>

namespace widestreet {

// Weights exp(log_i - eta margin_i) / Z(eta). A logarithm may be minus infinity. One that is less
// than the largest by more than 600 counts as if it were less by 600: such a weight is below any
// rounding of the others, and no weight is denormal.
struct Tilt {
  int64_t size = 0;
  const double* log = nullptr;
  const double* margin = nullptr;
};

// The arguments of the functions in dispatch.hpp:
//
//     double find_eta(const Tilt&, double edge, double start)
//
// returns the eta at which the mean of the margins under the tilted weights is `edge`, to 1e-13 of
// it, by Newton's method within a bracket. At eta = 0 the mean exceeds the edge, and some margin is
// below it.
//
//     double tilt(const Tilt&, double eta, double* log, double* weight)
//
// returns ln Z(eta). Sets: weight, and log to log_i - eta margin_i - ln Z(eta).

}  // namespace widestreet
