// Properties of rows that are found before training: which rows are equal or similar.
#pragma once

#include <cstdint>

#include "kernels/rows.hpp"

namespace widestreet {

// Labels of rows: numbers, or the numbers of classes.
struct Labels {
  const double* values = nullptr;
  const int8_t* classes = nullptr;

  double at(int64_t i) const { return values ? values[i] : double(classes[i]); }
};

// Rows that are equal in every feature and in their label are one variable with a wider box.
//
// Sets: first[i] to the smallest j whose row and label equal those of row i (i itself if none).
// Zeros of either sign are equal. CSR rows must have sorted columns without repetition; explicit
// zeros are ignored. Returns the number of distinct (row, label) pairs.
int64_t first_equal(const Rows& rows, const Labels& label, int64_t* first, int threads);

// Orders rows so that those with nonzeros in the same columns are neighbours, which sparse.hpp
// evaluates together. Sets: order[0..n) to a permutation of the rows.
void similar_together(const Rows& rows, int64_t* order, int threads);

}  // namespace widestreet
