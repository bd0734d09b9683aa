// Small problems solved whole: the kernel tile of all rows in float64, pair steps and Newton steps
// on it, then what a record of the round says. Many such problems over the same rows are solved in one call,
// each by one thread.
#pragma once

#include <cstdint>

#include "kernels/kernel.hpp"
#include "kernels/rows.hpp"

namespace widestreet {

// The rows of all problems stand one after the other; problem p has those in [end[p-1], end[p]).
struct WholeTask {
  Kernel kernel;
  const Rows* rows = nullptr;
  int64_t problems = 0;
  const int64_t* end = nullptr;
  const int64_t* max_steps = nullptr;  // of each problem
  const int64_t* place = nullptr;      // of each row among `rows`
  int layers = 1;
  int groups = 1;
  int64_t layer_stride = 0;  // from layer to layer in the arrays of variables
  const double* target = nullptr;
  const double* lower = nullptr;
  const double* upper = nullptr;
  const uint8_t* group = nullptr;
  double* beta = nullptr;   // where each problem begins, and where it ends
  double* score = nullptr;  // one per row, set
  double tol = 1e-3;
  int threads = 1;
};

struct WholeReport {
  double violation = 0;
  int64_t steps = 0;
  int64_t support = 0;  // rows that have a coefficient
  int64_t free = 0;     // variables strictly inside their box
  double linear = 0;    // t'beta
  double norm = 0;      // c'Kc
  double loss = 0;      // primal loss at the biases
  int64_t values = 0;   // kernel values computed
};

// Sets: beta, score, one report per problem and its biases, `groups` of them.
void solve_whole(const WholeTask& task, WholeReport* report, double* bias);

}  // namespace widestreet
