// Problems over one kernel matrix that differ in targets, boxes and totals: each starts from the
// solution of the one before.
#pragma once

#include <cstdint>
#include <functional>

#include "variables.hpp"

namespace widestreet {

struct ChainTask {
  const double* tile = nullptr;  // rows x rows, symmetric, `ld` values from row to row
  int64_t ld = 0;
  int64_t problems = 0;
  Variables dual;                 // of the first problem; the next ones follow it in each layer
  const double* total = nullptr;  // problems x groups
  const double* scale = nullptr;  // of each problem: coefficients are about proportional to it
  const double* tol = nullptr;    // of each problem
  double* beta = nullptr;         // of all problems; that of the first is feasible
  double* score = nullptr;        // problems x rows; the first is K c
  std::function<bool()> stop;     // called every few hundredths of a second; true ends the call
};

struct ChainReport {
  double violation = 0;
  int64_t steps = 0;
  double norm = 0;  // c'Kc
  double seconds = 0;
};

// The number of pair steps that cost as much as a few Newton steps with so many variables.
int64_t steps_before_newton(int64_t variables);

// Solves the problems in their order, up to one that Newton steps would solve faster, or until it
// is stopped. Sets: beta, score, reports and biases of the problems that were begun. Returns their
// number; the violation of the last one may be above its tolerance.
int64_t solve_chain(const ChainTask& task, ChainReport* report, double* bias);

}  // namespace widestreet
