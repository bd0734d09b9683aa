#include "solve/small.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "dispatch.hpp"
#include "parallel.hpp"
#include "solve/newton.hpp"
#include "solve/symmetric_tile.hpp"

namespace widestreet {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kRoundTo = 16;
constexpr int64_t kLeastPortion = 1000;  // pair steps before Newton steps
constexpr int64_t kPatience = 4;         // times as many after Newton steps that were cut
constexpr int64_t kMostFree = 512;       // variables that Newton steps may have

int64_t rounded(int64_t rows) {
  return (rows + kRoundTo - 1) / kRoundTo * kRoundTo;
}

// One problem of a task.
struct Part {
  const SmallTask& task;
  int64_t begin, rows;
  Variables dual;
  double* beta;
  double* score;

  Part(const SmallTask& task, int64_t p)
      : task(task),
        begin(p ? task.end[p - 1] : 0),
        rows(task.end[p] - begin),
        dual(task.dual.part(begin, rows)),
        beta(task.beta + begin),
        score(task.score + begin) {}
  double coef(int64_t row) const {
    double sum = 0;
    for (int layer = 0; layer < dual.layers; ++layer) sum += beta[dual.at(layer, row)];
    return sum;
  }
};

// Sets: the scores of the point to begin at.
void score_start(const Part& part, const double* tile, int64_t ld) {
  std::fill(part.score, part.score + part.rows, 0.0);
  for (int64_t j = 0; j < part.rows; ++j) {
    const double c = part.coef(j);
    if (c == 0) continue;
    for (int64_t r = 0; r < part.rows; ++r) part.score[r] += c * tile[j * ld + r];
  }
}

Subproblem subproblem(const Part& part, const double* tile, int64_t ld, int threads) {
  Subproblem p;
  p.dual = part.dual;
  p.in_double = true;
  p.tile = tile;
  p.ld = ld;
  p.beta = part.beta;
  p.score = part.score;
  p.tol = part.task.tol;
  p.block = part.rows;
  p.threads = threads;
  return p;
}

// Sets: bias to the middle of each group's interval; to its one finite end, or zero, where it is
// unbounded. Returns the violation.
double find_biases(const Part& part, double* bias) {
  const Variables& dual = part.dual;
  double violation = 0;
  for (int g = 0; g < dual.groups; ++g) {
    double high = -kInf, low = kInf;
    dual.each([&](int64_t v, int64_t r) {
      if (dual.group[v] != g) return;
      const double f = dual.target[v] - part.score[r];
      if (part.beta[v] < dual.upper[v]) high = std::max(high, f);
      if (part.beta[v] > dual.lower[v]) low = std::min(low, f);
    });
    violation = std::max(violation, high - low);
    if (high == -kInf) high = low;
    if (low == kInf) low = high;
    bias[g] = high == -kInf || high == kInf ? 0.0 : 0.5 * (high + low);
  }
  return violation;
}

// Alternates pair steps and Newton steps, which help where pair steps converge slowly and leave the
// free variables exact where they have converged. Sets: beta, score, bias and the report.
void solve_part(Subproblem p, const Part& part, int64_t max_steps, double* bias,
                SmallReport& report) {
  int64_t portion = std::max(kLeastPortion, part.rows);
  while (true) {
    p.max_steps = std::min(portion, max_steps - report.steps);
    const SubproblemReport done = functions().solve(p);
    report.steps += done.steps;
    const bool spent = done.violation > p.tol && report.steps >= max_steps;
    const bool settled = !spent && count_free(p) <= kMostFree && newton_steps(p);
    if (!spent && !settled) portion *= kPatience;
    report.violation = find_biases(part, bias);
    if (!(report.violation > p.tol) || spent || done.steps == 0) return;
  }
}

// Sets: the figures of the point reached in the report.
void describe(const Part& part, const double* bias, SmallReport& report) {
  const Variables& dual = part.dual;
  dual.each([&](int64_t v, int64_t r) {
    const double beta = part.beta[v];
    const double excess = dual.target[v] - part.score[r] - bias[dual.group[v]];
    report.free += dual.lower[v] < beta && beta < dual.upper[v];
    report.linear += dual.target[v] * beta;
    report.loss += std::max(dual.upper[v] * excess, dual.lower[v] * excess);
  });
  for (int64_t r = 0; r < part.rows; ++r) {
    const double c = part.coef(r);
    report.support += c != 0;
    report.norm += c * part.score[r];
  }
}

}  // namespace

void solve_small(const SmallTask& task, SmallReport* report, double* bias) {
  int64_t most = 0;
  for (int64_t p = 0; p < task.problems; ++p) most = std::max(most, Part(task, p).rows);
  const int64_t ld = rounded(most);
  const int inner = task.problems == 1 ? task.threads : 1;
  auto body = [&](Tasks& tasks) {
    std::unique_ptr<double[]> tile(new double[size_t(ld * most)]);
    for (int64_t p; tasks.draw(p);) {
      const Part part(task, p);
      const int64_t mine = rounded(part.rows);  // so that a small tile stays in the cache
      report[p] = SmallReport();
      report[p].values = fill_symmetric(task.kernel, *task.rows, task.index + part.begin, 0,
                                        part.rows, tile.get(), mine, inner);
      score_start(part, tile.get(), mine);
      double* biases = bias + p * task.dual.groups;
      solve_part(subproblem(part, tile.get(), mine, inner), part, task.max_steps[p], biases,
                 report[p]);
      describe(part, biases, report[p]);
    }
  };
  share(task.problems, std::max(1, int(std::min<int64_t>(task.threads, task.problems))), body);
}

}  // namespace widestreet
