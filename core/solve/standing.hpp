// How the rows of a working set stand to the optimality conditions.
#pragma once

#include <vector>

#include "variables.hpp"

namespace widestreet {

// Of each group: the largest F of the variables that may grow, and the smallest F of those that may
// shrink, where F = target - score. Infinite if there is none; nan if an F is not a number.
struct Extremes {
  std::vector<double> highest, lowest;
};

Extremes extremes(const Variables& dual, const double* beta, const double* score);

// Sets: slack[row] to the distance of each row from violating, given the bias of each group that
// counts for variables that may grow (least), and for those that may shrink (most).
void slack(const Variables& dual, const double* beta, const double* score, const double* least,
           const double* most, double* slack);

}  // namespace widestreet
