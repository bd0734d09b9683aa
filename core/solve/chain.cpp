#include "solve/chain.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "dispatch.hpp"
#include "solve/examine.hpp"

namespace widestreet {
namespace {

constexpr double kBlock = 0.74;   // of the rows: larger blocks of pair steps are not copied
constexpr int64_t kRoundTo = 32;  // rows by which a block may be longer
constexpr double kDirect = 0.5;   // pair steps per row before the first block
constexpr double kMany = 0.4;     // of the rows: if fewer take part, a block is copied at once
constexpr double kNear = 0.25;    // of tol: variables at a bound take part if they violate by more
constexpr double kStepCost = 35;  // of a pair step per row, in flops of a factorisation
constexpr int64_t kMostSteps = 400;   // pair steps per row: tol may be below the rounding of scores
constexpr double kFactor = 2;         // pair steps may cost so many times a Newton step
constexpr int64_t kLeastOrder = 300;  // variables of Newton steps
constexpr int64_t kMostOrder = 4000;
constexpr double kSnap = 1e-12;         // of the width of a box: what is nearer is put at a bound
constexpr double kSumRounding = 1e-12;  // of the sum of all coefficients

// One problem of a chain.
struct Link {
  const ChainTask& task;
  Variables dual;
  const double* total;
  double scale, tol;
  double* beta;
  double* score;

  Link(const ChainTask& task, int64_t p)
      : task(task),
        dual(task.dual.part(p * task.dual.rows, task.dual.rows)),
        total(task.total + p * task.dual.groups),
        scale(task.scale[p]),
        tol(task.tol[p]),
        beta(task.beta + p * task.dual.rows),
        score(task.score + p * task.dual.rows) {}
  double coef(int64_t row) const {
    double sum = 0;
    for (int layer = 0; layer < dual.layers; ++layer) sum += beta[dual.at(layer, row)];
    return sum;
  }
  double norm() const {
    double sum = 0;
    for (int64_t r = 0; r < dual.rows; ++r) sum += coef(r) * score[r];
    return sum;
  }
};

// Sets: the score, by the changes of the coefficients of all variables.
void add_change(const Link& link, const std::vector<double>& change) {
  std::vector<int64_t> slot;
  std::vector<double> by;
  for (int64_t r = 0; r < link.dual.rows; ++r) {
    double sum = 0;
    for (int layer = 0; layer < link.dual.layers; ++layer) sum += change[link.dual.at(layer, r)];
    if (sum == 0) continue;
    slot.push_back(r);
    by.push_back(sum);
  }
  functions().add_scores({link.dual.rows, true, link.task.tile, link.task.ld, slot.data(),
                          by.data(), int64_t(slot.size()), link.score, 1});
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + int64_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

// Moves the variables nearest to the margin until the sum of a group is right. Sets: beta, score.
void balance(const Link& link, int g) {
  const Variables& dual = link.dual;
  std::vector<int64_t> mine;
  std::vector<double> free, all;
  double sum = 0, size = 0;
  dual.each([&](int64_t v, int64_t r) {
    if (dual.group[v] != g) return;
    const double f = dual.target[v] - link.score[r], beta = link.beta[v];
    sum += beta;
    size += std::abs(beta);
    mine.push_back(v);
    all.push_back(f);
    if (dual.lower[v] < beta && beta < dual.upper[v]) free.push_back(f);
  });
  double missing = link.total[g] - sum;
  if (std::abs(missing) <= kSumRounding * std::max(std::abs(link.total[g]), size)) return;
  const double middle = median(free.empty() ? all : free);
  std::vector<int64_t> order(mine.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::abs(all[a] - middle) < std::abs(all[b] - middle);
  });
  std::vector<double> change(size_t(dual.layers * dual.stride), 0.0);
  for (int64_t i : order) {
    const int64_t v = mine[i];
    const double room = missing > 0 ? dual.upper[v] - link.beta[v] : dual.lower[v] - link.beta[v];
    const double step = std::abs(room) < std::abs(missing) ? room : missing;
    change[v] = step;
    link.beta[v] = std::clamp(link.beta[v] + step, dual.lower[v], dual.upper[v]);
    missing -= step;
    if (missing == 0) break;
  }
  add_change(link, change);
}

// Sets: the coefficients and scores at which a problem starts: those of the one before times the
// factor with the best objective, within the boxes, with the right sums.
void start(const Link& before, const Link& link) {
  const Variables& dual = link.dual;
  const double ratio = link.scale / before.scale, norm = before.norm();
  double linear = 0;
  dual.each([&](int64_t v, int64_t) { linear += dual.target[v] * before.beta[v]; });
  const double s =
      std::clamp(norm > 0 ? linear / norm : ratio, std::min(1.0, ratio), std::max(1.0, ratio));
  for (int64_t r = 0; r < dual.rows; ++r) link.score[r] = s * before.score[r];
  std::vector<double> change(size_t(dual.layers * dual.stride), 0.0);
  dual.each([&](int64_t v, int64_t) {
    const double moved = s * before.beta[v], snap = kSnap * (dual.upper[v] - dual.lower[v]);
    double beta = dual.upper[v] - moved <= snap ? dual.upper[v] : moved;
    if (beta - dual.lower[v] <= snap) beta = dual.lower[v];
    link.beta[v] = beta;
    change[v] = beta - moved;
  });
  add_change(link, change);
  for (int g = 0; g < dual.groups; ++g) balance(link, g);
}

// The number of variables that are free or violate.
int64_t taking_part(const Link& link) {
  const Variables& dual = link.dual;
  int64_t count = 0;
  for (int g = 0; g < dual.groups; ++g) {
    double high = -HUGE_VAL, low = HUGE_VAL;
    auto each = [&](auto&& f) {
      dual.each([&](int64_t v, int64_t r) {
        if (dual.group[v] == g)
          f(dual.target[v] - link.score[r],
            link.beta[v]<dual.upper[v], link.beta[v]> dual.lower[v]);
      });
    };
    each([&](double f, bool grow, bool shrink) {
      if (grow) high = std::max(high, f);
      if (shrink) low = std::min(low, f);
    });
    if (!std::isfinite(high - low)) continue;
    const double middle = 0.5 * (high + low), near = kNear * link.tol;
    each([&](double f, bool grow, bool shrink) {
      count += (grow && shrink) || (grow && f - middle > near) || (shrink && f - middle < -near);
    });
  }
  return count;
}

int64_t block_of(int64_t rows) {
  return std::max<int64_t>(1, int64_t(kBlock * double(rows)));
}

// Takes pair steps. Sets: beta, score, report, bias. Returns whether it was stopped.
bool solve_link(const Link& link, void* scratch, int64_t bytes, ChainReport& report, double* bias) {
  const int64_t rows = link.dual.rows, order = taking_part(link);
  Subproblem p;
  p.dual = link.dual;
  p.in_double = true;
  p.tile = link.task.tile;
  p.ld = link.task.ld;
  p.beta = link.beta;
  p.score = link.score;
  p.tol = link.tol;
  p.max_steps = std::min(steps_before_newton(order), kMostSteps * rows);
  p.direct_steps = double(order) > kMany * double(rows) ? int64_t(kDirect * double(rows)) : 0;
  p.block = block_of(rows);
  p.stop = link.task.stop;
  p.scratch = scratch;
  p.scratch_bytes = bytes;
  const SubproblemReport done = functions().solve(p);
  report.steps = done.steps;
  Examination found;
  examine({1, &rows, link.dual, link.total, link.beta, link.score}, &found, bias);
  report.violation = found.violation;
  report.norm = link.norm();
  return done.stopped;
}

}  // namespace

int64_t steps_before_newton(int64_t variables) {
  if (variables <= kLeastOrder || variables > kMostOrder) return int64_t(1) << 40;
  return int64_t(kFactor * double(variables) * double(variables) / 3 / kStepCost);
}

int64_t solve_chain(const ChainTask& task, ChainReport* report, double* bias) {
  const int64_t side = block_of(task.dual.rows) + kRoundTo, bytes = 8 * side * side;
  std::unique_ptr<char[]> scratch(new char[size_t(bytes)]);
  for (int64_t p = 0; p < task.problems; ++p) {
    const auto begun = std::chrono::steady_clock::now();
    const Link link(task, p);
    if (p > 0) start(Link(task, p - 1), link);
    const bool stopped =
        solve_link(link, scratch.get(), bytes, report[p], bias + p * task.dual.groups);
    report[p].seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    if (stopped) return p;
    if (!(report[p].violation <= link.tol)) return p + 1;
  }
  return task.problems;
}

}  // namespace widestreet
