// The only file that knows Python: arrays in, arrays out, the interpreter lock released around
// every computation. Array arguments are never converted: a wrong type is an error, not a copy.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "dispatch.hpp"
#include "kernels/merge.hpp"
#include "kernels/parts.hpp"
#include "kernels/product.hpp"
#include "path/factor.hpp"
#include "path/homotopy.hpp"
#include "solve/examine.hpp"
#include "solve/newton.hpp"
#include "solve/slots.hpp"
#include "solve/small.hpp"
#include "solve/survey.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace widestreet;

namespace {

template <class T>
using Array1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Index = Array1<const int64_t>;
using MaybeIndex = std::optional<Index>;
using Any = nb::ndarray<nb::device::cpu>;
using ReadOnly = nb::ndarray<nb::ro, nb::device::cpu>;

void require(bool ok, const char* message) {
  if (!ok) throw std::invalid_argument(message);
}

template <class T>
bool is(const nb::dlpack::dtype& t) {
  return t == nb::dtype<T>();
}

void require_threads(int threads) {
  require(threads >= 1, "threads must be at least 1");
}

// A vector whose values lie side by side, as the core reads it.
void require_vector(const ReadOnly& a, const char* message) {
  require(a.ndim() == 1 && (a.shape(0) <= 1 || a.stride(0) == 1), message);
}

template <class Int>
void require_csr(const Int* indices, const Int* indptr, int64_t n, int64_t d, int64_t stored) {
  require(indptr[0] == 0 && indptr[n] <= stored, "indptr does not fit the number of values");
  for (int64_t i = 0; i < n; ++i) require(indptr[i] <= indptr[i + 1], "indptr must not fall");
  for (int64_t p = 0; p < indptr[n]; ++p)
    require(indices[p] >= 0 && indices[p] < d,
            "a column index of the sparse matrix is out of range");
}

// Rows that keep the arrays they look at alive.
struct HeldRows {
  Rows view;
  std::vector<ReadOnly> held;

  static HeldRows dense(ReadOnly values, std::optional<Array1<const double>> centre,
                        bool skip_zeros) {
    require(values.ndim() == 2, "values must have two dimensions");
    require(is<double>(values.dtype()) || is<float>(values.dtype()),
            "values must be float32 or float64");
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

  static HeldRows csr(ReadOnly values, ReadOnly indices, ReadOnly indptr, int64_t n, int64_t d) {
    require(is<double>(values.dtype()) || is<float>(values.dtype()),
            "values must be float32 or float64");
    require(indices.dtype() == indptr.dtype() &&
                (is<int32_t>(indices.dtype()) || is<int64_t>(indices.dtype())),
            "indices and indptr must both be int32 or both be int64");
    require_vector(values, "values must be a contiguous vector");
    require_vector(indices, "indices must be a contiguous vector");
    require_vector(indptr, "indptr must be a contiguous vector");
    require(n >= 0 && int64_t(indptr.shape(0)) == n + 1, "indptr must have n + 1 values");
    const int64_t stored = std::min(int64_t(values.shape(0)), int64_t(indices.shape(0)));
    if (is<int64_t>(indices.dtype()))
      require_csr(static_cast<const int64_t*>(indices.data()),
                  static_cast<const int64_t*>(indptr.data()), n, d, stored);
    else
      require_csr(static_cast<const int32_t*>(indices.data()),
                  static_cast<const int32_t*>(indptr.data()), n, d, stored);
    HeldRows rows;
    rows.view.storage = Rows::Storage::csr;
    rows.view.n = n;
    rows.view.d = d;
    rows.view.is_double = is<double>(values.dtype());
    rows.view.values = values.data();
    rows.view.wide = is<int64_t>(indices.dtype());
    rows.view.indices = indices.data();
    rows.view.indptr = indptr.data();
    rows.held = {std::move(values), std::move(indices), std::move(indptr)};
    return rows;
  }
};

RowList list_of(const HeldRows& rows, const MaybeIndex& index) {
  RowList list;
  list.rows = &rows.view;
  list.index = index ? index->data() : nullptr;
  list.size = index ? int64_t(index->shape(0)) : rows.view.n;
  for (int64_t p = 0; index && p < list.size; ++p)
    require(list.index[p] >= 0 && list.index[p] < rows.view.n, "row index out of range");
  return list;
}

void bind_scan(const Kernel& kernel, const HeldRows& left, MaybeIndex left_index,
               const HeldRows& right, MaybeIndex right_index, Array2<const double> coef,
               nb::ndarray<double, nb::ndim<2>, nb::device::cpu> out, bool in_double, int threads) {
  require_threads(threads);
  ScanTask task;
  task.kernel = kernel;
  task.left = list_of(left, left_index);
  task.right = list_of(right, right_index);
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
  functions().scan(task);
}

void bind_tile(const Kernel& kernel, const HeldRows& left, MaybeIndex left_index,
               const HeldRows& right, MaybeIndex right_index, Any out, MaybeIndex out_rows,
               int threads) {
  require_threads(threads);
  TileTask task;
  task.kernel = kernel;
  task.left = list_of(left, left_index);
  task.right = list_of(right, right_index);
  require(left.view.d == right.view.d, "rows must have the same number of columns");
  require(out.ndim() == 2 && out.stride(1) == 1, "out must be row major");
  require(is<float>(out.dtype()) || is<double>(out.dtype()), "out must be float32 or float64");
  require(int64_t(out.shape(1)) >= task.right.size, "out has too few columns");
  if (out_rows) {
    require(int64_t(out_rows->shape(0)) == task.left.size, "one row of out per left row");
    for (int64_t p = 0; p < task.left.size; ++p)
      require(out_rows->data()[p] >= 0 && out_rows->data()[p] < int64_t(out.shape(0)),
              "row of out out of range");
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

std::tuple<double, int64_t, int64_t> bind_solve(
    Any tile, int64_t rows, Array2<const double> target, Array2<const double> lower,
    Array2<const double> upper, Array2<const uint8_t> group, Array2<double> beta,
    Array1<double> score, int groups, double tol, int64_t max_steps, int64_t block,
    int64_t direct_steps, int threads, std::optional<Array1<uint8_t>> scratch,
    std::optional<nb::callable> between) {
  require_threads(threads);
  require(block >= 1 && groups >= 1, "block and groups must be at least 1");
  require(tile.ndim() == 2 && tile.stride(1) == 1, "tile must be row major");
  require(is<float>(tile.dtype()) || is<double>(tile.dtype()), "tile must be float32 or float64");
  require(rows > 0 && int64_t(tile.shape(0)) >= rows && int64_t(tile.shape(1)) >= rows &&
              int64_t(score.shape(0)) >= rows && int64_t(beta.shape(1)) >= rows,
          "arrays are smaller than the number of rows");
  for (const auto& a : {lower, upper, target})
    require(a.shape(0) == beta.shape(0) && a.shape(1) == beta.shape(1),
            "shapes of variables differ");
  require(group.shape(0) == beta.shape(0) && group.shape(1) == beta.shape(1),
          "shapes of variables differ");
  for (size_t layer = 0; layer < group.shape(0); ++layer)
    for (int64_t r = 0; r < rows; ++r)
      require(group.data()[layer * group.shape(1) + r] < groups, "a group is out of range");
  Subproblem p;
  p.rows = rows;
  p.layers = int(beta.shape(0));
  p.groups = groups;
  p.in_double = is<double>(tile.dtype());
  p.tile = tile.data();
  p.ld = tile.stride(0);
  p.layer_stride = int64_t(beta.shape(1));
  p.target = target.data();
  p.lower = lower.data();
  p.upper = upper.data();
  p.group = group.data();
  p.beta = beta.data();
  p.score = score.data();
  p.tol = tol;
  p.max_steps = max_steps;
  p.block = block;
  p.direct_steps = direct_steps;
  p.threads = threads;
  if (scratch) {
    p.scratch = scratch->data();
    p.scratch_bytes = int64_t(scratch->shape(0));
  }
  // What `between` raises reaches the caller when the point is in order again.
  std::optional<nb::python_error> raised;
  if (between)
    p.stop = [&] {
      nb::gil_scoped_acquire acquire;
      try {
        (*between)();
      } catch (nb::python_error& error) {
        raised.emplace(std::move(error));
      }
      return raised.has_value();
    };
  SubproblemReport report;
  {
    nb::gil_scoped_release release;
    report = functions().solve(p);
  }
  if (raised) throw std::move(*raised);
  return {report.violation, report.steps, report.blocks};
}

// The parts of a list of rows, each of at least one row, in order and to the end.
void require_ends(const Index& end, int64_t rows) {
  int64_t last = 0;
  for (size_t p = 0; p < end.shape(0); ++p) {
    require(end.data()[p] > last, "a part must have rows");
    last = end.data()[p];
  }
  require(last == rows, "the parts must cover the rows");
}

void require_variables(const Array2<const double>& target, const Array2<const double>& lower,
                       const Array2<const double>& upper, const Array2<const uint8_t>& group,
                       size_t layers, size_t rows, int groups) {
  for (const auto& a : {target, lower, upper})
    require(a.shape(0) == layers && a.shape(1) == rows, "shapes of variables differ");
  require(group.shape(0) == layers && group.shape(1) == rows, "shapes of variables differ");
  require(groups >= 1, "there must be at least one group");
  for (size_t v = 0; v < layers * rows; ++v)
    require(group.data()[v] < groups, "a group is out of range");
}

// A matrix handed to NumPy without a copy.
nb::ndarray<nb::numpy, double, nb::ndim<2>> give_matrix(std::vector<double>&& values,
                                                        size_t columns) {
  auto* owned = new std::vector<double>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::ndarray<nb::numpy, double, nb::ndim<2>>(owned->data(),
                                                     {owned->size() / columns, columns}, owner);
}

nb::tuple bind_solve_whole(const Kernel& kernel, const HeldRows& rows, Index place, Index end,
                           Index max_steps, Array2<const double> target, Array2<const double> lower,
                           Array2<const double> upper, Array2<const uint8_t> group,
                           Array2<double> beta, Array1<double> score, int groups, double tol,
                           int threads) {
  require_threads(threads);
  const size_t problems = end.shape(0), length = place.shape(0);
  require_ends(end, int64_t(length));
  require(max_steps.shape(0) == problems, "one limit per problem is needed");
  require(beta.shape(1) == length && score.shape(0) == length, "one value per row is needed");
  require_variables(target, lower, upper, group, beta.shape(0), length, groups);
  WholeTask task;
  task.kernel = kernel;
  task.rows = &rows.view;
  task.problems = int64_t(problems);
  task.end = end.data();
  task.max_steps = max_steps.data();
  task.place = list_of(rows, place).index;
  task.layers = int(beta.shape(0));
  task.groups = groups;
  task.layer_stride = int64_t(length);
  task.target = target.data();
  task.lower = lower.data();
  task.upper = upper.data();
  task.group = group.data();
  task.beta = beta.data();
  task.score = score.data();
  task.tol = tol;
  task.threads = threads;
  std::vector<WholeReport> report(problems);
  std::vector<double> bias(problems * size_t(groups)), lines;
  {
    nb::gil_scoped_release release;
    solve_whole(task, report.data(), bias.data());
  }
  for (const WholeReport& r : report)
    for (double value : {r.violation, double(r.steps), double(r.support), double(r.free), r.linear,
                         r.norm, r.loss, double(r.values)})
      lines.push_back(value);
  return nb::make_tuple(give_matrix(std::move(lines), 8),
                        give_matrix(std::move(bias), size_t(groups)));
}

int64_t bind_scan_parts(const Kernel& kernel, const HeldRows& rows, Index place, Index end,
                        Array1<const double> coef, Array1<double> out, int threads) {
  require_threads(threads);
  require_ends(end, int64_t(place.shape(0)));
  require(coef.shape(0) == place.shape(0) && out.shape(0) == place.shape(0),
          "one value per row is needed");
  PartsTask task;
  task.kernel = kernel;
  task.rows = &rows.view;
  task.parts = int64_t(end.shape(0));
  task.end = end.data();
  task.place = list_of(rows, place).index;
  task.coef = coef.data();
  task.out = out.data();
  task.threads = threads;
  nb::gil_scoped_release release;
  return scan_parts(task);
}

nb::tuple bind_examine(Index end, Array2<const double> target, Array2<const double> lower,
                       Array2<const double> upper, Array2<const uint8_t> group,
                       Array2<const double> total, Array2<const double> beta,
                       Array1<const double> score) {
  const size_t points = end.shape(0), length = score.shape(0), groups = total.shape(1);
  require_ends(end, int64_t(length));
  require(total.shape(0) == points, "one total per point and group is needed");
  require(beta.shape(1) == length, "one value per row is needed");
  require_variables(target, lower, upper, group, beta.shape(0), length, int(groups));
  ExamineTask task;
  task.points = int64_t(points);
  task.end = end.data();
  task.layers = int(beta.shape(0));
  task.groups = int(groups);
  task.layer_stride = int64_t(length);
  task.target = target.data();
  task.lower = lower.data();
  task.upper = upper.data();
  task.group = group.data();
  task.total = total.data();
  task.beta = beta.data();
  task.score = score.data();
  std::vector<Examination> found(points);
  std::vector<double> bias(points * groups), lines;
  {
    nb::gil_scoped_release release;
    examine(task, found.data(), bias.data());
  }
  for (const Examination& f : found)
    for (double value : {f.primal, f.dual, f.violation, f.infeasibility}) lines.push_back(value);
  return nb::make_tuple(give_matrix(std::move(lines), 4), give_matrix(std::move(bias), groups));
}

// A vector handed to NumPy without a copy.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> give(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner);
}

// A shard's arrays, held together so that a survey passes one object.
struct HeldShard {
  ShardView view;
  std::vector<ReadOnly> held;

  HeldShard(Array2<const double> target, Array2<const double> lower, Array2<const double> upper,
            Array2<const uint8_t> group, int groups, Array2<double> beta, Array1<double> score,
            Array1<int32_t> version, std::optional<Array1<const float>> norm) {
    const size_t layers = beta.shape(0), rows = beta.shape(1);
    require_variables(target, lower, upper, group, layers, rows, groups);
    require(score.shape(0) == rows && version.shape(0) == rows && (!norm || norm->shape(0) == rows),
            "one value per row is needed");
    view.rows = int64_t(rows);
    view.layers = int(layers);
    view.groups = groups;
    view.target = target.data();
    view.lower = lower.data();
    view.upper = upper.data();
    view.group = group.data();
    view.beta = beta.data();
    view.score = score.data();
    view.version = version.data();
    view.norm = norm ? norm->data() : nullptr;
    held = {ReadOnly(target), ReadOnly(lower), ReadOnly(upper),  ReadOnly(group),
            ReadOnly(beta),   ReadOnly(score), ReadOnly(version)};
    if (norm) held.push_back(ReadOnly(*norm));
  }

  nb::tuple triage(int64_t offset, int64_t stride, int64_t begin, int64_t end,
                   Array1<const double> bias, Array1<const double> drift, double slack,
                   int threads) const {
    require_threads(threads);
    require(int64_t(bias.shape(0)) == view.groups, "one bias per group is needed");
    require(offset >= 0 && stride >= 1 && 0 <= begin && begin <= end && end <= view.rows,
            "the walk leaves the rows");
    Triage found;
    {
      nb::gil_scoped_release release;
      found = widestreet::triage(view, {offset, stride, begin, end}, bias.data(), drift.data(),
                                 int64_t(drift.shape(0)), slack, threads);
    }
    return nb::make_tuple(give(std::move(found.stale)), found.skipped, found.loss);
  }

  nb::tuple judge(Index rows, Array1<const double> bias, double tol) const {
    require(int64_t(bias.shape(0)) == view.groups, "one bias per group is needed");
    for (size_t p = 0; p < rows.shape(0); ++p)
      require(rows.data()[p] >= 0 && rows.data()[p] < view.rows, "row out of range");
    const Judgement found =
        widestreet::judge(view, rows.data(), int64_t(rows.shape(0)), bias.data(), tol);
    return nb::make_tuple(give(std::vector<int64_t>(found.violators)),
                          give(std::vector<double>(found.violation)),
                          give(std::vector<double>(found.highest)),
                          give(std::vector<double>(found.lowest)), found.loss);
  }
};

// What a step of a path looks at, with the arrays it came from.
struct HeldWalk {
  WalkView view;

  HeldWalk(int layers, Array1<double> target, Array1<double> lower, Array1<double> upper,
           Array1<double> beta, Array1<const uint8_t> group, Array1<const int8_t> place,
           Array1<double> score, Array1<const double> bias, Array1<const double> d_target,
           Array1<const double> d_lower, Array1<const double> d_upper, Array1<const double> d_beta,
           Array1<const double> d_score, Array1<const double> d_bias, MaybeIndex rows) {
    const size_t n = target.shape(0);
    require(layers >= 1 && score.shape(0) * size_t(layers) == n && d_score.shape(0) * layers == n,
            "one score per row is needed");
    for (size_t size :
         {lower.shape(0), upper.shape(0), beta.shape(0), group.shape(0), place.shape(0),
          d_target.shape(0), d_lower.shape(0), d_upper.shape(0), d_beta.shape(0)})
      require(size == n, "one value per variable is needed");
    require(bias.shape(0) == d_bias.shape(0), "one bias per group is needed");
    for (size_t v = 0; v < n; ++v)
      require(group.data()[v] < bias.shape(0), "there is no such group");
    view = {int64_t(n),     layers,        target.data(),   lower.data(),
            upper.data(),   beta.data(),   group.data(),    place.data(),
            score.data(),   bias.data(),   d_target.data(), d_lower.data(),
            d_upper.data(), d_beta.data(), d_score.data(),  d_bias.data()};
    if (!rows) return;
    view.rows = rows->data();
    view.count = int64_t(rows->shape(0));
    for (int64_t i = 0; i < view.count; ++i)
      require(view.rows[i] >= 0 && view.rows[i] < int64_t(score.shape(0)) &&
                  (i == 0 || view.rows[i - 1] < view.rows[i]),
              "rows must be there, in ascending order");
  }

  nb::tuple nearest(double still, double no_way, bool first, Index passed_over) const {
    const Breakpoint found = widestreet::nearest(view, still, no_way, first, passed_over.data(),
                                                 int64_t(passed_over.shape(0)));
    return nb::make_tuple(found.length, found.variable, int(found.to), found.slope, found.rest);
  }
};

template <class F>
void with_type(const Any& tile, F&& f) {
  require(tile.ndim() == 2 && tile.stride(1) == 1, "tile must be row major");
  if (is<float>(tile.dtype()))
    f(static_cast<float*>(tile.data()));
  else if (is<double>(tile.dtype()))
    f(static_cast<double*>(tile.data()));
  else
    throw std::invalid_argument("tile must be float32 or float64");
}

void require_slots(const Any& tile, int64_t size, const Index& slots) {
  require(int64_t(tile.shape(0)) >= size && int64_t(tile.shape(1)) >= size, "tile is too small");
  for (size_t i = 0; i < slots.shape(0); ++i)
    require(slots.data()[i] >= 0 && slots.data()[i] < size, "slot out of range");
}

}  // namespace

NB_MODULE(_core, m) {
  // What is still alive when the interpreter ends, in a callback's thread for instance, is no leak.
  nb::set_leak_warnings(false);
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

  nb::class_<HeldRows>(m, "Rows")
      .def_static("dense", &HeldRows::dense, "values"_a.noconvert(), "centre"_a.noconvert().none(),
                  "skip_zeros"_a = false)
      .def_static("csr", &HeldRows::csr, "values"_a.noconvert(), "indices"_a.noconvert(),
                  "indptr"_a.noconvert(), "n"_a, "d"_a);

  nb::class_<HeldShard>(m, "Shard")
      .def(nb::init<Array2<const double>, Array2<const double>, Array2<const double>,
                    Array2<const uint8_t>, int, Array2<double>, Array1<double>, Array1<int32_t>,
                    std::optional<Array1<const float>>>(),
           "target"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
           "group"_a.noconvert(), "groups"_a, "beta"_a.noconvert(), "score"_a.noconvert(),
           "version"_a.noconvert(), "norm"_a.noconvert().none())
      .def("triage", &HeldShard::triage, "offset"_a, "stride"_a, "begin"_a, "end"_a,
           "bias"_a.noconvert(), "drift"_a.noconvert(), "slack"_a, "threads"_a)
      .def("judge", &HeldShard::judge, "rows"_a.noconvert(), "bias"_a.noconvert(), "tol"_a);

  nb::class_<Factor>(m, "Factor")
      .def(nb::init<>())
      .def("copy", [](const Factor& self) { return Factor(self); })
      .def_prop_ro("size", &Factor::size)
      .def(
          "forward",
          [](const Factor& self, Array2<double> B) {
            require(int64_t(B.shape(1)) == self.size(), "one value per row is needed");
            nb::gil_scoped_release release;
            self.forward(B.data(), int64_t(B.shape(0)));
          },
          "B"_a.noconvert())
      .def(
          "backward",
          [](const Factor& self, Array2<double> B) {
            require(int64_t(B.shape(1)) == self.size(), "one value per row is needed");
            nb::gil_scoped_release release;
            self.backward(B.data(), int64_t(B.shape(0)));
          },
          "B"_a.noconvert())
      .def(
          "solve_bordered",
          [](Factor& self, Array1<const double> first, Array1<const double> second,
             Array1<const uint8_t> group, double sigma, Array1<double> x, Array1<double> m) {
            const size_t k = size_t(self.size()), groups = second.shape(0);
            require(first.shape(0) == k && group.shape(0) == k && x.shape(0) == k,
                    "one value per row is needed");
            require(m.shape(0) == groups, "one value per group is needed");
            for (size_t i = 0; i < k; ++i)
              require(group.data()[i] < groups, "there is no such group");
            nb::gil_scoped_release release;
            self.solve_bordered(first.data(), second.data(), group.data(), int(groups), sigma,
                                x.data(), m.data());
          },
          "first"_a.noconvert(), "second"_a.noconvert(), "group"_a.noconvert(), "sigma"_a,
          "x"_a.noconvert(), "m"_a.noconvert())
      .def(
          "append",
          [](Factor& self, Array1<const double> row, double own, double least) {
            require(int64_t(row.shape(0)) == self.size(), "one value per row is needed");
            nb::gil_scoped_release release;
            return self.append(row.data(), own, least);
          },
          "row"_a.noconvert(), "own"_a, "least"_a)
      .def(
          "remove",
          [](Factor& self, int64_t i) {
            require(i >= 0 && i < self.size(), "row out of range");
            nb::gil_scoped_release release;
            self.remove(i);
          },
          "i"_a)
      .def(
          "load",
          [](Factor& self, Array2<const double> L) {
            require(L.shape(0) == L.shape(1), "a factor is square");
            self.load(L.data(), int64_t(L.shape(0)));
          },
          "L"_a.noconvert())
      .def(
          "store",
          [](const Factor& self, Array2<double> L) {
            require(int64_t(L.shape(0)) == self.size() && L.shape(0) == L.shape(1),
                    "a factor is square");
            self.store(L.data());
          },
          "L"_a.noconvert());
  nb::class_<HeldWalk>(m, "Walk")
      .def(nb::init<int, Array1<double>, Array1<double>, Array1<double>, Array1<double>,
                    Array1<const uint8_t>, Array1<const int8_t>, Array1<double>,
                    Array1<const double>, Array1<const double>, Array1<const double>,
                    Array1<const double>, Array1<const double>, Array1<const double>,
                    Array1<const double>, MaybeIndex>(),
           "layers"_a, "target"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
           "beta"_a.noconvert(), "group"_a.noconvert(), "place"_a.noconvert(),
           "score"_a.noconvert(), "bias"_a.noconvert(), "d_target"_a.noconvert(),
           "d_lower"_a.noconvert(), "d_upper"_a.noconvert(), "d_beta"_a.noconvert(),
           "d_score"_a.noconvert(), "d_bias"_a.noconvert(),
           "rows"_a.noconvert().none() = nb::none(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
           nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>(),
           nb::keep_alive<1, 8>(), nb::keep_alive<1, 9>(), nb::keep_alive<1, 10>(),
           nb::keep_alive<1, 11>(), nb::keep_alive<1, 12>(), nb::keep_alive<1, 13>(),
           nb::keep_alive<1, 14>(), nb::keep_alive<1, 15>(), nb::keep_alive<1, 16>(),
           nb::keep_alive<1, 17>())
      .def("nearest", &HeldWalk::nearest, "still"_a, "no_way"_a, "first"_a,
           "passed_over"_a.noconvert())
      .def(
          "advance", [](HeldWalk& self, double length) { advance(self.view, length); }, "length"_a);
  m.def(
      "use_trsv", [](nb::capsule given) { trsv() = reinterpret_cast<Trsv>(given.data()); },
      "given"_a);

  m.def("scan", &bind_scan, "kernel"_a, "left"_a, "left_index"_a.noconvert().none(), "right"_a,
        "right_index"_a.noconvert().none(), "coef"_a.noconvert(), "out"_a.noconvert(),
        "in_double"_a, "threads"_a);
  m.def("scan_parts", &bind_scan_parts, "kernel"_a, "rows"_a, "place"_a.noconvert(),
        "end"_a.noconvert(), "coef"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
  m.def("tile", &bind_tile, "kernel"_a, "left"_a, "left_index"_a.noconvert().none(), "right"_a,
        "right_index"_a.noconvert().none(), "out"_a.noconvert(), "out_rows"_a.noconvert().none(),
        "threads"_a);
  m.def("solve", &bind_solve, "tile"_a.noconvert(), "rows"_a, "target"_a.noconvert(),
        "lower"_a.noconvert(), "upper"_a.noconvert(), "group"_a.noconvert(), "beta"_a.noconvert(),
        "score"_a.noconvert(), "groups"_a, "tol"_a, "max_steps"_a, "block"_a, "direct_steps"_a,
        "threads"_a, "scratch"_a.noconvert() = nb::none(), "between"_a = nb::none());

  m.def("solve_whole", &bind_solve_whole, "kernel"_a, "rows"_a, "place"_a.noconvert(),
        "end"_a.noconvert(), "max_steps"_a.noconvert(), "target"_a.noconvert(),
        "lower"_a.noconvert(), "upper"_a.noconvert(), "group"_a.noconvert(), "beta"_a.noconvert(),
        "score"_a.noconvert(), "groups"_a, "tol"_a, "threads"_a);
  m.def(
      "use_posv", [](nb::capsule given) { posv() = reinterpret_cast<Posv>(given.data()); },
      "given"_a);
  m.def("examine", &bind_examine, "end"_a.noconvert(), "target"_a.noconvert(),
        "lower"_a.noconvert(), "upper"_a.noconvert(), "group"_a.noconvert(), "total"_a.noconvert(),
        "beta"_a.noconvert(), "score"_a.noconvert());

  m.def(
      "add_scores",
      [](Any tile, int64_t size, Index slots, Array1<const double> change, Array1<double> score,
         int threads) {
        require_threads(threads);
        require_slots(tile, size, slots);
        require(slots.shape(0) == change.shape(0), "one change per slot is needed");
        require(int64_t(score.shape(0)) >= size, "one score per row is needed");
        const ScoreTask task = {
            size,          is<double>(tile.dtype()), tile.data(),  tile.stride(0), slots.data(),
            change.data(), int64_t(slots.shape(0)),  score.data(), threads};
        nb::gil_scoped_release release;
        functions().add_scores(task);
      },
      "tile"_a.noconvert(), "size"_a, "slots"_a.noconvert(), "change"_a.noconvert(),
      "score"_a.noconvert(), "threads"_a);
  m.def(
      "gather",
      [](Any out, Any tile, int64_t size, Index slots, int threads) {
        require_threads(threads);
        require_slots(tile, size, slots);
        const int64_t count = int64_t(slots.shape(0));
        require(out.ndim() == 2 && out.stride(1) == 1 && int64_t(out.shape(0)) >= count &&
                    int64_t(out.shape(1)) >= count,
                "out is too small");
        with_type(tile, [&](auto* t) {
          with_type(out, [&](auto* to) {
            gather(to, out.stride(0), t, tile.stride(0), slots.data(), count, threads);
          });
        });
      },
      "out"_a.noconvert(), "tile"_a.noconvert(), "size"_a, "slots"_a.noconvert(), "threads"_a);
  m.def(
      "relocate",
      [](Any tile, int64_t size, Index from, Index to, int threads) {
        require_threads(threads);
        require(from.shape(0) == to.shape(0), "from and to must have the same length");
        require_slots(tile, size, from);
        require_slots(tile, size, to);
        with_type(tile, [&](auto* t) {
          relocate(t, tile.stride(0), size, from.data(), to.data(), int64_t(from.shape(0)),
                   threads);
        });
      },
      "tile"_a.noconvert(), "size"_a, "from_slots"_a.noconvert(), "to_slots"_a.noconvert(),
      "threads"_a);
  m.def(
      "copy_rows",
      [](Any to, Any from, int64_t begin, int64_t end, int64_t size, int threads) {
        require_threads(threads);
        require(to.dtype() == from.dtype(), "tiles must have the same type");
        for (const Any& tile : {to, from})
          require(tile.ndim() == 2 && tile.stride(1) == 1 && 0 <= begin && begin <= end &&
                      end <= size && size <= int64_t(tile.shape(0)) &&
                      size <= int64_t(tile.shape(1)),
                  "rows leave a tile");
        with_type(to, [&](auto* t) {
          copy_rows(t, to.stride(0), static_cast<const std::decay_t<decltype(*t)>*>(from.data()),
                    from.stride(0), begin, end, size, threads);
        });
      },
      "to"_a.noconvert(), "source"_a.noconvert(), "begin"_a, "end"_a, "size"_a, "threads"_a);
  m.def(
      "mirror",
      [](Any tile, int64_t size, Index slots, int threads) {
        require_threads(threads);
        require_slots(tile, size, slots);
        with_type(tile, [&](auto* t) {
          mirror(t, tile.stride(0), size, slots.data(), int64_t(slots.shape(0)), threads);
        });
      },
      "tile"_a.noconvert(), "size"_a, "slots"_a.noconvert(), "threads"_a);
  m.def(
      "times",
      [](Array2<const double> A, Array2<const double> x, Array2<double> out, bool transposed,
         int threads) {
        require_threads(threads);
        const MatrixView view{A.data(), int64_t(A.shape(0)), int64_t(A.shape(1))};
        const int64_t count = int64_t(x.shape(0));
        require(int64_t(x.shape(1)) == (transposed ? view.rows : view.columns) &&
                    int64_t(out.shape(1)) == (transposed ? view.columns : view.rows) &&
                    int64_t(out.shape(0)) == count,
                "x and out must fit the matrix");
        nb::gil_scoped_release release;
        (transposed ? transposed_times : times)(view, x.data(), count, out.data(), threads);
      },
      "A"_a.noconvert(), "x"_a.noconvert(), "out"_a.noconvert(), "transposed"_a, "threads"_a);
  m.def(
      "first_equal",
      [](const HeldRows& rows, Array1<const double> label, int threads) {
        require_threads(threads);
        require(int64_t(label.shape(0)) == rows.view.n, "one label per row is needed");
        std::vector<int64_t> first(rows.view.n);
        int64_t distinct;
        {
          nb::gil_scoped_release release;
          distinct = first_equal(rows.view, label.data(), first.data(), threads);
        }
        return nb::make_tuple(give(std::move(first)), distinct);
      },
      "rows"_a, "label"_a.noconvert(), "threads"_a);
  m.def(
      "similar_together",
      [](const HeldRows& rows, int threads) {
        require_threads(threads);
        std::vector<int64_t> order(rows.view.n);
        {
          nb::gil_scoped_release release;
          similar_together(rows.view, order.data(), threads);
        }
        return give(std::move(order));
      },
      "rows"_a, "threads"_a);
  m.def(
      "largest_square",
      [](const HeldRows& rows, int threads) {
        require_threads(threads);
        nb::gil_scoped_release release;
        return largest_square(rows.view, threads);
      },
      "rows"_a, "threads"_a);
  m.def(
      "exp2",
      [](Array1<const double> z, Array1<double> out, bool in_double) {
        require(z.shape(0) == out.shape(0), "z and out must have the same length");
        functions().exp2_array(z.data(), out.data(), int64_t(z.shape(0)), in_double);
      },
      "z"_a.noconvert(), "out"_a.noconvert(), "in_double"_a);

  m.attr("IN_WORKING_SET") = kInWorkingSet;
  m.attr("UNKNOWN") = kUnknown;
  m.def("instruction_sets", &available);
  m.def("instruction_set", [] { return std::string(functions().name); });
  m.def("force_instruction_set", &force, "name"_a);
}
