// A step of a homotopy: finding the next breakpoint and moving to it.
#pragma once

#include <cstdint>

namespace widestreet {

enum BoundState : int8_t { kLower = 0, kFree = 1, kUpper = 2 };

// Variables are numbered row by row: variable v belongs to row v / layers.
struct HomotopyStep {
  int64_t variables = 0;
  int layers = 1;
  double *target = nullptr, *lower = nullptr, *upper = nullptr, *beta = nullptr;
  const uint8_t* group = nullptr;
  const int8_t* bound_state = nullptr;
  double* score = nullptr;       // rows
  const double* bias = nullptr;  // groups
  // rates of change per unit of theta
  const double *d_target = nullptr, *d_lower = nullptr, *d_upper = nullptr, *d_beta = nullptr;
  const double* d_score = nullptr;
  const double* d_bias = nullptr;
  // the rows that take part, in ascending order; null for all
  const int64_t* rows = nullptr;
  int64_t count = 0;
};

struct Breakpoint {
  double length = 0;      // distance to it in theta; infinite if there is none
  int64_t variable = -1;  // the variable that reaches it
  int8_t to = kFree;      // its new bound state
  double slope = 0;       // of its h, if it becomes free
  double rest = 0;        // largest slope of h over the free variables, which should be zero
};

// h = target - score - bias of a variable at a bound reaches zero, or a free variable a bound.
// Slopes and rates below `negligible` times the largest are ignored, and so are the variables passed
// over. With `by_index`, the lowest-numbered variable is chosen among those that are farther than the
// nearest by at most `zero_length` of theta or of their own box or target.
Breakpoint nearest(const HomotopyStep& w, double negligible, double zero_length, bool by_index,
                   const int64_t* passed_over, int64_t count);

// Sets: target, lower, upper, beta, score.
void advance(const HomotopyStep& w, double length);

}  // namespace widestreet
