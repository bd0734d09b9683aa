// The rows of a shard: their last scores, which need a new one, and which violate; and what changed
// between two expansions.
#include "bindings/arrays.hpp"
#include "solve/changes.hpp"
#include "solve/last_scores.hpp"
#include "solve/skipping_and_violators.hpp"

namespace widestreet {
namespace {

struct HeldShard {
  ShardView view;
  double* scores;  // those of the view, to be replaced
  int32_t* versions;
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
    view.score = scores = score.data();
    view.version = versions = version.data();
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
    require_rows(rows, view.dual.rows, kNoRow);
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

  // Rows divided by the versions of their scores, and how many there are of each.
  nb::tuple by_version(Index rows, int32_t present, int threads) const {
    require_threads(threads);
    require_rows(rows, view.dual.rows, kNoRow);
    require(present >= 0, "versions are not negative");
    Fresh<int64_t> sorted(rows.shape(0));
    std::vector<int64_t> count;
    {
      nb::gil_scoped_release release;
      count = widestreet::by_version(view.version, rows.data(), int64_t(rows.shape(0)), present,
                                     sorted.values.get(), threads);
    }
    return nb::make_tuple(give(std::move(sorted)), give(std::move(count)));
  }

  auto read(Index rows, int threads) const {
    require_threads(threads);
    require_rows(rows, view.dual.rows, kNoRow);
    Fresh<double> found(rows.shape(0));
    {
      nb::gil_scoped_release release;
      read_scores(view.score, rows.data(), int64_t(rows.shape(0)), found.values.get(), threads);
    }
    return give(std::move(found));
  }

  void store(Index rows, Array1<const double> score, int32_t version, int threads) {
    require_threads(threads);
    require_rows(rows, view.dual.rows, kNoRow);
    require(score.shape(0) == rows.shape(0), "one score per row is needed");
    nb::gil_scoped_release release;
    store_scores(rows.data(), int64_t(rows.shape(0)), score.data(), version, scores, versions,
                 threads);
  }

 private:
  static constexpr const char* kNoRow = "row out of range";

  void require_biases(const Array1<const double>& bias) const {
    require(int64_t(bias.shape(0)) == view.dual.groups, "one bias per group is needed");
  }
};

// Rows whose coefficients differ, and by how much; the rows of both lists ascend.
nb::tuple changes_of(Index ids, Array1<const double> coef, Index ids_before,
                     Array1<const double> coef_before, int threads) {
  require_threads(threads);
  require(ids.shape(0) == coef.shape(0) && ids_before.shape(0) == coef_before.shape(0),
          "one coefficient per row is needed");
  ChangedRows found;
  {
    nb::gil_scoped_release release;
    found = changes({ids.data(), coef.data(), int64_t(ids.shape(0))},
                    {ids_before.data(), coef_before.data(), int64_t(ids_before.shape(0))}, threads);
  }
  return nb::make_tuple(give(std::move(found.ids)), give(std::move(found.values)));
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
           "threads"_a)
      .def("by_version", &HeldShard::by_version, "rows"_a.noconvert(), "present"_a, "threads"_a)
      .def("read", &HeldShard::read, "rows"_a.noconvert(), "threads"_a)
      .def("store", &HeldShard::store, "rows"_a.noconvert(), "score"_a.noconvert(), "version"_a,
           "threads"_a);
  m.attr("IN_WORKING_SET") = kInWorkingSet;
  m.attr("UNKNOWN") = kUnknown;
  m.def("changes", &changes_of, "ids"_a.noconvert(), "coef"_a.noconvert(),
        "ids_before"_a.noconvert(), "coef_before"_a.noconvert(), "threads"_a);
}

}  // namespace widestreet
