// Pair steps and Newton steps on a tile, and small problems from their rows on.
#include <limits>

#include "bindings/arrays.hpp"
#include "dispatch.hpp"
#include "solve/chain.hpp"
#include "solve/held_out.hpp"
#include "solve/newton.hpp"
#include "solve/small.hpp"

namespace widestreet {
namespace {

using Scratch = std::optional<Array1<uint8_t>>;
using Rounded = std::optional<Any>;
using Poll = std::optional<nb::callable>;

Subproblem subproblem(const Any& tile, const HeldVariables& variables, const Array2<double>& beta,
                      const Array1<double>& score, int threads, const Scratch& scratch) {
  require_threads(threads);
  require_tile(tile, kNoTile);
  const int64_t rows = variables.view.rows;
  require(rows > 0 && int64_t(tile.shape(0)) >= rows && int64_t(tile.shape(1)) >= rows,
          "the tile is smaller than the number of rows");
  variables.require_point(beta, score);
  Subproblem p;
  p.dual = variables.view;
  p.in_double = is<double>(tile.dtype());
  p.tile = tile.data();
  p.ld = tile.stride(0);
  p.beta = beta.data();
  p.score = score.data();
  p.threads = threads;
  if (scratch) {
    p.scratch = scratch->data();
    p.scratch_bytes = int64_t(scratch->shape(0));
  }
  return p;
}

// Sets: the rounded tile of a subproblem.
void add_rounded(const Any& rounded, Subproblem& p) {
  require_tile(rounded, kNoTile);
  require(p.in_double && is<float>(rounded.dtype()),
          "a tile of float64 can have a rounded copy of float32");
  const int64_t rows = p.dual.rows;
  require(int64_t(rounded.shape(0)) >= rows && int64_t(rounded.shape(1)) >= rows,
          "the rounded tile is smaller than the number of rows");
  p.rounded = static_cast<const float*>(rounded.data());
  p.rounded_ld = rounded.stride(0);
}

// Calls work without the interpreter lock, and poll from time to time with it. An exception that
// poll raises reaches the caller when the point is in order again.
template <class Task, class Work>
auto polled(Task& p, const Poll& poll, Work&& work) {
  std::optional<nb::python_error> raised;
  if (poll)
    p.stop = [&] {
      nb::gil_scoped_acquire acquire;
      try {
        (*poll)();
      } catch (nb::python_error& error) {
        raised.emplace(std::move(error));
      }
      return raised.has_value();
    };
  auto result = [&] {
    nb::gil_scoped_release release;
    return work(p);
  }();
  if (raised) throw std::move(*raised);
  return result;
}

nb::tuple pair_steps(Any tile, const HeldVariables& variables, Array2<double> beta,
                     Array1<double> score, double tol, int64_t max_steps, int64_t block,
                     int threads, int64_t direct_steps, Scratch scratch, Poll poll,
                     Rounded rounded) {
  require(block >= 1, "block must be at least 1");
  Subproblem p = subproblem(tile, variables, beta, score, threads, scratch);
  p.tol = tol;
  p.max_steps = max_steps;
  p.block = block;
  p.direct_steps = direct_steps;
  if (rounded) add_rounded(*rounded, p);
  const SubproblemReport report = polled(p, poll, functions().solve);
  return nb::make_tuple(report.violation, report.steps);
}

bool newton_steps_on(Any tile, const HeldVariables& variables, Array2<double> beta,
                     Array1<double> score, int threads, Scratch scratch, Poll poll) {
  Subproblem p = subproblem(tile, variables, beta, score, threads, scratch);
  return polled(p, poll, newton_steps);
}

nb::tuple solve_small_of(const Kernel& kernel, const HeldRows& rows, Index index,
                         const HeldVariables& variables, Array2<double> beta, Array1<double> score,
                         Index end, Index max_steps, double tol, int threads) {
  require_threads(threads);
  const size_t problems = end.shape(0), groups = size_t(variables.view.groups);
  require(int64_t(index.shape(0)) == variables.view.rows, "one index per row is needed");
  require_ends(end, variables.view.rows);
  require(max_steps.shape(0) == problems, "one limit per problem is needed");
  variables.require_point(beta, score);
  SmallTask task;
  task.kernel = kernel;
  task.rows = &rows.view;
  task.problems = int64_t(problems);
  task.end = end.data();
  task.max_steps = max_steps.data();
  task.index = rows.list(index).index;
  task.dual = variables.view;
  task.beta = beta.data();
  task.score = score.data();
  task.tol = tol;
  task.threads = threads;
  std::vector<SmallReport> report(problems);
  std::vector<double> bias(problems * groups), lines;
  {
    nb::gil_scoped_release release;
    solve_small(task, report.data(), bias.data());
  }
  for (const SmallReport& r : report)
    for (double value : {r.violation, double(r.steps), double(r.support), double(r.free), r.linear,
                         r.norm, r.loss, double(r.values)})
      lines.push_back(value);
  return nb::make_tuple(give_matrix(std::move(lines), 8), give_matrix(std::move(bias), groups));
}

// Sets: beta, score, and figures and biases of the problems that were solved.
int64_t solve_chain_on(Any tile, const HeldVariables& variables, Array2<const double> total,
                       Array1<const double> scale, Array1<const double> tol, Array2<double> beta,
                       Array2<double> score, Array2<double> figures, Array2<double> bias,
                       Poll poll) {
  const Variables& all = variables.view;
  const size_t problems = scale.shape(0), groups = size_t(all.groups);
  require_tile(tile, kNoTile);
  require(is<double>(tile.dtype()), "the tile must be float64");
  require(problems > 0 && all.rows == all.stride && all.rows % int64_t(problems) == 0,
          "every problem needs the same number of rows");
  const int64_t rows = all.rows / int64_t(problems);
  require(rows > 0 && int64_t(tile.shape(0)) >= rows && int64_t(tile.shape(1)) >= rows,
          "the tile is smaller than the number of rows");
  require(total.shape(0) == problems && total.shape(1) == groups && tol.shape(0) == problems &&
              bias.shape(0) == problems && bias.shape(1) == groups &&
              figures.shape(0) == problems && figures.shape(1) == 4,
          "one value per problem is needed");
  require(beta.shape(0) == size_t(all.layers) && int64_t(beta.shape(1)) == all.stride &&
              score.shape(0) == problems && int64_t(score.shape(1)) == rows,
          "beta and score must have a value for each variable and row");
  ChainTask task;
  task.tile = static_cast<const double*>(tile.data());
  task.ld = tile.stride(0);
  task.problems = int64_t(problems);
  task.dual = all.part(0, rows);
  task.total = total.data();
  task.scale = scale.data();
  task.tol = tol.data();
  task.beta = beta.data();
  task.score = score.data();
  return polled(task, poll, [&](const ChainTask& chain) {
    std::vector<ChainReport> report(problems);
    const int64_t done = solve_chain(chain, report.data(), bias.data());
    for (int64_t k = 0; k < done; ++k) {
      double* line = figures.data() + 4 * k;
      line[0] = report[k].violation;
      line[1] = double(report[k].steps);
      line[2] = report[k].norm;
      line[3] = report[k].seconds;
    }
    return done;
  });
}

// Returns the scores of the rows that are tested, and a line of figures for each problem.
nb::tuple hold_out_of(const Kernel& kernel, const HeldRows& rows, Index index,
                      const HeldVariables& variables, Array2<const double> beta, Index end,
                      Array2<const uint8_t> role, double tol, double near, bool in_double,
                      int64_t most_near, int threads, Poll poll) {
  require_threads(threads);
  const Variables& all = variables.view;
  const size_t problems = end.shape(0), size = size_t(all.rows);
  require(all.layers == 1 && all.groups == 1, "a row must have one variable, in one group");
  require(index.shape(0) == size, "one index per row is needed");
  require_ends(end, all.rows);
  require(beta.shape(0) == 1 && beta.shape(1) == size, "one coefficient per row is needed");
  require(int64_t(role.shape(1)) == rows.view.n, "one role per row and fold is needed");
  std::vector<double> score(size, std::numeric_limits<double>::quiet_NaN()), lines;
  std::vector<HeldOutReport> report(problems);
  HeldOutTask task;
  task.kernel = kernel;
  task.rows = &rows.view;
  task.problems = int64_t(problems);
  task.end = end.data();
  task.index = rows.list(index).index;
  task.dual = all;
  task.beta = beta.data();
  task.folds = int64_t(role.shape(0));
  task.role = role.data();
  task.tol = tol;
  task.near = near;
  task.in_double = in_double;
  task.most_near = most_near;
  task.threads = threads;
  task.score = score.data();
  polled(task, poll, [&](const HeldOutTask& t) { return hold_out(t, report.data()); });
  for (const HeldOutReport& r : report)
    for (double value : {r.violation, double(r.steps), double(r.near), double(r.values)})
      lines.push_back(value);
  return nb::make_tuple(give(std::move(score)), give_matrix(std::move(lines), 4));
}

Tilt tilt_of(Array1<const double> log, Array1<const double> margin) {
  require(log.shape(0) == margin.shape(0) && log.shape(0) > 0,
          "one margin per logarithm is needed");
  return {int64_t(log.shape(0)), log.data(), margin.data()};
}

double eta_of_edge(Array1<const double> log, Array1<const double> margin, double edge,
                   double start) {
  const Tilt t = tilt_of(log, margin);
  nb::gil_scoped_release release;
  return functions().find_eta(t, edge, start);
}

// Sets: new_log, weight.
double tilt_by(Array1<const double> log, Array1<const double> margin, double eta,
               Array1<double> new_log, Array1<double> weight) {
  const Tilt t = tilt_of(log, margin);
  require(int64_t(new_log.shape(0)) == t.size && int64_t(weight.shape(0)) == t.size,
          "one result per row is needed");
  nb::gil_scoped_release release;
  return functions().tilt(t, eta, new_log.data(), weight.data());
}

}  // namespace

void bind_solve(nb::module_& m) {
  m.def("solve", &pair_steps, "tile"_a.noconvert(), "variables"_a, "beta"_a.noconvert(),
        "score"_a.noconvert(), "tol"_a, "max_steps"_a, "block"_a, "threads"_a, "direct_steps"_a = 0,
        "scratch"_a.noconvert() = nb::none(), "poll"_a = nb::none(),
        "rounded"_a.noconvert() = nb::none());
  m.def("newton_steps", &newton_steps_on, "tile"_a.noconvert(), "variables"_a, "beta"_a.noconvert(),
        "score"_a.noconvert(), "threads"_a, "scratch"_a.noconvert() = nb::none(),
        "poll"_a = nb::none());
  m.def("solve_small", &solve_small_of, "kernel"_a, "rows"_a, "index"_a.noconvert(), "variables"_a,
        "beta"_a.noconvert(), "score"_a.noconvert(), "end"_a.noconvert(), "max_steps"_a.noconvert(),
        "tol"_a, "threads"_a);
  m.def("solve_chain", &solve_chain_on, "tile"_a.noconvert(), "variables"_a, "total"_a.noconvert(),
        "scale"_a.noconvert(), "tol"_a.noconvert(), "beta"_a.noconvert(), "score"_a.noconvert(),
        "figures"_a.noconvert(), "bias"_a.noconvert(), "poll"_a = nb::none());
  m.def("hold_out", &hold_out_of, "kernel"_a, "rows"_a, "index"_a.noconvert(), "variables"_a,
        "beta"_a.noconvert(), "end"_a.noconvert(), "role"_a.noconvert(), "tol"_a, "near"_a,
        "in_double"_a, "most_near"_a, "threads"_a, "poll"_a = nb::none());
  m.def("find_eta", &eta_of_edge, "log"_a.noconvert(), "margin"_a.noconvert(), "edge"_a, "start"_a);
  m.def("tilt", &tilt_by, "log"_a.noconvert(), "margin"_a.noconvert(), "eta"_a,
        "new_log"_a.noconvert(), "weight"_a.noconvert());
}

}  // namespace widestreet
