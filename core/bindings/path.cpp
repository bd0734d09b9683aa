// The homotopy: the factor of its free variables, and the step to the next breakpoint.
#include "bindings/arrays.hpp"
#include "path/cholesky_factor.hpp"
#include "path/next_breakpoint.hpp"

namespace widestreet {
namespace {

// A step holds its arrays through the keep_alive of its constructor.
struct HeldStep {
  HomotopyStep view;

  HeldStep(int layers, Array1<double> target, Array1<double> lower, Array1<double> upper,
           Array1<double> beta, Array1<const uint8_t> group, Array1<const int8_t> bound_state,
           Array1<double> score, Array1<const double> bias, Array1<const double> d_target,
           Array1<const double> d_lower, Array1<const double> d_upper, Array1<const double> d_beta,
           Array1<const double> d_score, Array1<const double> d_bias, MaybeIndex rows) {
    const size_t n = target.shape(0);
    require(layers >= 1 && score.shape(0) * size_t(layers) == n && d_score.shape(0) * layers == n,
            "one score per row is needed");
    for (size_t size :
         {lower.shape(0), upper.shape(0), beta.shape(0), group.shape(0), bound_state.shape(0),
          d_target.shape(0), d_lower.shape(0), d_upper.shape(0), d_beta.shape(0)})
      require(size == n, "one value per variable is needed");
    require(bias.shape(0) == d_bias.shape(0), "one bias per group is needed");
    for (size_t v = 0; v < n; ++v)
      require(group.data()[v] < bias.shape(0), "there is no such group");
    view = {int64_t(n),     layers,        target.data(),   lower.data(),
            upper.data(),   beta.data(),   group.data(),    bound_state.data(),
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

  nb::tuple nearest(double negligible, double zero_length, bool by_index, Index passed_over) const {
    const Breakpoint found = widestreet::nearest(view, negligible, zero_length, by_index,
                                                 passed_over.data(), int64_t(passed_over.shape(0)));
    return nb::make_tuple(found.length, found.variable, int(found.to), found.slope, found.rest);
  }

  void advance(double length) { widestreet::advance(view, length); }
};

void solve_bordered(Factor& self, Array1<const double> first, Array1<const double> second,
                    Array1<const uint8_t> group, double sigma, Array1<double> x, Array1<double> m) {
  const size_t k = size_t(self.size()), groups = second.shape(0);
  require(first.shape(0) == k && group.shape(0) == k && x.shape(0) == k,
          "one value per row is needed");
  require(m.shape(0) == groups, "one value per group is needed");
  for (size_t i = 0; i < k; ++i) require(group.data()[i] < groups, "there is no such group");
  nb::gil_scoped_release release;
  self.solve_bordered(first.data(), second.data(), group.data(), int(groups), sigma, x.data(),
                      m.data());
}

double append(Factor& self, Array1<const double> row, double own, double least) {
  require(int64_t(row.shape(0)) == self.size(), "one value per row is needed");
  nb::gil_scoped_release release;
  return self.append(row.data(), own, least);
}

void remove(Factor& self, int64_t i) {
  require(i >= 0 && i < self.size(), "row out of range");
  nb::gil_scoped_release release;
  self.remove(i);
}

void load(Factor& self, Array2<const double> L) {
  require(L.shape(0) == L.shape(1), "a factor is square");
  self.load(L.data(), int64_t(L.shape(0)));
}

void store(const Factor& self, Array2<double> L) {
  require(int64_t(L.shape(0)) == self.size() && L.shape(0) == L.shape(1), "a factor is square");
  self.store(L.data());
}

}  // namespace

void bind_path(nb::module_& m) {
  nb::class_<Factor>(m, "Factor")
      .def(nb::init<>())
      .def("copy", [](const Factor& self) { return Factor(self); })
      .def_prop_ro("size", &Factor::size)
      .def("solve_bordered", &solve_bordered, "first"_a.noconvert(), "second"_a.noconvert(),
           "group"_a.noconvert(), "sigma"_a, "x"_a.noconvert(), "m"_a.noconvert())
      .def("append", &append, "row"_a.noconvert(), "own"_a, "least"_a)
      .def("remove", &remove, "i"_a)
      .def("load", &load, "L"_a.noconvert())
      .def("store", &store, "L"_a.noconvert());
  nb::class_<HeldStep>(m, "HomotopyStep")
      .def(nb::init<int, Array1<double>, Array1<double>, Array1<double>, Array1<double>,
                    Array1<const uint8_t>, Array1<const int8_t>, Array1<double>,
                    Array1<const double>, Array1<const double>, Array1<const double>,
                    Array1<const double>, Array1<const double>, Array1<const double>,
                    Array1<const double>, MaybeIndex>(),
           "layers"_a, "target"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
           "beta"_a.noconvert(), "group"_a.noconvert(), "bound_state"_a.noconvert(),
           "score"_a.noconvert(), "bias"_a.noconvert(), "d_target"_a.noconvert(),
           "d_lower"_a.noconvert(), "d_upper"_a.noconvert(), "d_beta"_a.noconvert(),
           "d_score"_a.noconvert(), "d_bias"_a.noconvert(),
           "rows"_a.noconvert().none() = nb::none(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
           nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>(),
           nb::keep_alive<1, 8>(), nb::keep_alive<1, 9>(), nb::keep_alive<1, 10>(),
           nb::keep_alive<1, 11>(), nb::keep_alive<1, 12>(), nb::keep_alive<1, 13>(),
           nb::keep_alive<1, 14>(), nb::keep_alive<1, 15>(), nb::keep_alive<1, 16>(),
           nb::keep_alive<1, 17>())
      .def("nearest", &HeldStep::nearest, "negligible"_a, "zero_length"_a, "by_index"_a,
           "passed_over"_a.noconvert())
      .def("advance", &HeldStep::advance, "length"_a);
}

}  // namespace widestreet
