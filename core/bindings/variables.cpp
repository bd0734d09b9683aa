// The variables of a dual problem, and the examination of points.
#include "bindings/arrays.hpp"
#include "solve/examine.hpp"

namespace widestreet {
namespace {

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
  view.each(
      [&](int64_t v, int64_t) { require(view.group[v] < groups, "a group is out of range"); });
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
}

}  // namespace widestreet
