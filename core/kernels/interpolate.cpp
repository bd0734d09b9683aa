#include "kernels/interpolate.hpp"

#include <algorithm>
#include <vector>

#include "kernels/simd.hpp"
#include "parallel.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {
namespace {

constexpr int64_t kRowsOfTask = 512, kRowsOfMarks = 1 << 13;
constexpr int64_t kAhead = 16;  // rows between the announcement of a row and its use

// Asks for the memory of a row that is read soon: rows may be in random order. Interpolation reads
// dense rows only.
inline void announce(const RowList& list, int64_t p) {
  const Rows& rows = *list.rows;
  const int64_t at = list.at(p) * rows.row_stride * (rows.is_double ? 8 : 4);
  __builtin_prefetch(static_cast<const char*>(rows.values) + at);
}

// The number of a cell in direction k.
inline int64_t cell_along(const Grid& grid, int k, double x) {
  const double q = (x - grid.low[k]) / (2 * grid.half[k]);
  return q > 0 ? int64_t(std::min(q, double(grid.count[k] - 1))) : 0;  // zero also if not a number
}

// A row in the grid: its cell, and the Chebyshev polynomials at its place in the cell.
struct Place {
  int64_t cell = 0;
  double t[kMostFeatures][kDegrees];

  void find(const Grid& grid, const double* x) {
    cell = 0;
    for (int k = 0; k < grid.d; ++k) {
      const int64_t q = cell_along(grid, k, x[k]);
      cell = cell * grid.count[k] + q;
      const double u =
          std::clamp((x[k] - grid.low[k]) / grid.half[k] - double(2 * q + 1), -1.0, 1.0);
      t[k][0] = 1;
      t[k][1] = u;
      for (int n = 2; n < kDegrees; ++n) t[k][n] = 2 * u * t[k][n - 1] - t[k][n - 2];
    }
  }
};

// The sum over all products of polynomials, the last direction in vectors.
template <int d>
double value(const double* coef, const double (&t)[kMostFeatures][kDegrees]) {
  constexpr int lanes = Simd<double>::lanes, vectors = kDegrees / lanes;
  Vec<double> line[vectors] = {};
  auto add = [&](double weight) {
    for (int n = 0; n < vectors; ++n) line[n] += weight * load(coef + n * lanes);
    coef += kDegrees;
  };
  if constexpr (d == 1) {
    add(1.0);
  } else {
    for (int i = 0; i < kDegrees; ++i) {
      if constexpr (d == 2)
        add(t[0][i]);
      else
        for (int j = 0; j < kDegrees; ++j) add(t[0][i] * t[1][j]);
    }
  }
  Vec<double> sums = {};
  for (int n = 0; n < vectors; ++n) sums += line[n] * load(t[d - 1] + n * lanes);
  double sum = 0;
  for (int l = 0; l < lanes; ++l) sum += sums[l];
  return sum;
}

template <int d>
void interpolate_rows(const InterpolationTask& task) {
  int64_t size = 1;
  for (int k = 0; k < d; ++k) size *= kDegrees;
  for_ranges(task.rows.size, kRowsOfTask, task.threads, [&](int64_t begin, int64_t end) {
    Place place;
    double x[d];
    for (int64_t p = begin; p < end; ++p) {
      announce(task.rows, std::min(p + kAhead, end - 1));
      load_row(*task.rows.rows, task.rows.at(p), x);
      place.find(task.grid, x);
      const double* coef = task.coef + task.place[place.cell] * size;
      for (int64_t q = 0; q < task.sets; ++q)
        task.out[q * task.out_ld + p] = value<d>(coef + q * task.polynomials * size, place.t);
    }
  });
}

}  // namespace

// Sets: occupied[cell] to 1 for the cells of all rows.
void mark_cells(const Grid& grid, const RowList& rows, uint8_t* occupied, int threads) {
  const int64_t cells = grid.cells(), step = std::max(kRowsOfMarks, cells);
  const int64_t parts = (rows.size + step - 1) / step;
  std::vector<uint8_t> marks(size_t(parts * cells), 0);
  for_ranges(rows.size, step, threads, [&](int64_t begin, int64_t end) {
    uint8_t* mine = marks.data() + begin / step * cells;
    double x[kMostFeatures];
    for (int64_t p = begin; p < end; ++p) {
      announce(rows, std::min(p + kAhead, end - 1));
      load_row(*rows.rows, rows.at(p), x);
      int64_t cell = 0;
      for (int k = 0; k < grid.d; ++k) cell = cell * grid.count[k] + cell_along(grid, k, x[k]);
      mine[cell] = 1;
    }
  });
  for (int64_t p = 0; p < parts; ++p)
    for (int64_t cell = 0; cell < cells; ++cell) occupied[cell] |= marks[p * cells + cell];
}

void interpolate(const InterpolationTask& task) {
  if (task.grid.d == 1)
    interpolate_rows<1>(task);
  else if (task.grid.d == 2)
    interpolate_rows<2>(task);
  else
    interpolate_rows<3>(task);
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
