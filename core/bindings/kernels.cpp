// Kernel values between rows, and products with matrices of them.
#include "bindings/arrays.hpp"
#include "dispatch.hpp"
#include "kernels/bounded_rows.hpp"
#include "kernels/many_short_scans.hpp"

namespace widestreet {
namespace {

void scan(const Kernel& kernel, const HeldRows& left, MaybeIndex left_index, const HeldRows& right,
          MaybeIndex right_index, Array2<const double> coef,
          nb::ndarray<double, nb::ndim<2>, nb::device::cpu> out, bool in_double, int threads) {
  require_threads(threads);
  ScanTask task;
  task.kernel = kernel;
  task.left = left.list(left_index);
  task.right = right.list(right_index);
  require(left.view.d == right.view.d, "rows must have the same number of columns");
  require(int64_t(coef.shape(1)) == task.right.size, "coef must have one value per right row");
  require(int64_t(out.shape(1)) == task.left.size, "out must have one value per left row");
  require(coef.shape(0) == out.shape(0), "out must have one row for each row of coef");
  require(out.shape(1) <= 1 || out.stride(1) == 1, "rows of out must be contiguous");
  task.sets = int64_t(coef.shape(0));
  task.coef = coef.data();
  task.out = out.data();
  task.out_ld = out.stride(0);
  task.in_double = in_double;
  task.threads = threads;
  nb::gil_scoped_release release;
  functions().scan(&task, 1);
}

// Scans whose left rows, right rows, coefficients and sums stand one after the other.
void scan_each(const Kernel& kernel, const HeldRows& left, Index left_index, Index left_end,
               const HeldRows& right, Index right_index, Index right_end, Array1<const double> coef,
               Array1<double> out, bool in_double, int threads) {
  require_threads(threads);
  require_ends(left_end, int64_t(left_index.shape(0)));
  require_ends(right_end, int64_t(right_index.shape(0)));
  require(left_end.shape(0) == right_end.shape(0), "each scan has left and right rows");
  require(left.view.d == right.view.d, "rows must have the same number of columns");
  require(coef.shape(0) == right_index.shape(0), "coef must have one value per right row");
  require(out.shape(0) == left_index.shape(0), "out must have one value per left row");
  const RowList rows = left.list(left_index), vectors = right.list(right_index);
  std::vector<ScanTask> tasks(left_end.shape(0));
  int64_t row = 0, vector = 0;
  for (size_t t = 0; t < tasks.size(); ++t) {
    ScanTask& task = tasks[t];
    const int64_t last_row = left_end.data()[t], last_vector = right_end.data()[t];
    task.kernel = kernel;
    task.left = {rows.rows, rows.index + row, last_row - row};
    task.right = {vectors.rows, vectors.index + vector, last_vector - vector};
    task.coef = coef.data() + vector;
    task.out = out.data() + row;
    task.out_ld = last_row - row;
    task.in_double = in_double;
    task.threads = threads;
    row = last_row;
    vector = last_vector;
  }
  nb::gil_scoped_release release;
  functions().scan(tasks.data(), int64_t(tasks.size()));
}

BoundedRows bounded_rows(const Array2<const float>& features, const Array1<const float>& start) {
  require(start.shape(0) == features.shape(0), "one start value per row is needed");
  return {int64_t(features.shape(0)), features.data(), start.data()};
}

void bounded_scan(Array2<const float> left, Array1<const float> left_start,
                  Array2<const float> right, Array1<const float> right_start,
                  Array1<const double> coef, Array1<const float> weight, Array1<double> sums,
                  Array1<double> sizes, int threads) {
  require_threads(threads);
  BoundedScanTask task;
  task.left = bounded_rows(left, left_start);
  task.right = bounded_rows(right, right_start);
  task.d = int64_t(left.shape(1));
  require(left.shape(1) == right.shape(1), "rows must have the same number of columns");
  require(coef.shape(0) == right.shape(0) && weight.shape(0) == right.shape(0),
          "one coefficient and one weight per right row is needed");
  require(sums.shape(0) == left.shape(0) && sizes.shape(0) == left.shape(0),
          "one sum and one size per left row is needed");
  task.coef = coef.data();
  task.weight = weight.data();
  task.sums = sums.data();
  task.sizes = sizes.data();
  task.threads = threads;
  nb::gil_scoped_release release;
  functions().bounded_scan(task);
}

void round_rows_of(const HeldRows& rows, Index index, double scale, double grid,
                   Array2<float> features, Array1<float> start, Array1<double> factor,
                   Array1<double> error, int threads) {
  require_threads(threads);
  require(grid > 0, "grid must be positive");
  const RowList list = rows.list(index);
  const size_t count = index.shape(0);
  require(features.shape(0) == count && int64_t(features.shape(1)) == rows.view.d,
          "features must have the shape of the rows");
  require(start.shape(0) == count && factor.shape(0) == count && error.shape(0) == count,
          "one value per row is needed");
  nb::gil_scoped_release release;
  round_rows(list, scale, grid, {features.data(), start.data(), factor.data(), error.data()},
             threads);
}

void require_ranges(const FeatureRanges& ranges, int64_t count) {
  int64_t r = 0;
  for (int64_t g = 0; g < ranges.groups; ++g) {
    int64_t behind = ranges.begin[g];
    require(behind >= 0 && ranges.last[g] > r && ranges.last[g] <= count, "a group has no range");
    for (; r < ranges.last[g]; ++r) {
      require(ranges.end[r] >= behind && ranges.end[r] <= ranges.d, "a range leaves the features");
      behind = ranges.end[r];
    }
  }
  require(r == count, "every range belongs to a group");
}

auto bound_ranges_of(Array2<const float> features, Index begin, Index last, Index end,
                     Array1<const double> longest, Array1<const double> trace,
                     std::optional<Array2<const float>> moments, Array1<const double> size,
                     int threads) {
  require_threads(threads);
  const size_t d = features.shape(1), count = end.shape(0);
  FeatureRanges ranges;
  ranges.d = int64_t(d);
  ranges.groups = int64_t(begin.shape(0));
  require(last.shape(0) == begin.shape(0) && longest.shape(0) == count && trace.shape(0) == count,
          "one value per range is needed");
  ranges.begin = begin.data();
  ranges.last = last.data();
  ranges.end = end.data();
  ranges.longest = longest.data();
  ranges.trace = trace.data();
  require_ranges(ranges, int64_t(count));
  if (moments) {
    require(moments->shape(0) == d && moments->shape(1) == d, "moments must be square");
    ranges.moments = moments->data();
  }
  require(size.shape(0) == features.shape(0), "one size per row is needed");
  Fresh<double> found(features.shape(0));
  {
    nb::gil_scoped_release release;
    bound_ranges(features.data(), int64_t(features.shape(0)), ranges, size.data(),
                 found.values.get(), threads);
  }
  return give(std::move(found));
}

void symmetric_scan(double gamma, const HeldRows& rows, Index index, int64_t from, int64_t to,
                    Array1<const double> coef, Array1<double> out, int threads) {
  require_threads(threads);
  SymmetricScanTask task;
  task.gamma = gamma;
  task.rows = rows.list(index);
  require(0 <= from && from <= to && to <= task.rows.size, "a range of the rows is needed");
  require((to - from) % 48 == 0 || to == task.rows.size,
          "only the last range may be of any length");
  require(int64_t(coef.shape(0)) == task.rows.size && int64_t(out.shape(0)) == task.rows.size,
          "one value per row is needed");
  task.from = from;
  task.to = to;
  task.coef = coef.data();
  task.out = out.data();
  task.threads = threads;
  nb::gil_scoped_release release;
  functions().symmetric_scan(task);
}

// Rows packed by an instruction set; another one packs them again.
struct HeldPacked {
  PackedRows rows;
  const Functions* by;
};

HeldPacked pack(const Kernel& kernel, const HeldRows& right, MaybeIndex right_index, int threads) {
  require_threads(threads);
  const RowList list = right.list(right_index);
  nb::gil_scoped_release release;
  return {functions().pack(kernel, list, threads), &functions()};
}

void scan_packed(const HeldPacked& right, const HeldRows& left, Array2<const double> coef,
                 Array2<double> out, int threads) {
  require_threads(threads);
  require(left.view.d == right.rows.d, "rows must have the same number of columns");
  require(int64_t(coef.shape(1)) == right.rows.size, "coef must have one value per right row");
  require(int64_t(out.shape(1)) == left.view.n, "out must have one value per left row");
  require(coef.shape(0) == out.shape(0), "out must have one row for each row of coef");
  ScanTask task;
  task.kernel = right.rows.kernel;
  task.left = left.list({});
  task.right.size = right.rows.size;
  task.packed = &right.rows;
  task.sets = int64_t(coef.shape(0));
  task.coef = coef.data();
  task.out = out.data();
  task.out_ld = int64_t(out.shape(1));
  task.threads = threads;
  nb::gil_scoped_release release;
  right.by->scan(&task, 1);
}

void tile(const Kernel& kernel, const HeldRows& left, MaybeIndex left_index, const HeldRows& right,
          MaybeIndex right_index, Any out, MaybeIndex out_rows, int threads) {
  require_threads(threads);
  TileTask task;
  task.kernel = kernel;
  task.left = left.list(left_index);
  task.right = right.list(right_index);
  require(left.view.d == right.view.d, "rows must have the same number of columns");
  require_tile(out, kNoOut);
  require(int64_t(out.shape(1)) >= task.right.size, "out has too few columns");
  if (out_rows) {
    require(int64_t(out_rows->shape(0)) == task.left.size, "one row of out per left row");
    require_rows(*out_rows, int64_t(out.shape(0)), "row of out out of range");
    task.out_row = out_rows->data();
  } else {
    require(int64_t(out.shape(0)) >= task.left.size, "out has too few rows");
  }
  task.out = out.data();
  task.ld = out.stride(0);
  task.in_double = is<double>(out.dtype());
  task.threads = threads;
  nb::gil_scoped_release release;
  functions().tile(task);
}

int64_t scan_parts_of(const Kernel& kernel, const HeldRows& rows, Index index, Index end,
                      Array1<const double> coef, Array1<double> out, int threads) {
  require_threads(threads);
  require_ends(end, int64_t(index.shape(0)));
  require(coef.shape(0) == index.shape(0) && out.shape(0) == index.shape(0),
          "one value per row is needed");
  PartsTask task;
  task.kernel = kernel;
  task.rows = &rows.view;
  task.parts = int64_t(end.shape(0));
  task.end = end.data();
  task.index = rows.list(index).index;
  task.coef = coef.data();
  task.out = out.data();
  task.threads = threads;
  nb::gil_scoped_release release;
  return scan_parts(task);
}

void product(Array2<const double> A, Array2<const double> x, Array2<double> out, bool transposed,
             int threads) {
  require_threads(threads);
  const MatrixView view{A.data(), int64_t(A.shape(0)), int64_t(A.shape(1))};
  const int64_t count = int64_t(x.shape(0));
  require(int64_t(x.shape(1)) == (transposed ? view.rows : view.columns) &&
              int64_t(out.shape(1)) == (transposed ? view.columns : view.rows) &&
              int64_t(out.shape(0)) == count,
          "x and out must fit the matrix");
  nb::gil_scoped_release release;
  functions().multiply({view, transposed, x.data(), count, out.data(), threads});
}

constexpr int64_t kMostCells = 1 << 20;  // in each direction: their product does not overflow

Grid grid_of(const HeldRows& rows, const Array1<const double>& low,
             const Array1<const double>& half, const Index& count) {
  const int64_t d = rows.view.d;
  require(d >= 1 && d <= kMostFeatures, "rows of a grid have one to three features");
  require(int64_t(low.shape(0)) == d && int64_t(half.shape(0)) == d && int64_t(count.shape(0)) == d,
          "the grid needs one value per feature");
  for (int64_t k = 0; k < d; ++k)
    require(count.data()[k] >= 1 && count.data()[k] <= kMostCells && half.data()[k] > 0,
            "a grid needs one to a million cells in each direction, and cells a width");
  return {int(d), low.data(), half.data(), count.data()};
}

void mark_cells(const HeldRows& rows, MaybeIndex index, Array1<const double> low,
                Array1<const double> half, Index count, Array1<uint8_t> occupied, int threads) {
  require_threads(threads);
  const Grid grid = grid_of(rows, low, half, count);
  require(int64_t(occupied.shape(0)) == grid.cells(), "one mark per cell is needed");
  const RowList list = rows.list(index);
  nb::gil_scoped_release release;
  functions().mark_cells(grid, list, occupied.data(), threads);
}

void interpolate(const HeldRows& rows, MaybeIndex index, Array1<const double> low,
                 Array1<const double> half, Index count, Index place,
                 nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu> coef,
                 nb::ndarray<double, nb::ndim<2>, nb::device::cpu> out, int threads) {
  require_threads(threads);
  InterpolationTask task;
  task.grid = grid_of(rows, low, half, count);
  task.rows = rows.list(index);
  task.sets = int64_t(coef.shape(0));
  task.polynomials = int64_t(coef.shape(1));
  int64_t size = 1;
  for (int k = 0; k < task.grid.d; ++k) size *= kDegrees;
  require(int64_t(coef.shape(2)) == size, "a polynomial has 16 degrees in each direction");
  require(int64_t(place.shape(0)) == task.grid.cells(), "one place per cell is needed");
  for (size_t c = 0; c < place.shape(0); ++c)
    require(place.data()[c] >= 0 && place.data()[c] < task.polynomials, "place out of range");
  require(int64_t(out.shape(0)) == task.sets && int64_t(out.shape(1)) == task.rows.size,
          "out must have one row for each set and one value per row");
  require(out.shape(1) <= 1 || out.stride(1) == 1, "rows of out must be contiguous");
  task.place = place.data();
  task.coef = coef.data();
  task.out = out.data();
  task.out_ld = out.stride(0);
  task.threads = threads;
  nb::gil_scoped_release release;
  functions().interpolate(task);
}

void exp2(Array1<const double> z, Array1<double> out, bool in_double) {
  require(z.shape(0) == out.shape(0), "z and out must have the same length");
  functions().exp2_array(z.data(), out.data(), int64_t(z.shape(0)), in_double);
}

}  // namespace

void bind_kernels(nb::module_& m) {
  nb::enum_<KernelKind>(m, "KernelKind")
      .value("linear", KernelKind::linear)
      .value("rbf", KernelKind::rbf)
      .value("poly", KernelKind::poly)
      .value("sigmoid", KernelKind::sigmoid)
      .value("laplacian", KernelKind::laplacian)
      .value("far_rbf", KernelKind::far_rbf);
  nb::class_<Kernel>(m, "Kernel")
      .def(
          "__init__",
          [](Kernel* self, KernelKind kind, double gamma, double coef0, int degree) {
            new (self) Kernel{kind, gamma, coef0, degree};
          },
          "kind"_a, "gamma"_a, "coef0"_a, "degree"_a);
  m.def("scan", &scan, "kernel"_a, "left"_a, "left_index"_a.noconvert().none(), "right"_a,
        "right_index"_a.noconvert().none(), "coef"_a.noconvert(), "out"_a.noconvert(),
        "in_double"_a, "threads"_a);
  m.def("scan_each", &scan_each, "kernel"_a, "left"_a, "left_index"_a.noconvert(),
        "left_end"_a.noconvert(), "right"_a, "right_index"_a.noconvert(), "right_end"_a.noconvert(),
        "coef"_a.noconvert(), "out"_a.noconvert(), "in_double"_a, "threads"_a);
  m.def("round_rows", &round_rows_of, "rows"_a, "index"_a.noconvert(), "scale"_a, "grid"_a,
        "features"_a.noconvert(), "start"_a.noconvert(), "factor"_a.noconvert(),
        "error"_a.noconvert(), "threads"_a);
  m.def("bound_ranges", &bound_ranges_of, "features"_a.noconvert(), "begin"_a.noconvert(),
        "last"_a.noconvert(), "end"_a.noconvert(), "longest"_a.noconvert(), "trace"_a.noconvert(),
        "moments"_a.noconvert().none(), "size"_a.noconvert(), "threads"_a);
  m.def("bounded_scan", &bounded_scan, "left"_a.noconvert(), "left_start"_a.noconvert(),
        "right"_a.noconvert(), "right_start"_a.noconvert(), "coef"_a.noconvert(),
        "weight"_a.noconvert(), "sums"_a.noconvert(), "sizes"_a.noconvert(), "threads"_a);
  m.def("symmetric_scan", &symmetric_scan, "gamma"_a, "rows"_a, "index"_a.noconvert(), "begin"_a,
        "end"_a, "coef"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
  nb::class_<HeldPacked>(m, "PackedRows");
  m.def("pack", &pack, "kernel"_a, "right"_a, "right_index"_a.noconvert().none(), "threads"_a);
  m.def("scan_packed", &scan_packed, "right"_a, "left"_a, "coef"_a.noconvert(), "out"_a.noconvert(),
        "threads"_a);
  m.def("scan_parts", &scan_parts_of, "kernel"_a, "rows"_a, "index"_a.noconvert(),
        "end"_a.noconvert(), "coef"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
  m.def("tile", &tile, "kernel"_a, "left"_a, "left_index"_a.noconvert().none(), "right"_a,
        "right_index"_a.noconvert().none(), "out"_a.noconvert(), "out_rows"_a.noconvert().none(),
        "threads"_a);
  m.def("times", &product, "A"_a.noconvert(), "x"_a.noconvert(), "out"_a.noconvert(),
        "transposed"_a, "threads"_a);
  m.def("mark_cells", &mark_cells, "rows"_a, "index"_a.noconvert().none(), "low"_a.noconvert(),
        "half"_a.noconvert(), "count"_a.noconvert(), "occupied"_a.noconvert(), "threads"_a);
  m.def("interpolate", &interpolate, "rows"_a, "index"_a.noconvert().none(), "low"_a.noconvert(),
        "half"_a.noconvert(), "count"_a.noconvert(), "place"_a.noconvert(), "coef"_a.noconvert(),
        "out"_a.noconvert(), "threads"_a);
  m.def("exp2", &exp2, "z"_a.noconvert(), "out"_a.noconvert(), "in_double"_a);
}

}  // namespace widestreet
