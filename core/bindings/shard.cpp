// The rows of a shard: which need a new score, and which violate; changes of the coefficients.
#include "bindings/arrays.hpp"
#include "solve/coefficient_changes.hpp"
#include "solve/skipping_and_violators.hpp"

namespace widestreet {
namespace {

struct HeldShard {
  ShardView view;
  std::vector<ReadOnly> held;

  HeldShard(const HeldVariables& variables, Array2<double> beta, Array1<double> score,
            Array1<int32_t> version, std::optional<Array1<const float>> norm)
      : held(variables.held) {
    view.dual = variables.view;
    const size_t rows = size_t(view.dual.rows);
    variables.require_point(beta, score);
    require(version.shape(0) == rows && (!norm || norm->shape(0) == rows),
            "one value per row is needed");
    view.beta = beta.data();
    view.score = score.data();
    view.version = version.data();
    view.norm = norm ? norm->data() : nullptr;
    for (const ReadOnly& a : {ReadOnly(beta), ReadOnly(score), ReadOnly(version)})
      held.push_back(a);
    if (norm) held.push_back(ReadOnly(*norm));
  }

  nb::tuple triage(int64_t offset, int64_t stride, int64_t begin, int64_t end,
                   Array1<const double> bias, Array1<const double> drift, int threads) const {
    require_threads(threads);
    require_biases(bias);
    require(offset >= 0 && stride >= 1 && 0 <= begin && begin <= end && end <= view.dual.rows,
            "the order leaves the rows");
    Triage found;
    {
      nb::gil_scoped_release release;
      found = widestreet::triage(view, {offset, stride, begin, end}, bias.data(), drift.data(),
                                 int64_t(drift.shape(0)), threads);
    }
    return nb::make_tuple(give(std::move(found.stale)), found.skipped, found.loss);
  }

  nb::tuple judge(Index rows, Array1<const double> bias, double tol, int threads) const {
    require_threads(threads);
    require_biases(bias);
    for (size_t p = 0; p < rows.shape(0); ++p)
      require(rows.data()[p] >= 0 && rows.data()[p] < view.dual.rows, "row out of range");
    Judgement found;
    {
      nb::gil_scoped_release release;
      found =
          widestreet::judge(view, rows.data(), int64_t(rows.shape(0)), bias.data(), tol, threads);
    }
    return nb::make_tuple(give(std::move(found.violators)), give(std::move(found.violation)),
                          give(std::move(found.highest)), give(std::move(found.lowest)),
                          found.loss);
  }

 private:
  void require_biases(const Array1<const double>& bias) const {
    require(int64_t(bias.shape(0)) == view.dual.groups, "one bias per group is needed");
  }
};

SparseCoefficients sparse(const Index& rows, const Array1<const double>& coef) {
  require(rows.shape(0) == coef.shape(0), "one coefficient per row is needed");
  return {rows.data(), coef.data(), int64_t(rows.shape(0))};
}

nb::tuple changes(Index rows, Array1<const double> coef, Index rows_before,
                  Array1<const double> coef_before) {
  const SparseCoefficients now = sparse(rows, coef), before = sparse(rows_before, coef_before);
  CoefficientChanges found;
  {
    nb::gil_scoped_release release;
    found = coefficient_changes(now, before);
  }
  return nb::make_tuple(give(std::move(found.rows)), give(std::move(found.change)));
}

}  // namespace

void bind_shard(nb::module_& m) {
  nb::class_<HeldShard>(m, "Shard")
      .def(nb::init<const HeldVariables&, Array2<double>, Array1<double>, Array1<int32_t>,
                    std::optional<Array1<const float>>>(),
           "variables"_a, "beta"_a.noconvert(), "score"_a.noconvert(), "version"_a.noconvert(),
           "norm"_a.noconvert().none())
      .def("triage", &HeldShard::triage, "offset"_a, "stride"_a, "begin"_a, "end"_a,
           "bias"_a.noconvert(), "drift"_a.noconvert(), "threads"_a)
      .def("judge", &HeldShard::judge, "rows"_a.noconvert(), "bias"_a.noconvert(), "tol"_a,
           "threads"_a);
  m.def("coefficient_changes", &changes, "rows"_a.noconvert(), "coef"_a.noconvert(),
        "rows_before"_a.noconvert(), "coef_before"_a.noconvert());
  m.attr("IN_WORKING_SET") = kInWorkingSet;
  m.attr("UNKNOWN") = kUnknown;
}

}  // namespace widestreet
