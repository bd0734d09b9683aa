// Problems so small that the kernel tile of all their rows is computed, in float64: pair steps and
// Newton steps on it, then the figures of the point reached. Many such problems over the same rows
// are solved in one call, each by one thread.
#pragma once

#include <cstdint>

#include "kernels/kernel.hpp"
#include "kernels/rows.hpp"
#include "variables.hpp"

namespace widestreet {

// The rows of all problems stand one after the other; problem p has those in [end[p-1], end[p]).
struct SmallTask {
  Kernel kernel;
  const Rows* rows = nullptr;
  int64_t problems = 0;
  const int64_t* end = nullptr;
  const int64_t* max_steps = nullptr;  // of each problem
  const int64_t* index = nullptr;      // of each row among `rows`
  Variables dual;                      // of all problems
  double* beta = nullptr;              // where each problem begins, and where it ends
  double* score = nullptr;             // one per row, set
  double tol = 1e-3;
  int threads = 1;
};

struct SmallReport {
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
void solve_small(const SmallTask& task, SmallReport* report, double* bias);

}  // namespace widestreet
