// The objectives and violations of points of duals, given exact scores; shares nothing with the
// solver.
//
// The formulas are those of the Python package `certificate`. Sums are compensated, so that their
// error does not depend on the number of rows.
#pragma once

#include <cstdint>

#include "variables.hpp"

namespace widestreet {

// The rows of all points stand one after the other; point p has those in [end[p-1], end[p]).
struct ExamineTask {
  int64_t points = 0;
  const int64_t* end = nullptr;
  Variables dual;                 // of all points
  const double* total = nullptr;  // points x groups
  const double* beta = nullptr;
  const double* score = nullptr;  // one per row
};

struct Examination {
  double primal = 0;
  double dual = 0;
  double violation = 0;
  double infeasibility = 0;
};

// Sets: one examination per point and its best biases, `groups` of them.
void examine(const ExamineTask& task, Examination* found, double* bias);

}  // namespace widestreet
