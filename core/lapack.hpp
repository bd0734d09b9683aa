// The routines of BLAS and LAPACK that the core calls. It links none: the caller provides them.
#pragma once

namespace widestreet {

struct Lapack {
  // Solves A X = B for a symmetric positive definite A, in place.
  void (*dposv)(char* uplo, int* n, int* columns, double* A, int* lda, double* B, int* ldb,
                int* info) = nullptr;
  // Solves op(A) x = b for a triangular A, in place.
  void (*dtrsv)(char* uplo, char* transposed, char* diagonal, int* n, double* A, int* lda,
                double* x, int* stride) = nullptr;
};

// Sets: the routines to use.
void use_lapack(const Lapack& given);

// Throws std::runtime_error while none were provided.
const Lapack& lapack();

}  // namespace widestreet
