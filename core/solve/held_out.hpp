// Scores of rows by models that were not trained on them, from the model of all rows.
//
// A fold changes the solution of all rows little: variables far from the margin stay at their
// bounds. For each problem (of two classes),
//
//   1) scores of all rows by the solution of all rows, and by that of each fold before any change:
//      one scan, with one sum for each
//   2) near rows: those that are free or nearest to the margin; their kernel tile
//   3) for each fold: the variables of its rows become zero, and near variables move until the sum
//      is zero; pair steps and Newton steps on the near rows
//   4) scores of the other rows, by a scan of the changed coefficients; rows that violate become
//      near rows, and the fold is continued from 3
//
// The result is that of the folds over all rows.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "kernels/kernel.hpp"
#include "kernels/rows.hpp"
#include "variables.hpp"

namespace widestreet {

enum class Role : uint8_t { none = 0, train = 1, test = 2 };

// The rows of all problems stand one after the other; problem p has those in [end[p-1], end[p]).
// Each has one variable per row and one group, whose sum is zero.
struct HeldOutTask {
  Kernel kernel;
  const Rows* rows = nullptr;
  int64_t problems = 0;
  const int64_t* end = nullptr;
  const int64_t* index = nullptr;  // of each row among `rows`
  Variables dual;                  // of all rows
  const double* beta = nullptr;    // its solution
  int64_t folds = 0;
  const uint8_t* role = nullptr;  // folds x number of `rows`
  double tol = 1e-3;
  double near = 0;        // rows of this distance from the margin are near at first
  bool in_double = true;  // precision of the kernel values
  int64_t most_near = 0;  // near rows of a problem
  int threads = 1;
  double* score = nullptr;     // of each row that is tested: with the bias of its fold
  std::function<bool()> stop;  // called every few hundredths of a second; true ends the call
};

struct HeldOutReport {
  // The largest of all folds; infinite if there are too many near rows, if a score is not finite,
  // or if the call was stopped.
  double violation = std::numeric_limits<double>::infinity();
  int64_t steps = 0;   // pair steps of all folds
  int64_t near = 0;    // near rows in the end
  int64_t values = 0;  // kernel values computed
};

// Sets: scores, one report per problem. Returns whether it was stopped.
bool hold_out(const HeldOutTask& task, HeldOutReport* report);

}  // namespace widestreet
