#include "solve/small.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "dispatch.hpp"
#include "parallel.hpp"
#include "solve/newton.hpp"

namespace widestreet {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kStrip = 96;   // rows computed at a time, up to the diagonal
constexpr int64_t kSquare = 32;  // side of the squares that are mirrored at a time
constexpr int64_t kRoundTo = 16;
constexpr int64_t kLeastPortion = 1000;  // pair steps before Newton steps
constexpr int64_t kPatience = 4;         // times as many after Newton steps that were cut

int64_t rounded(int64_t rows) {
  return (rows + kRoundTo - 1) / kRoundTo * kRoundTo;
}

// The variables of one problem, as they lie in the arrays of the task.
struct Part {
  const WholeTask& task;
  int64_t begin;
  int64_t rows;

  Part(const WholeTask& task, int64_t p)
      : task(task), begin(p ? task.end[p - 1] : 0), rows(task.end[p] - begin) {}
  double coef(int64_t row) const {
    double sum = 0;
    for (int layer = 0; layer < task.layers; ++layer)
      sum += task.beta[layer * task.layer_stride + begin + row];
    return sum;
  }
  // Calls f(v, row) for every variable.
  template <class F>
  void each(F&& f) const {
    for (int layer = 0; layer < task.layers; ++layer)
      for (int64_t r = 0; r < rows; ++r) f(layer * task.layer_stride + begin + r, r);
  }
};

// Sets: the tile, of which little more than half is computed. Returns the number of values.
int64_t fill(const Part& part, double* tile, int64_t ld, int threads) {
  const int64_t* place = part.task.place + part.begin;
  if (part.rows * part.rows <= kWorthSharing) threads = 1;
  for_ranges(part.rows, kStrip, threads, [&](int64_t a, int64_t b) {
    TileTask strip;
    strip.kernel = part.task.kernel;
    strip.left = {part.task.rows, place + a, b - a};
    strip.right = {part.task.rows, place, b};
    strip.out = tile + a * ld;
    strip.ld = ld;
    functions().tile(strip);
  });
  for_ranges(part.rows, kSquare, threads, [&](int64_t a, int64_t end) {
    for (int64_t b = 0; b <= a; b += kSquare)
      for (int64_t r = a; r < end; ++r)
        for (int64_t q = b; q < std::min(b + kSquare, r); ++q) tile[q * ld + r] = tile[r * ld + q];
  });
  int64_t values = 0;
  for (int64_t a = 0; a < part.rows; a += kStrip) {
    const int64_t b = std::min(a + kStrip, part.rows);
    values += (b - a) * b;
  }
  return values;
}

// Sets: the scores of the point to begin at.
void score_start(const Part& part, const double* tile, int64_t ld) {
  double* score = part.task.score + part.begin;
  std::fill(score, score + part.rows, 0.0);
  for (int64_t j = 0; j < part.rows; ++j) {
    const double c = part.coef(j);
    if (c == 0) continue;
    for (int64_t r = 0; r < part.rows; ++r) score[r] += c * tile[j * ld + r];
  }
}

Subproblem subproblem(const Part& part, const double* tile, int64_t ld, int threads) {
  const WholeTask& task = part.task;
  Subproblem p;
  p.rows = part.rows;
  p.layers = task.layers;
  p.groups = task.groups;
  p.in_double = true;
  p.tile = tile;
  p.ld = ld;
  p.layer_stride = task.layer_stride;
  p.target = task.target + part.begin;
  p.lower = task.lower + part.begin;
  p.upper = task.upper + part.begin;
  p.group = task.group + part.begin;
  p.beta = task.beta + part.begin;
  p.score = task.score + part.begin;
  p.tol = task.tol;
  p.block = part.rows;
  p.threads = threads;
  return p;
}

// The middle of each group's interval; its one end, or zero, where it is open. Sets: bias.
// Returns the violation.
double find_biases(const Part& part, double* bias) {
  const WholeTask& task = part.task;
  double violation = 0;
  for (int g = 0; g < task.groups; ++g) {
    double high = -kInf, low = kInf;
    part.each([&](int64_t v, int64_t r) {
      if (task.group[v] != g) return;
      const double f = task.target[v] - task.score[part.begin + r];
      if (task.beta[v] < task.upper[v]) high = std::max(high, f);
      if (task.beta[v] > task.lower[v]) low = std::min(low, f);
    });
    violation = std::max(violation, high - low);
    if (high == -kInf) high = low;
    if (low == kInf) low = high;
    bias[g] = high == -kInf || high == kInf ? 0.0 : 0.5 * (high + low);
  }
  return violation;
}

// Pair steps, each time followed by Newton steps, which help where pair steps creep and leave the
// free variables exact where they have converged. Sets: beta, score, bias and the report.
void solve_part(Subproblem p, const Part& part, int64_t max_steps, double* bias,
                WholeReport& report) {
  int64_t portion = std::max(kLeastPortion, p.rows);
  while (true) {
    p.max_steps = std::min(portion, max_steps - report.steps);
    const SubproblemReport done = functions().solve(p);
    report.steps += done.steps;
    const bool spent = done.violation > p.tol && report.steps >= max_steps;
    if (!spent && !polish(p)) portion *= kPatience;
    report.violation = find_biases(part, bias);
    if (!(report.violation > p.tol) || spent || done.steps == 0) return;
  }
}

// Sets: what the report says of the point reached.
void describe(const Part& part, const double* bias, WholeReport& report) {
  const WholeTask& task = part.task;
  part.each([&](int64_t v, int64_t r) {
    const double beta = task.beta[v];
    const double excess = task.target[v] - task.score[part.begin + r] - bias[task.group[v]];
    report.free += task.lower[v] < beta && beta < task.upper[v];
    report.linear += task.target[v] * beta;
    report.loss += std::max(task.upper[v] * excess, task.lower[v] * excess);
  });
  for (int64_t r = 0; r < part.rows; ++r) {
    const double c = part.coef(r);
    report.support += c != 0;
    report.norm += c * task.score[part.begin + r];
  }
}

}  // namespace

void solve_whole(const WholeTask& task, WholeReport* report, double* bias) {
  int64_t most = 0;
  for (int64_t p = 0; p < task.problems; ++p) most = std::max(most, Part(task, p).rows);
  const int64_t ld = rounded(most);
  const int inner = task.problems == 1 ? task.threads : 1;
  auto body = [&](Tasks& tasks) {
    std::unique_ptr<double[]> tile(new double[size_t(ld * most)]);
    for (int64_t p; tasks.draw(p);) {
      const Part part(task, p);
      const int64_t mine = rounded(part.rows);  // so that a small tile stays in the cache
      report[p] = WholeReport();
      report[p].values = fill(part, tile.get(), mine, inner);
      score_start(part, tile.get(), mine);
      solve_part(subproblem(part, tile.get(), mine, inner), part, task.max_steps[p],
                 bias + p * task.groups, report[p]);
      describe(part, bias + p * task.groups, report[p]);
    }
  };
  share(task.problems, std::max(1, int(std::min<int64_t>(task.threads, task.problems))), body);
}

}  // namespace widestreet
