// Two levels below the working set: blocks of rows, and pairs of variables within a block.
//
//   repeat   1) violation per group over the working set; stop at tol
//            2) block = the rows that violate most, then free ones: all of them if they fit.
//               While these are more than half of the set, the whole set, without a copy
//            3) copy the block's tile; pair steps inside it (Block::run), in float where that
//               is fine enough
//            4) scores of the whole working set += K[:, changed] * change      (parallel)
//            5) if rounding made the objective fall, take it back and go on in double
#include "solve/smo_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <type_traits>
#include <vector>

#include "parallel.hpp"
#include "solve/cached_block.hpp"
#include "solve/disjoint_parts.hpp"
#include "solve/second_order_pairs.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {
namespace {

constexpr double kLooser = 0.1;          // a block that is not the whole set is solved to this part
constexpr double kLooserRounded = 0.03;  // the same, for a block whose tile is rounded
constexpr double kLoosest = 0.001;       // the whole set to this part, or to its tolerance
constexpr int64_t kStepsPerRow = 100;    // of a block, before another is chosen
constexpr int64_t kLeastBlock = 512;
constexpr int64_t kCopiedConjugate = 4096;  // lines of a copied block for conjugate directions
constexpr double kSpare = 1.125;            // rows of a block per row that violates or is free
constexpr double kSpareRounded = 1.4;       // the same, for a block whose tile is rounded
constexpr double kNearlyAll = 0.75;         // of the rows: blocks of this size are not cut
constexpr double kWorthCopy = 0.5;          // of the rows: a larger block is not worth a copy
constexpr double kWorthSharedCopy = 0.75;   // the same, where many threads share the copying
constexpr int kThreadsOfCopy = 8;
constexpr double kLooserPart = 0.03;  // disjoint parts of the set are solved to this part
constexpr int kThreadsOfParts = 4;    // from which they pay
constexpr int64_t kLeastStrip = 256, kMostStrip = 1024;  // rows whose scores are updated together
constexpr double kFloatNoise = 1e-6;  // of a box times a kernel value: the resolution of a float F

// The violation of every group; and that of every row, against the middle of its group's interval,
// by variables that may grow and by those that may shrink: positive for violators, the distance
// from optimality for free variables, negative for variables that are rightly at a bound.
struct Violations {
  double violation = 0;
  std::vector<double> middle;  // of each group's interval
  std::vector<double> by_growing, by_shrinking;
  std::vector<int64_t> extremes;  // rows that set the violation of each group
};

Violations find_violations(const Subproblem& p) {
  std::vector<double> high(p.dual.groups, -kInf), low(p.dual.groups, kInf);
  std::vector<int64_t> highest(p.dual.groups, 0), lowest(p.dual.groups, 0);
  auto each = [&](auto&& f) {
    p.dual.each([&](int64_t v, int64_t r) {
      const bool may_grow = p.beta[v]<p.dual.upper[v], may_shrink = p.beta[v]> p.dual.lower[v];
      f(r, int(p.dual.group[v]), p.dual.target[v] - p.score[r], may_grow, may_shrink);
    });
  };
  each([&](int64_t r, int g, double f, bool up, bool down) {
    if (up && f > high[g]) {
      high[g] = f;
      highest[g] = r;
    }
    if (down && f < low[g]) {
      low[g] = f;
      lowest[g] = r;
    }
  });
  Violations found;
  found.middle.assign(p.dual.groups, 0.0);
  for (int g = 0; g < p.dual.groups; ++g) {
    if (high[g] == -kInf || low[g] == kInf) continue;
    found.violation = std::max(found.violation, high[g] - low[g]);
    found.middle[g] = 0.5 * (high[g] + low[g]);
    found.extremes.push_back(highest[g]);
    found.extremes.push_back(lowest[g]);
  }
  found.by_growing.assign(p.dual.rows, -kInf);
  found.by_shrinking.assign(p.dual.rows, -kInf);
  each([&](int64_t r, int g, double f, bool up, bool down) {
    if (up) found.by_growing[r] = std::max(found.by_growing[r], f - found.middle[g]);
    if (down) found.by_shrinking[r] = std::max(found.by_shrinking[r], found.middle[g] - f);
  });
  return found;
}

// Whether steps on the whole set can use the tile as it is: rows of one layer and several groups
// would have to be ordered by group.
template <class T>
bool steps_in_place(const Subproblem& p) {
  const TileOf<T> K(p);
  return K.values && (p.dual.groups == 1 || p.dual.layers > 1) && K.whole_vectors(p.dual.rows);
}

// Marks the `count` rows with the largest values, the first ones among equals.
void mark_largest(const std::vector<double>& value, int64_t count, std::vector<char>& marked) {
  const int64_t size = int64_t(value.size());
  if (count <= 0) return;
  std::vector<double> order(value);
  const auto last = order.begin() + std::min(count, size) - 1;
  std::nth_element(order.begin(), last, order.end(), std::greater<double>());
  int64_t equal = std::min(count, size);  // of these, so many are to be marked
  for (double v : value) equal -= v > *last;
  for (int64_t r = 0; r < size; ++r)
    if (value[r] > *last || (value[r] == *last && equal-- > 0)) marked[r] = 1;
}

std::vector<int64_t> all_rows(const Subproblem& p) {
  std::vector<int64_t> rows(p.dual.rows);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

// The rows of a block, ascending: those that violate most, some of them by variables that may grow
// and some by variables that may shrink, with the worst pair of every group among them. Little more
// than there are violators and free variables, unless those are few; about `most` at the most. With
// `copied`, a block has to be copied even if it has all rows; `worth` is the part of the rows above
// which a copy does not pay.
std::vector<int64_t> choose_block(const Violations& found, int64_t most, bool copied, bool rounded,
                                  double worth) {
  const int64_t m = int64_t(found.by_growing.size());
  int64_t active = 0;
  for (int64_t r = 0; r < m; ++r) active += found.by_growing[r] > 0 || found.by_shrinking[r] > 0;
  const double spare = rounded ? kSpareRounded : kSpare;
  int64_t size = std::max(int64_t(spare * double(active)), kLeastBlock);
  if (size > most) size = !copied && double(most) >= kNearlyAll * double(m) ? m : most;
  if (!copied && double(size) > worth * double(m)) size = m;
  std::vector<char> marked(m, size >= m);
  if (size < m) {
    std::vector<double> larger_of(m);
    for (int64_t r = 0; r < m; ++r)
      larger_of[r] = std::max(found.by_growing[r], found.by_shrinking[r]);
    mark_largest(larger_of, size - 2 * (size / 8), marked);
    mark_largest(found.by_growing, size / 8, marked);
    mark_largest(found.by_shrinking, size / 8, marked);
    for (int64_t r : found.extremes) marked[r] = 1;
  }
  std::vector<int64_t> rows;
  for (int64_t r = 0; r < m; ++r)
    if (marked[r]) rows.push_back(r);
  return rows;
}

// sum += the columns of four rows of the tile times their changes. Those of the next four are asked
// for, if they are float: a strip of them is one page, which ends before the processor fetches ahead.
template <class T>
void add_four(const T* const (&k)[4], const T* const (&next)[4], const double* change, int64_t size,
              double* __restrict sum) {
  constexpr bool asks = std::is_same_v<T, float>;
  constexpr int64_t kPiece = asks ? 64 : kMostStrip, kLine = 64 / sizeof(T);
  const double x0 = change[0], x1 = change[1], x2 = change[2], x3 = change[3];
  const T *k0 = k[0], *k1 = k[1], *k2 = k[2], *k3 = k[3];
  for (int64_t begin = 0; begin < size; begin += kPiece) {
    const int64_t end = std::min(begin + kPiece, size);
    for (int x = 0; asks && x < 4; ++x)
      for (int64_t t = begin; t < end; t += kLine) __builtin_prefetch(next[x] + t);
    for (int64_t t = begin; t < end; ++t)
      sum[t] +=
          (x0 * double(k0[t]) + x1 * double(k1[t])) + (x2 * double(k2[t]) + x3 * double(k3[t]));
  }
}

// Sets: score.
template <class T>
void update_scores(const ScoreTask& task) {
  const T* K = static_cast<const T*>(task.tile);
  const int threads = task.count * task.rows > kWorthSharing ? task.threads : 1;
  // A strip for each thread, but short enough for the cache and long enough for memory.
  const int64_t strip = std::clamp(task.rows / threads / kLanes * kLanes, kLeastStrip, kMostStrip);
  for_ranges(task.rows, strip, threads, [&](int64_t begin, int64_t end) {
    const int64_t size = end - begin;
    double sum[kMostStrip] = {};
    const auto row = [&](int64_t c) {
      return K + task.slot[std::min(c, task.count - 1)] * task.ld + begin;
    };
    int64_t c = 0;
    for (; c + 4 <= task.count; c += 4)  // four columns at a time hide the latency of memory
      add_four<T>({row(c), row(c + 1), row(c + 2), row(c + 3)},
                  {row(c + 4), row(c + 5), row(c + 6), row(c + 7)}, task.change + c, size, sum);
    for (; c < task.count; ++c) {
      const T* k = row(c);
      const double x = task.change[c];
      for (int64_t t = 0; t < size; ++t) sum[t] += x * double(k[t]);
    }
    for (int64_t t = 0; t < size; ++t) task.score[begin + t] += sum[t];
  });
}

// Pair steps among all rows at once, without a copy of the tile.
template <class T>
SubproblemReport solve_directly(const Subproblem& p) {
  Block<T, double> block(p);
  block.load_all(std::vector<double>(p.dual.groups, 0.0));
  int64_t since_poll = 0;
  SubproblemReport report = block.run(p.tol, p.max_steps, since_poll);
  std::vector<int64_t> changed;
  std::vector<double> change;
  block.unload_scores();
  block.unload(changed, change);
  block.score_fixed_rows(changed, change);
  return report;
}

// The error that a float F may have after steps across a box.
template <class T>
double float_noise(const Subproblem& p) {
  const T* K = static_cast<const T*>(p.tile);
  double width = 0, peak = 0;
  p.dual.each([&](int64_t v, int64_t r) {
    peak = std::max(peak, std::abs(double(K[r * p.ld + r])));
    width = std::max(width, p.dual.upper[v] - p.dual.lower[v]);
  });
  return kFloatNoise * width * peak;
}

// The point before a block, to return to and to compare with.
class Before {
 public:
  explicit Before(const Subproblem& p) : p_(p), score_(p.score, p.score + p.dual.rows) {
    for (int layer = 0; layer < p.dual.layers; ++layer) {
      const double* beta = p.beta + layer * p.dual.stride;
      beta_.insert(beta_.end(), beta, beta + p.dual.rows);
    }
  }
  // The gain of the objective since. Sums of groups are unchanged, so F may be relative.
  double gain(const std::vector<double>& middle) const { return product(middle, 0.5); }
  // How far the objective rises from there to here, as a part of the way.
  double rising_part(const std::vector<double>& middle) const {
    const double slope = product(middle, 0.0), bend = slope - product(middle, 1.0);
    return slope <= 0 ? 0.0 : bend <= slope ? 1.0 : slope / bend;
  }
  // Goes back to a part of the way. Sets: beta and score of the subproblem.
  void go_back_to(double part) const {
    size_t next = 0;
    p_.dual.each([&](int64_t v, int64_t) {
      const double from = beta_[next++], there = from + part * (p_.beta[v] - from);
      p_.beta[v] = std::clamp(there, p_.dual.lower[v], p_.dual.upper[v]);
    });
    for (int64_t r = 0; r < p_.dual.rows; ++r)
      p_.score[r] = score_[r] + part * (p_.score[r] - score_[r]);
  }
  // Sets: beta and score of the subproblem.
  void restore() const {
    std::copy(score_.begin(), score_.end(), p_.score);
    for (int layer = 0; layer < p_.dual.layers; ++layer)
      std::copy_n(beta_.begin() + layer * p_.dual.rows, p_.dual.rows,
                  p_.beta + layer * p_.dual.stride);
  }

 private:
  // The change since times F, of which this part is that of the present scores.
  double product(const std::vector<double>& middle, double part) const {
    double product = 0;
    size_t next = 0;  // in the order in which they were copied
    p_.dual.each([&](int64_t v, int64_t r) {
      const double f = p_.dual.target[v] - middle[p_.dual.group[v]];
      const double score = score_[r] + part * (p_.score[r] - score_[r]);
      product += (p_.beta[v] - beta_[next++]) * (f - score);
    });
    return product;
  }

  const Subproblem& p_;
  std::vector<double> score_, beta_;
};

// At most `budget` pair steps among some rows, after `before` steps of the same call. T is the type
// of the tile from which scores are computed, Source that of the block's values. Sets: beta and score of the subproblem, since_poll
// (Block::run).
template <class T, class Source, class Tile, class G>
SubproblemReport solve_block(const Subproblem& p, Block<Tile, G>& block, const Violations& found,
                             const std::vector<int64_t>& rows, double tol, int64_t budget,
                             int64_t before, int64_t& since_poll) {
  bool in_place = false;
  if constexpr (std::is_same_v<Source, Tile>)
    in_place = int64_t(rows.size()) == p.dual.rows && steps_in_place<Tile>(p);
  if (in_place)
    block.load_all(found.middle);
  else
    block.template load_rows<Source>(rows, found.middle);
  // Steps in place wait for memory. A set that was not solved by its first steps needs many more.
  int64_t conjugate = in_place ? kConjugateLines : kCopiedConjugate;
  if (before > 0) conjugate = p.dual.layers * padded(p.dual.rows);
  const SubproblemReport report = block.run(tol, budget, since_poll, conjugate);
  std::vector<int64_t> changed;
  std::vector<double> change;
  block.unload(changed, change);
  update_scores<T>({p.dual.rows, p.in_double, p.tile, p.ld, changed.data(), change.data(),
                    int64_t(changed.size()), p.score, p.threads});
  since_poll += p.dual.rows * int64_t(changed.size());
  return report;
}

// Whether steps in disjoint parts are a start: if many rows violate and most of them are not free.
bool begins_in_parts(const Subproblem& p, const Violations& found) {
  if (p.threads < kThreadsOfParts || number_of_parts(p.dual.rows) < 2) return false;
  int64_t active = 0, free = 0;
  for (int64_t r = 0; r < p.dual.rows; ++r)
    active += found.by_growing[r] > 0 || found.by_shrinking[r] > 0;
  p.dual.each([&](int64_t v, int64_t) {
    free += p.beta[v] > p.dual.lower[v] && p.beta[v] < p.dual.upper[v];
  });
  return 2 * active > p.dual.rows && 2 * free <= active;
}

// Steps in disjoint parts of the set. Sets: beta and score of the subproblem. Returns their number.
template <class T>
int64_t begin_in_parts(const Subproblem& p, const Violations& found) {
  const Before before(p);
  const double tol = std::max(p.tol, kLooserPart * found.violation);
  const PartsReport parts = steps_in_parts<T>(p, found.middle, tol);
  update_scores<T>({p.dual.rows, p.in_double, p.tile, p.ld, parts.changed.data(),
                    parts.change.data(), int64_t(parts.changed.size()), p.score, p.threads});
  const double part = before.rising_part(found.middle);
  if (part == 0)
    before.restore();
  else if (part < 1)
    before.go_back_to(part);
  return parts.steps;
}

template <class T>
SubproblemReport solve_tile(const Subproblem& p) {
  SubproblemReport report;
  const bool in_place = steps_in_place<T>(p), rounded_in_place = steps_in_place<float>(p);
  if (p.dual.rows <= p.block && p.dual.groups == 1 && in_place) return solve_directly<T>(p);
  Block<float, float> rough(p);
  Block<T, double> fine(p);
  double noise = p.dual.rows > p.block ? float_noise<T>(p) : kInf;
  const double worth = p.threads < kThreadsOfCopy ? kWorthCopy : kWorthSharedCopy;
  int64_t since_poll = 0;
  for (bool first = true;; first = false) {
    const Violations found = find_violations(p);
    report.violation = found.violation;
    if (!(found.violation > p.tol) || report.steps >= p.max_steps) return report;
    // Many sets need few steps: fewer than a copy of a block would cost.
    const bool direct = in_place && report.steps < p.direct_steps;
    if (first && !direct && noise < std::max(p.tol, kLooserPart * found.violation) &&
        begins_in_parts(p, found)) {
      report.steps += begin_in_parts<T>(p, found);
      continue;
    }
    const int64_t most = std::min(p.block, p.dual.rows);
    const double looser = p.in_double ? kLooserRounded : kLooser;
    const bool rounded = p.in_double && (!direct || rounded_in_place) &&
                         noise < std::max(p.tol, looser * found.violation);
    const std::vector<int64_t> rows =
        direct ? all_rows(p) : choose_block(found, most, rounded || !in_place, rounded, worth);
    const int64_t size = int64_t(rows.size());
    const bool whole = size == p.dual.rows;
    double loose = std::max(p.tol, (whole ? kLoosest : looser) * found.violation);
    if (rounded) loose = std::max(loose, noise);
    const bool coarse = p.in_double ? rounded : noise < loose;
    int64_t budget = whole && coarse && in_place ? size / 2 : kStepsPerRow * size;
    if (direct) budget = p.direct_steps - report.steps;
    budget = std::min(budget, p.max_steps - report.steps);
    SubproblemReport inner;
    if (coarse) {
      const Before before(p);
      inner = p.rounded ? solve_block<T, float>(p, rough, found, rows, loose, budget, report.steps,
                                                since_poll)
                        : solve_block<T, T>(p, rough, found, rows, loose, budget, report.steps,
                                            since_poll);
      if (!(before.gain(found.middle) > 0)) {
        before.restore();
        noise = kInf;
      }
    } else {
      inner = solve_block<T, T>(p, fine, found, rows, whole ? p.tol : loose, budget, report.steps,
                                since_poll);
      if (inner.steps == 0) return report;  // rounding: the pair found has no gain
    }
    report.steps += inner.steps;
    report.stopped = inner.stopped;
    if (report.stopped) return report;
  }
}

}  // namespace

SubproblemReport solve(const Subproblem& p) {
  return p.in_double ? solve_tile<double>(p) : solve_tile<float>(p);
}

void add_scores(const ScoreTask& task) {
  if (task.in_double)
    update_scores<double>(task);
  else
    update_scores<float>(task);
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
