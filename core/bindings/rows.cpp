// Rows, and their properties that are found before training.
#include <algorithm>

#include "bindings/arrays.hpp"
#include "dispatch.hpp"
#include "kernels/equal_rows.hpp"
#include "kernels/row_figures.hpp"
#include "kernels/sparse_combination.hpp"

namespace widestreet {
namespace {

// A vector whose values lie side by side, as the core reads it.
void require_vector(const ReadOnly& a, const char* message) {
  require(a.ndim() == 1 && (a.shape(0) <= 1 || a.stride(0) == 1), message);
}

template <class Int>
void require_csr(const void* indices_of, const void* indptr_of, int64_t n, int64_t d,
                 int64_t stored) {
  const Int* indices = static_cast<const Int*>(indices_of);
  const Int* indptr = static_cast<const Int*>(indptr_of);
  require(indptr[0] == 0 && indptr[n] <= stored, "indptr does not fit the number of values");
  for (int64_t i = 0; i < n; ++i) require(indptr[i] <= indptr[i + 1], "indptr must not fall");
  for (int64_t p = 0; p < indptr[n]; ++p)
    require(indices[p] >= 0 && indices[p] < d,
            "a column index of the sparse matrix is out of range");
}

template <class T>
void require_levels(const Rows& rows, const Array2<T>& levels) {
  require(int64_t(levels.shape(0)) == rows.n && levels.shape(1) % 4 == 0 &&
              int64_t(levels.shape(1)) >= rows.d,
          "levels must have a line per row, of all columns and a multiple of four");
}

void require_values(const ReadOnly& values) {
  require(is<double>(values.dtype()) || is<float>(values.dtype()),
          "values must be float32 or float64");
}

nb::tuple first_equal_of(const HeldRows& rows, Array1<nb::ro> label, int threads) {
  require_threads(threads);
  require(int64_t(label.shape(0)) == rows.view.n, "one label per row is needed");
  Labels labels;
  if (is<int8_t>(label.dtype()))
    labels.classes = static_cast<const int8_t*>(label.data());
  else
    labels.values = static_cast<const double*>(label.data());
  require(labels.classes || is<double>(label.dtype()), "labels must be float64 or int8");
  Fresh<int64_t> first(size_t(rows.view.n));
  int64_t distinct;
  {
    nb::gil_scoped_release release;
    distinct = first_equal(rows.view, labels, first.values.get(), threads);
  }
  return nb::make_tuple(give(std::move(first)), distinct);
}

auto similar_together_of(const HeldRows& rows, int threads) {
  require_threads(threads);
  std::vector<int64_t> order(rows.view.n);
  {
    nb::gil_scoped_release release;
    similar_together(rows.view, order.data(), threads);
  }
  return give(std::move(order));
}

double largest_square_of(const HeldRows& rows, int threads) {
  require_threads(threads);
  nb::gil_scoped_release release;
  return largest_square(rows.view, threads);
}

auto squares_of(const HeldRows& rows, MaybeIndex index, int threads) {
  require_threads(threads);
  const RowList list = rows.list(index);
  Fresh<double> found(size_t(list.size));
  {
    nb::gil_scoped_release release;
    squares(list, found.values.get(), threads);
  }
  return give(std::move(found));
}

// Columns of a linear combination as sums of two numbers.
auto sparse_combination_of(const HeldRows& rows, MaybeIndex index, Array1<const double> coef) {
  require(rows.view.storage == Rows::Storage::csr && rows.view.d > 0, "rows must be CSR");
  const RowList list = rows.list(index);
  require(int64_t(coef.shape(0)) == list.size, "one coefficient per row is needed");
  const size_t d = size_t(rows.view.d);
  std::vector<double> found(2 * d);
  {
    nb::gil_scoped_release release;
    sparse_combination(list, coef.data(), found.data(), found.data() + d);
  }
  return give_matrix(std::move(found), d);
}

// Sums, smallest and largest values of the columns.
auto column_figures_of(const HeldRows& rows, int threads) {
  require_threads(threads);
  require(rows.view.storage == Rows::Storage::dense && rows.view.d > 0, "rows must be dense");
  const size_t d = size_t(rows.view.d);
  std::vector<double> found(3 * d);
  {
    nb::gil_scoped_release release;
    column_figures(rows.view, found.data(), found.data() + d, found.data() + 2 * d, threads);
  }
  return give_matrix(std::move(found), d);
}

// Whether rows are on a grid, whether precisely so, whether all levels are 0 or 1, the largest norm
// of what the grid leaves of a row.
nb::tuple find_levels_of(const HeldRows& rows, double step, double origin,
                         std::optional<Array2<uint8_t>> levels, Array1<double> squares,
                         int threads) {
  require_threads(threads);
  require(step > 0, "step must be positive");
  LevelsTask task;
  task.rows = &rows.view;
  task.step = step;
  task.origin = origin;
  if (levels) {
    require_levels(rows.view, *levels);
    task.levels = levels->data();
    task.stride = int64_t(levels->shape(1));
  } else {
    require(rows.view.storage == Rows::Storage::csr, "dense rows need an array of levels");
  }
  require(rows.view.storage == Rows::Storage::dense || origin == 0,
          "the grid of CSR rows must contain zero");
  require(int64_t(squares.shape(0)) == rows.view.n, "one square per row is needed");
  task.squares = squares.data();
  task.threads = threads;
  LevelsReport report;
  {
    nb::gil_scoped_release release;
    report = functions().find_levels(task);
  }
  return nb::make_tuple(report.found, report.precise, report.binary, report.error);
}

}  // namespace

HeldRows HeldRows::with_levels(double step, double origin, bool binary, bool precise,
                               std::optional<Array2<const uint8_t>> levels) const {
  HeldRows rows(*this);
  rows.view.levels = {step, origin, binary, precise, nullptr, 0};
  if (levels) {
    require_levels(view, *levels);
    rows.view.levels.values = levels->data();
    rows.view.levels.stride = int64_t(levels->shape(1));
    rows.held.push_back(ReadOnly(*levels));
  } else {
    require(binary && view.storage == Rows::Storage::csr, "only binary CSR rows need no levels");
  }
  return rows;
}

HeldRows HeldRows::dense(ReadOnly values, std::optional<Array1<const double>> centre,
                         bool skip_zeros) {
  require(values.ndim() == 2, "values must have two dimensions");
  require_values(values);
  HeldRows rows;
  rows.view.storage = Rows::Storage::dense;
  rows.view.n = int64_t(values.shape(0));
  rows.view.d = int64_t(values.shape(1));
  rows.view.is_double = is<double>(values.dtype());
  rows.view.values = values.data();
  rows.view.row_stride = values.stride(0);
  rows.view.col_stride = values.stride(1);
  rows.view.skip_zeros = skip_zeros;
  rows.held.push_back(std::move(values));
  if (centre) {
    require(int64_t(centre->shape(0)) == rows.view.d, "centre must have one value per column");
    rows.view.centre = centre->data();
    rows.held.push_back(ReadOnly(*centre));
  }
  return rows;
}

HeldRows HeldRows::csr(ReadOnly values, ReadOnly indices, ReadOnly indptr, int64_t n, int64_t d) {
  require_values(values);
  require(indices.dtype() == indptr.dtype() &&
              (is<int32_t>(indices.dtype()) || is<int64_t>(indices.dtype())),
          "indices and indptr must both be int32 or both be int64");
  require_vector(values, "values must be a contiguous vector");
  require_vector(indices, "indices must be a contiguous vector");
  require_vector(indptr, "indptr must be a contiguous vector");
  require(n >= 0 && int64_t(indptr.shape(0)) == n + 1, "indptr must have n + 1 values");
  const int64_t stored = std::min(int64_t(values.shape(0)), int64_t(indices.shape(0)));
  HeldRows rows;
  rows.view.storage = Rows::Storage::csr;
  rows.view.n = n;
  rows.view.d = d;
  rows.view.is_double = is<double>(values.dtype());
  rows.view.values = values.data();
  rows.view.wide = is<int64_t>(indices.dtype());
  rows.view.indices = indices.data();
  rows.view.indptr = indptr.data();
  if (rows.view.wide)
    require_csr<int64_t>(indices.data(), indptr.data(), n, d, stored);
  else
    require_csr<int32_t>(indices.data(), indptr.data(), n, d, stored);
  rows.held = {std::move(values), std::move(indices), std::move(indptr)};
  return rows;
}

RowList HeldRows::list(const MaybeIndex& index) const {
  if (!index) return {&view, nullptr, view.n};
  const RowList list{&view, index->data(), int64_t(index->shape(0))};
  require_rows(*index, view.n, "row index out of range");
  return list;
}

void bind_rows(nb::module_& m) {
  nb::class_<HeldRows>(m, "Rows")
      .def_static("dense", &HeldRows::dense, "values"_a.noconvert(), "centre"_a.noconvert().none(),
                  "skip_zeros"_a = false)
      .def_static("csr", &HeldRows::csr, "values"_a.noconvert(), "indices"_a.noconvert(),
                  "indptr"_a.noconvert(), "n"_a, "d"_a)
      .def("with_levels", &HeldRows::with_levels, "step"_a, "origin"_a, "binary"_a, "precise"_a,
           "levels"_a.noconvert().none());
  m.def("find_levels", &find_levels_of, "rows"_a, "step"_a, "origin"_a,
        "levels"_a.noconvert().none(), "squares"_a.noconvert(), "threads"_a);
  m.def("first_equal", &first_equal_of, "rows"_a, "label"_a.noconvert(), "threads"_a);
  m.def("similar_together", &similar_together_of, "rows"_a, "threads"_a);
  m.def("largest_square", &largest_square_of, "rows"_a, "threads"_a);
  m.def("squares", &squares_of, "rows"_a, "index"_a.noconvert().none(), "threads"_a);
  m.def("sparse_combination", &sparse_combination_of, "rows"_a, "index"_a.noconvert().none(),
        "coef"_a.noconvert());
  m.def("column_figures", &column_figures_of, "rows"_a, "threads"_a);
}

}  // namespace widestreet
