// Figures of rows that one pass over their values finds: squared norms, and sums and extremes of
// the columns.
#pragma once

#include <cstdint>

#include "kernels/rows.hpp"

namespace widestreet {

// |x|^2 of rows, relative to the centre where there is one. Sets: out, one value per row.
void squares(const RowList& list, double* out, int threads);

// The largest of these over all rows.
double largest_square(const Rows& rows, int threads);

// Sums, smallest and largest values of the columns of dense rows, whatever their centre. The sums
// do not depend on the number of threads. Sets: total, low and high, d values each.
void column_figures(const Rows& rows, double* total, double* low, double* high, int threads);

}  // namespace widestreet
