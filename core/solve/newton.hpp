// Newton steps on the free variables of a whole problem: the native twin of engines/newton.py for
// problems of few free variables, where calls from Python would be most of the cost.
#pragma once

#include "solve/smo.hpp"

namespace widestreet {

// LAPACK's dposv: solves A X = B for a symmetric positive definite A.
using Posv = void (*)(char* uplo, int* n, int* columns, double* A, int* lda, double* B, int* ldb,
                      int* info);

// The dposv to use, which whoever loads the core provides.
Posv& posv();

// Takes Newton steps until one is not cut at a bound, or until the free variables prove unsettled.
// The tile must be float64. Sets: beta and score of the subproblem. Returns whether the last step
// was a whole one: the free variables are at their maximiser.
bool polish(const Subproblem& p);

}  // namespace widestreet
