// Scores of packed rows, and the Shapley values that explain scores.
#include "check.hpp"
#include "dispatch.hpp"

namespace widestreet {
namespace {

// Sums over packed rows are those of a scan, for one row and for several.
void check_packed() {
  const Kernel kernel{KernelKind::rbf, 0.5, 0.0, 1};
  for (int l = 0; l < Data::mostly_zero; ++l)
    for (int64_t rows : {1, 9}) {
      const Data left(rows, 7, Data::Layout(l), true, 1), right(37, 7, Data::row_major, false, 2);
      std::vector<double> coef(2 * 37), sums(size_t(2 * rows), 0.0), again(size_t(2 * rows), 0.0);
      for (size_t j = 0; j < coef.size(); ++j) coef[j] = double(j % 5) - 2.0;
      const PackedRows packed = functions().pack(kernel, {&right.rows, nullptr, 37}, 2);
      ScanTask scan;
      scan.kernel = kernel;
      scan.left = {&left.rows, nullptr, rows};
      scan.right = {&right.rows, nullptr, 37};
      scan.sets = 2;
      scan.coef = coef.data();
      scan.out = sums.data();
      scan.out_ld = rows;
      scan.threads = 2;
      functions().scan(&scan, 1);
      scan.packed = &packed;
      scan.out = again.data();
      functions().scan(&scan, 1);
      EXPECT(sums == again);
    }
}

// The Shapley values of a row add up to its score less the mean score of the background.
void check_shapley(KernelKind kind, Data::Layout layout, int64_t d) {
  const Kernel kernel{kind, 0.5, 0.0, 1};
  const Data rows(21, d, layout, true, 1), others(5, d, layout, false, 2);
  const Data vectors(300, d, layout, true, 3);
  const double node[] = {0.11270166537925831, 0.5, 0.88729833462074169};  // exact to degree 5
  const double weight[] = {5.0 / 18 / 5, 8.0 / 18 / 5, 5.0 / 18 / 5};
  std::vector<double> coef(600), out(size_t(21 * d * 2), 0.0);
  for (size_t j = 0; j < coef.size(); ++j) coef[j] = (double(j % 7) - 3.0) / 300;
  ShapleyTask task;
  task.kernel = kernel;
  task.rows = {&rows.rows, nullptr, 21};
  task.background = {&others.rows, nullptr, 5};
  task.vectors = {&vectors.rows, nullptr, 300};
  task.nodes = 3;
  task.node = node;
  task.weight = weight;
  task.lines = 2;
  task.coef = coef.data();
  task.out = out.data();
  task.threads = 2;
  functions().add_shapley_values(task);
  for (int64_t i = 0; i < 21; ++i)
    for (int64_t line = 0; line < 2; ++line) {
      double sum = 0, expected = 0;
      for (int64_t j = 0; j < d; ++j) sum += out[(i * d + j) * 2 + line];
      for (int64_t s = 0; s < 300; ++s) {
        double change = kernel_value(kernel, rows, i, vectors, s);
        for (int64_t z = 0; z < 5; ++z) change -= kernel_value(kernel, others, z, vectors, s) / 5;
        expected += coef[line * 300 + s] * change;
      }
      EXPECT(std::fabs(sum - expected) <= 1e-12);
    }
}

// A polynomial on a grid of cells: each has the coefficients of x_0 + ... + x_(d-1).
void check_interpolation(Data::Layout layout, int d) {
  const Data rows(600, d, layout, true, 4);
  const double low[] = {-1, -1, -1}, half[] = {1.0 / 3, 0.5, 1};
  const int64_t count[] = {3, 2, 1};
  InterpolationTask task;
  task.grid = {d, low, half, count};
  const int64_t cells = task.grid.cells();
  std::vector<uint8_t> occupied(static_cast<size_t>(cells), 0);
  task.rows = {&rows.rows, nullptr, rows.n};
  functions().mark_cells(task.grid, task.rows, occupied.data(), 2);
  EXPECT(std::count(occupied.begin(), occupied.end(), 1) == cells);
  int64_t size = 1, first[3] = {};
  for (int k = 0; k < d; ++k) size *= kDegrees;
  for (int k = 0, step = int(size) / kDegrees; k < d; ++k, step /= kDegrees) first[k] = step;
  std::vector<double> coef(size_t(cells * size), 0.0), out(600, 1.0);
  std::vector<int64_t> place(static_cast<size_t>(cells));
  for (int64_t c = 0; c < cells; ++c) {
    place[c] = cells - 1 - c;
    int64_t rest = c;
    for (int k = d; k-- > 0; rest /= count[k]) {
      coef[place[c] * size] += low[k] + half[k] * double(2 * (rest % count[k]) + 1);
      coef[place[c] * size + first[k]] = half[k];
    }
  }
  task.place = place.data();
  task.coef = coef.data();
  task.polynomials = cells;
  task.out = out.data();
  task.threads = 2;
  functions().interpolate(task);
  for (int64_t i = 0; i < rows.n; ++i) {
    double expected = 0;
    for (int k = 0; k < d; ++k) expected += rows.full[i * d + k];
    EXPECT(std::fabs(out[i] - expected) <= 1e-13);
  }
}

}  // namespace

void check_scores() {
  check_packed();
  for (int l = 0; l < Data::mostly_zero; ++l)
    for (int d : {1, 2, 3}) check_interpolation(Data::Layout(l), d);
  for (KernelKind kind : {KernelKind::rbf, KernelKind::laplacian})
    for (int l = 0; l < Data::layouts; ++l)
      for (int64_t d : {1, 2, 6}) check_shapley(kind, Data::Layout(l), d);
}

}  // namespace widestreet
