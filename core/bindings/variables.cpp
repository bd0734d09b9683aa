// The variables of a dual problem, the examination of points, and passes of certificates.
#include <algorithm>

#include "bindings/arrays.hpp"
#include "parallel.hpp"
#include "solve/examine.hpp"
#include "solve/rows_that_matter.hpp"
#include "solve/standing.hpp"

namespace widestreet {
namespace {

constexpr int64_t kZerosOfTask = 1 << 16;

nb::tuple examine_of(const HeldVariables& variables, Array2<const double> beta,
                     Array1<const double> score, Index end, Array2<const double> total) {
  const size_t points = end.shape(0);
  const int groups = variables.view.groups;
  require_ends(end, variables.view.rows);
  variables.require_point(beta, score);
  require(total.shape(0) == points && int64_t(total.shape(1)) == groups,
          "one total per point and group is needed");
  ExamineTask task;
  task.points = int64_t(points);
  task.end = end.data();
  task.dual = variables.view;
  task.total = total.data();
  task.beta = beta.data();
  task.score = score.data();
  std::vector<Examination> found(points);
  std::vector<double> bias(points * size_t(groups)), lines;
  {
    nb::gil_scoped_release release;
    examine(task, found.data(), bias.data());
  }
  for (const Examination& f : found)
    for (double value : {f.primal, f.dual, f.violation, f.infeasibility}) lines.push_back(value);
  return nb::make_tuple(give_matrix(std::move(lines), 4),
                        give_matrix(std::move(bias), size_t(groups)));
}

auto rows_that_matter_of(const HeldVariables& variables, MaybeIndex index,
                         Array1<const double> score, Array1<const double> error, double more,
                         Array1<const double> grow, Array1<const double> shrink, int threads) {
  require_threads(threads);
  Zeros zeros;
  zeros.dual = variables.view;
  const size_t rows = size_t(zeros.dual.rows), groups = size_t(zeros.dual.groups);
  require(score.shape(0) == rows && error.shape(0) == rows,
          "one score and error per row is needed");
  require(grow.shape(0) == groups && shrink.shape(0) == groups, "one limit per group is needed");
  zeros.size = zeros.dual.rows;
  if (index) {
    zeros.index = index->data();
    zeros.size = int64_t(index->shape(0));
    require_rows(*index, zeros.dual.rows, "row index out of range");
  }
  zeros.score = score.data();
  zeros.error = error.data();
  zeros.more = more;
  zeros.grow = grow.data();
  zeros.shrink = shrink.data();
  Fresh<int64_t> found;
  {
    nb::gil_scoped_release release;
    found = rows_that_matter(zeros, threads);
  }
  return give(std::move(found));
}

auto places_of(Array1<const bool> mask, int threads) {
  require_threads(threads);
  Fresh<int64_t> found;
  {
    nb::gil_scoped_release release;
    found = places(reinterpret_cast<const uint8_t*>(mask.data()), int64_t(mask.shape(0)), threads);
  }
  return give(std::move(found));
}

// New memory is accessed by the threads, each for its part.
auto zeros_of(int64_t count, int threads) {
  require_threads(threads);
  require(count >= 0, "there must be no fewer than zero values");
  Fresh<double> all(static_cast<size_t>(count));
  {
    nb::gil_scoped_release release;
    for_ranges(count, kZerosOfTask, threads, [&](int64_t begin, int64_t end) {
      std::fill(all.values.get() + begin, all.values.get() + end, 0.0);
    });
  }
  return give(std::move(all));
}

nb::tuple extreme_targets_of(const HeldVariables& variables, int threads) {
  require_threads(threads);
  std::pair<double, double> found;
  {
    nb::gil_scoped_release release;
    found = extreme_targets(variables.view, threads);
  }
  return nb::make_tuple(found.first, found.second);
}

nb::tuple extremes_of(const HeldVariables& variables, Array2<const double> beta,
                      Array1<const double> score) {
  variables.require_point(beta, score);
  Extremes found;
  {
    nb::gil_scoped_release release;
    found = extremes(variables.view, beta.data(), score.data());
  }
  return nb::make_tuple(give(std::move(found.highest)), give(std::move(found.lowest)));
}

auto slack_of(const HeldVariables& variables, Array2<const double> beta, Array1<const double> score,
              Array1<const double> least, Array1<const double> most) {
  variables.require_point(beta, score);
  for (const auto& bias : {least, most})
    require(int64_t(bias.shape(0)) == variables.view.groups, "one bias per group is needed");
  Fresh<double> found(size_t(variables.view.rows));
  {
    nb::gil_scoped_release release;
    slack(variables.view, beta.data(), score.data(), least.data(), most.data(), found.values.get());
  }
  return give(std::move(found));
}

// Floats with the same exact sum; None if a value is not finite, or too large.
nb::object exact_terms_of(Array1<const double> values, int threads) {
  require_threads(threads);
  std::vector<double> terms;
  bool known;
  {
    nb::gil_scoped_release release;
    known = exact_terms(values.data(), int64_t(values.shape(0)), terms, threads);
  }
  return known ? nb::cast(terms) : nb::none();
}

}  // namespace

HeldVariables::HeldVariables(Array2<const double> target, Array2<const double> lower,
                             Array2<const double> upper, Array2<const uint8_t> group, int groups,
                             std::optional<int64_t> rows) {
  const size_t layers = target.shape(0), stride = target.shape(1);
  require(layers == 1 || layers == 2, "a row must have one variable or two");
  for (const auto& a : {lower, upper})
    require(a.shape(0) == layers && a.shape(1) == stride, "shapes of variables differ");
  require(group.shape(0) == layers && group.shape(1) == stride, "shapes of variables differ");
  require(groups >= 1, "there must be at least one group");
  view = {rows.value_or(int64_t(stride)),
          int(layers),
          groups,
          int64_t(stride),
          target.data(),
          lower.data(),
          upper.data(),
          group.data()};
  require(view.rows >= 0 && view.rows <= view.stride, "there are not so many rows");
  uint8_t last = 0;
  view.each([&](int64_t v, int64_t) { last = std::max(last, view.group[v]); });
  require(last < groups, "a group is out of range");
  held = {ReadOnly(target), ReadOnly(lower), ReadOnly(upper), ReadOnly(group)};
}

void bind_variables(nb::module_& m) {
  nb::class_<HeldVariables>(m, "Variables")
      .def(nb::init<Array2<const double>, Array2<const double>, Array2<const double>,
                    Array2<const uint8_t>, int, std::optional<int64_t>>(),
           "target"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
           "group"_a.noconvert(), "groups"_a, "rows"_a = nb::none());
  m.def("examine", &examine_of, "variables"_a, "beta"_a.noconvert(), "score"_a.noconvert(),
        "end"_a.noconvert(), "total"_a.noconvert());
  m.def("rows_that_matter", &rows_that_matter_of, "variables"_a, "index"_a.noconvert().none(),
        "score"_a.noconvert(), "error"_a.noconvert(), "more"_a, "grow"_a.noconvert(),
        "shrink"_a.noconvert(), "threads"_a);
  m.def("places", &places_of, "mask"_a.noconvert(), "threads"_a);
  m.def("zeros", &zeros_of, "count"_a, "threads"_a);
  m.def("extreme_targets", &extreme_targets_of, "variables"_a, "threads"_a);
  m.def("extremes", &extremes_of, "variables"_a, "beta"_a.noconvert(), "score"_a.noconvert());
  m.def("slack", &slack_of, "variables"_a, "beta"_a.noconvert(), "score"_a.noconvert(),
        "least"_a.noconvert(), "most"_a.noconvert());
  m.def("exact_terms", &exact_terms_of, "values"_a.noconvert(), "threads"_a);
}

}  // namespace widestreet
