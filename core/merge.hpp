// Rows that are equal in every feature and in their label are one variable with a wider box.
#pragma once

#include <cstdint>

#include "rows.hpp"

namespace widestreet {

// Sets: first[i] to the smallest j whose row and label equal those of row i (i itself if none).
// Zeros of either sign are equal. CSR rows must have sorted columns without repetition; explicit
// zeros are ignored. Returns the number of distinct (row, label) pairs.
int64_t first_equal(const Rows& rows, const double* label, int64_t* first, int threads);

}  // namespace widestreet
