// Newton steps on the free variables of a subproblem: the end game of pair steps.
//
// With the variables at a bound held fixed, the dual on the free ones is a quadratic with linear
// equalities; its maximiser solves
//
//   [ K_FF  A' ] [ d      ]   [ F_F ]
//   [ A     0  ] [ lambda ] = [ 0   ]        A: one row of ones per group
//
// One factorisation replaces the slow tail of pair steps at large C. A step is cut at the first
// bound that it reaches; that variable leaves the free set and the system is solved again. Each
// step maximises the dual along its direction, so the objective never falls.
#pragma once

#include "solve/smo_blocks.hpp"

namespace widestreet {

// The number of variables strictly inside their box.
int64_t count_free(const Subproblem& p);

// Takes Newton steps until one is not cut at a bound, or until too many were cut. The matrix of the
// free variables, in float64, is made in the scratch memory if it fits. p.stop is polled before
// each step. Sets: beta and score. Returns whether the last step was not cut: the free variables
// are at their maximiser.
bool newton_steps(const Subproblem& p);

}  // namespace widestreet
