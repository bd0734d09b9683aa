// Pair steps and Newton steps on a tile, and small problems from their rows on.
#include "bindings/arrays.hpp"
#include "dispatch.hpp"
#include "solve/newton.hpp"
#include "solve/small.hpp"

namespace widestreet {
namespace {

using Scratch = std::optional<Array1<uint8_t>>;
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

// Calls work without the interpreter lock, and poll from time to time with it. An exception that
// poll raises reaches the caller when the point is in order again.
template <class Work>
auto polled(Subproblem& p, const Poll& poll, Work&& work) {
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
                     int threads, int64_t direct_steps, Scratch scratch, Poll poll) {
  require(block >= 1, "block must be at least 1");
  Subproblem p = subproblem(tile, variables, beta, score, threads, scratch);
  p.tol = tol;
  p.max_steps = max_steps;
  p.block = block;
  p.direct_steps = direct_steps;
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

}  // namespace

void bind_solve(nb::module_& m) {
  m.def("solve", &pair_steps, "tile"_a.noconvert(), "variables"_a, "beta"_a.noconvert(),
        "score"_a.noconvert(), "tol"_a, "max_steps"_a, "block"_a, "threads"_a, "direct_steps"_a = 0,
        "scratch"_a.noconvert() = nb::none(), "poll"_a = nb::none());
  m.def("newton_steps", &newton_steps_on, "tile"_a.noconvert(), "variables"_a, "beta"_a.noconvert(),
        "score"_a.noconvert(), "threads"_a, "scratch"_a.noconvert() = nb::none(),
        "poll"_a = nb::none());
  m.def("solve_small", &solve_small_of, "kernel"_a, "rows"_a, "index"_a.noconvert(), "variables"_a,
        "beta"_a.noconvert(), "score"_a.noconvert(), "end"_a.noconvert(), "max_steps"_a.noconvert(),
        "tol"_a, "threads"_a);
}

}  // namespace widestreet
