#include "solve/held_out.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "dispatch.hpp"
#include "parallel.hpp"
#include "solve/newton.hpp"
#include "solve/symmetric_tile.hpp"

namespace widestreet {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kRoundTo = 16;
constexpr int64_t kLeastNear = 64;        // near rows at first, if there are so many
constexpr int64_t kPasses = 12;           // over all rows
constexpr double kInner = 0.8;            // of tol: that of steps on near rows
constexpr double kLoose = 0.1;            // that of the first steps, if steps cost more than a pass
constexpr int64_t kLeastLoose = 256;      // near rows, from which they do
constexpr double kSlack = 0.05;           // rows so near to a violation become near as well
constexpr double kSnap = 1e-12;           // of a sum: a variable so near to a bound is put there
constexpr int64_t kStepsPerRow = 100;     // limit of the pair steps of a pass
constexpr int64_t kLeastPortion = 200;    // pair steps before Newton steps
constexpr int64_t kPatience = 4;          // times as many after Newton steps that were cut
constexpr int64_t kMostFree = 256;        // variables that Newton steps may have
constexpr int64_t kBlock = 1024;          // rows of a block of pair steps
constexpr int64_t kInPlace = 600;         // near rows, up to which no block is cut
constexpr int64_t kCallCost = 200000000;  // multiply-adds between two calls of stop

int64_t rounded(int64_t rows) {
  return (rows + kRoundTo - 1) / kRoundTo * kRoundTo;
}

// The state of one fold.
struct Fold {
  std::vector<double> lower, upper;  // of all rows; zero where the row is not trained
  std::vector<double> beta, score;   // of all rows
  double bias = 0, violation = kInf;
  int64_t steps = 0;
  bool begun = false, solved = false, possible = true;
};

// The near variables of a fold, in the order of the tile.
struct Near {
  std::vector<double> target, lower, upper, beta, score;
  std::vector<uint8_t> group;

  Near(const Fold& fold, const double* targets, const std::vector<int64_t>& rows)
      : group(rows.size(), 0) {
    for (int64_t r : rows) {
      target.push_back(targets[r]);
      lower.push_back(fold.lower[r]);
      upper.push_back(fold.upper[r]);
      beta.push_back(fold.beta[r]);
      score.push_back(fold.score[r]);
    }
  }
  Variables variables() const {
    return {
        int64_t(target.size()), 1,           1, int64_t(target.size()), target.data(), lower.data(),
        upper.data(),           group.data()};
  }
};

// The largest F where beta may grow, and the smallest where it may shrink.
struct Ends {
  double high = -kInf, low = kInf;

  void add(double f, double beta, double lower, double upper) {
    if (beta < upper) high = std::max(high, f);
    if (beta > lower) low = std::min(low, f);
  }
  double violation() const { return std::max(0.0, high - low); }
  // The middle; the one end that is finite, or zero, where there is no interval.
  double bias() const {
    if (std::isfinite(high) && std::isfinite(low)) return 0.5 * (high + low);
    return std::isfinite(high) ? high : std::isfinite(low) ? low : 0.0;
  }
};

// One problem of a task. T is the type of the kernel values.
template <class T>
class Problem {
 public:
  Problem(const HeldOutTask& task, int64_t p, int threads, std::atomic<bool>& stopped)
      : task_(task),
        begin_(p ? task.end[p - 1] : 0),
        rows_(task.end[p] - begin_),
        index_(task.index + begin_),
        dual_(task.dual.part(begin_, rows_)),
        threads_(threads),
        stopped_(stopped),
        folds_(size_t(task.folds)) {}

  void solve(HeldOutReport& report) {
    start(report);
    choose_near();
    for (int64_t pass = 0; pass < kPasses && !stopped_ && unsolved(); ++pass) {
      if (int64_t(near_.size()) > task_.most_near) break;
      fill(report);
      if (stopped_) return;
      for (Fold& fold : folds_) fold.possible = fold.solved || balance(fold);
      auto steps = [&](int64_t k, int64_t) {
        if (!folds_[k].solved && folds_[k].possible) take_steps(folds_[k]);
      };
      for_ranges(task_.folds, 1, threads_, steps, [&] { stop(); });
      score_others(report);
      for (Fold& fold : folds_)
        if (!fold.solved) judge(fold);
      grow();
    }
    report.near = int64_t(near_.size());
    if (stopped_) return;
    report.violation = 0;
    for (int64_t k = 0; k < task_.folds; ++k) {
      const Fold& fold = folds_[k];
      report.violation = std::max(report.violation, fold.violation);
      report.steps += fold.steps;
      for (int64_t r = 0; r < rows_; ++r)
        if (role(k, r) == Role::test) task_.score[begin_ + r] = fold.score[r] + fold.bias;
    }
  }

 private:
  Role role(int64_t fold, int64_t r) const {
    return Role(task_.role[fold * task_.rows->n + index_[r]]);
  }
  bool unsolved() const {
    return std::any_of(folds_.begin(), folds_.end(), [](const Fold& f) { return !f.solved; });
  }
  bool stop() {
    if (!stopped_ && task_.stop && task_.stop()) stopped_ = true;
    return stopped_;
  }

  // Adds the sums over some rows, `sets` lines of coefficients, to the scores of others.
  // Sets: out, sets x left.size().
  void scan(const std::vector<int64_t>& left, const std::vector<int64_t>& right,
            const std::vector<double>& coef, int64_t sets, std::vector<double>& out,
            HeldOutReport& report) {
    const int64_t n = int64_t(left.size()), m = int64_t(right.size());
    out.assign(size_t(sets * n), 0.0);
    if (m == 0) return;
    const std::vector<int64_t> rows = indices(left), vectors = indices(right);
    const int64_t step = std::max<int64_t>(
        64, threads_ * kCallCost / (m * (task_.rows->values_per_row() + sets + 10)));
    for (int64_t a = 0; a < n && !stop(); a += step) {
      ScanTask scan;
      scan.kernel = task_.kernel;
      scan.left = {task_.rows, rows.data() + a, std::min(step, n - a)};
      scan.right = {task_.rows, vectors.data(), m};
      scan.sets = sets;
      scan.coef = coef.data();
      scan.out = out.data() + a;
      scan.out_ld = n;
      scan.in_double = std::is_same_v<T, double>;
      scan.threads = threads_;
      functions().scan(&scan, 1);
    }
    report.values += n * m;
  }
  std::vector<int64_t> indices(const std::vector<int64_t>& rows) const {
    std::vector<int64_t> found;
    for (int64_t r : rows) found.push_back(index_[r]);
    return found;
  }

  // Step 1. Sets: folds, with the coefficients of their rows at zero; distance.
  void start(HeldOutReport& report) {
    const double* beta = task_.beta + begin_;
    std::vector<int64_t> every(rows_), used;
    std::iota(every.begin(), every.end(), 0);
    for (int64_t r = 0; r < rows_; ++r)
      if (beta[r] != 0) used.push_back(r);
    const int64_t m = int64_t(used.size()), sets = 1 + task_.folds;
    std::vector<double> coef(size_t(sets * m), 0.0), sums;
    for (int64_t j = 0; j < m; ++j) {
      coef[j] = beta[used[j]];
      for (int64_t k = 0; k < task_.folds; ++k)
        if (role(k, used[j]) != Role::train) coef[(1 + k) * m + j] = -beta[used[j]];
    }
    scan(every, used, coef, sets, sums, report);
    Ends ends;
    for (int64_t r = 0; r < rows_; ++r)
      ends.add(dual_.target[r] - sums[r], beta[r], dual_.lower[r], dual_.upper[r]);
    bias_ = ends.bias();
    distance_.resize(size_t(rows_));
    for (int64_t r = 0; r < rows_; ++r) {
      const bool free = dual_.lower[r] < beta[r] && beta[r] < dual_.upper[r];
      const bool none = dual_.lower[r] == dual_.upper[r];
      const double distance = std::abs(dual_.target[r] - sums[r] - bias_);
      distance_[r] = none || std::isnan(distance) ? kInf : free ? 0.0 : distance;
    }
    for (int64_t k = 0; k < task_.folds; ++k) {
      Fold& fold = folds_[k];
      for (auto* values : {&fold.lower, &fold.upper, &fold.beta, &fold.score})
        values->reserve(size_t(rows_));
      for (int64_t r = 0; r < rows_; ++r) {
        const bool trained = role(k, r) == Role::train;
        fold.lower.push_back(trained ? dual_.lower[r] : 0.0);
        fold.upper.push_back(trained ? dual_.upper[r] : 0.0);
        fold.beta.push_back(trained ? beta[r] : 0.0);
        fold.score.push_back(sums[r] + sums[(1 + k) * rows_ + r]);
      }
    }
  }

  // Step 2. Sets: near rows, and the order in which others follow.
  void choose_near() {
    order_.resize(size_t(rows_));
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int64_t a, int64_t b) { return distance_[a] < distance_[b]; });
    while (!order_.empty() && distance_[order_.back()] == kInf) order_.pop_back();
    is_near_.assign(size_t(rows_), 0);
    const auto far = std::partition_point(order_.begin(), order_.end(),
                                          [&](int64_t r) { return distance_[r] <= task_.near; });
    add_nearest(std::max<int64_t>(kLeastNear, far - order_.begin()));
  }
  // Sets: near rows, which become so many if there are.
  void add_nearest(int64_t count) {
    for (int64_t r : order_) {
      if (int64_t(near_.size()) >= count) return;
      add(r);
    }
  }
  void add(int64_t r) {
    if (is_near_[r]) return;
    is_near_[r] = 1;
    near_.push_back(r);
  }

  // Sets: the tile, to which the rows that became near are added, unless it is stopped.
  void fill(HeldOutReport& report) {
    const int64_t m = int64_t(near_.size());
    if (m == filled_) return;
    if (m > room_) {
      const int64_t most = std::min(rows_, task_.most_near);
      const int64_t room = rounded(filled_ ? std::min(m + m / 4, most) : m);
      std::unique_ptr<T[]> larger(new T[size_t(room * room)]);
      for (int64_t a = 0; a < filled_; ++a)
        std::copy_n(tile_.get() + a * room_, filled_, larger.get() + a * room);
      tile_ = std::move(larger);
      room_ = room;
    }
    const std::vector<int64_t> rows = indices(near_);
    const int64_t work_of_strip = m * (task_.rows->values_per_row() + 10) * kTileStrip;
    const int64_t step = std::max<int64_t>(1, threads_ * kCallCost / work_of_strip) * kTileStrip;
    while (filled_ < m && !stop()) {
      const int64_t end = std::min(filled_ + step, m);
      report.values += fill_symmetric(task_.kernel, *task_.rows, rows.data(), filled_, end,
                                      tile_.get(), room_, threads_);
      filled_ = end;
    }
  }

  // Moves the near variables nearest to the margin until the sum is zero. Returns false if they
  // cannot. Sets: beta and score of the near rows.
  bool balance(Fold& fold) {
    double missing = 0, size = 0;
    for (double value : fold.beta) missing -= value, size += std::abs(value);
    const double rounding = kSnap * size;
    if (std::abs(missing) <= rounding) return true;
    double room = 0;
    for (int64_t r : near_)
      room += missing > 0 ? fold.upper[r] - fold.beta[r] : fold.lower[r] - fold.beta[r];
    if (std::abs(room) < std::abs(missing) - rounding) return false;
    std::vector<int64_t> slot(near_.size());
    std::iota(slot.begin(), slot.end(), 0);
    std::vector<double> away;
    for (int64_t r : near_) away.push_back(std::abs(dual_.target[r] - fold.score[r] - bias_));
    std::stable_sort(slot.begin(), slot.end(),
                     [&](int64_t a, int64_t b) { return away[a] < away[b]; });
    std::vector<int64_t> moved;
    std::vector<double> change;
    for (int64_t s : slot) {
      const int64_t r = near_[s];
      const double bound = missing > 0 ? fold.upper[r] : fold.lower[r], most = bound - fold.beta[r];
      if (most == 0) continue;
      const bool whole = std::abs(most) <= std::abs(missing) + rounding;
      const double step = whole ? most : missing;
      fold.beta[r] = whole ? bound : fold.beta[r] + step;
      moved.push_back(s);
      change.push_back(step);
      missing -= step;
      if (std::abs(missing) <= rounding) break;
    }
    std::vector<double> sums(near_.size(), 0.0);
    add_tile(moved, change, sums.data());
    for (size_t s = 0; s < near_.size(); ++s) fold.score[near_[s]] += sums[s];
    return true;
  }
  void add_tile(const std::vector<int64_t>& slots, const std::vector<double>& change, double* out) {
    functions().add_scores({int64_t(near_.size()), std::is_same_v<T, double>, tile_.get(), room_,
                            slots.data(), change.data(), int64_t(slots.size()), out, 1});
  }

  // Step 3, after the sum is right. Sets: beta and score of the near rows.
  void take_steps(Fold& fold) {
    if (near_.empty()) return;
    Near near(fold, dual_.target, near_);
    const int64_t m = int64_t(near_.size());
    Subproblem p;
    p.dual = near.variables();
    p.in_double = std::is_same_v<T, double>;
    p.tile = tile_.get();
    p.ld = room_;
    p.beta = near.beta.data();
    p.score = near.score.data();
    p.tol = kInner * task_.tol;
    if (!fold.begun && m >= kLeastLoose) p.tol = std::max(p.tol, kLoose);
    fold.begun = true;
    p.block = m <= kInPlace ? m : kBlock;
    p.threads = 1;
    p.stop = [&] { return stop(); };
    std::unique_ptr<char[]> scratch;
    if (m > kInPlace) {
      p.scratch_bytes = int64_t(sizeof(T)) * (kBlock + kRoundTo) * (kBlock + kRoundTo);
      scratch.reset(new char[size_t(p.scratch_bytes)]);
      p.scratch = scratch.get();
    }
    int64_t portion = std::max(kLeastPortion, m), steps = 0;
    const int64_t most = kStepsPerRow * std::max(kLeastNear, m);
    while (steps < most && !stop()) {
      p.max_steps = std::min(portion, most - steps);
      const SubproblemReport done = functions().solve(p);
      steps += done.steps;
      const bool converged = steps == 0 || done.steps < p.max_steps;
      if (converged || done.stopped) break;
      if (count_free(p) > kMostFree || !newton_steps(p)) portion *= kPatience;
    }
    fold.steps += steps;
    for (int64_t s = 0; s < m; ++s) {
      fold.beta[near_[s]] = near.beta[s];
      fold.score[near_[s]] = near.score[s];
    }
  }

  // Step 4. Sets: scores of the rows that are not near, by the changes since the last call.
  void score_others(HeldOutReport& report) {
    std::vector<int64_t> others, changed;
    for (int64_t r = 0; r < rows_; ++r)
      if (!is_near_[r]) others.push_back(r);
    const double* whole = task_.beta + begin_;
    const int64_t m = int64_t(near_.size());
    if (known_.empty()) known_.resize(size_t(task_.folds));
    for (int64_t k = 0; k < task_.folds; ++k)
      for (int64_t s = int64_t(known_[k].size()); s < m; ++s)  // the coefficients in `score`
        known_[k].push_back(role(k, near_[s]) == Role::train ? whole[near_[s]] : 0.0);
    for (int64_t s = 0; s < m; ++s)
      for (int64_t k = 0; k < task_.folds; ++k)
        if (folds_[k].beta[near_[s]] != known_[k][s]) {
          changed.push_back(s);
          break;
        }
    const int64_t count = int64_t(changed.size());
    std::vector<int64_t> vectors;
    std::vector<double> coef(size_t(task_.folds * count)), sums;
    for (int64_t j = 0; j < count; ++j) {
      const int64_t s = changed[j];
      vectors.push_back(near_[s]);
      for (int64_t k = 0; k < task_.folds; ++k) {
        coef[k * count + j] = folds_[k].beta[near_[s]] - known_[k][s];
        known_[k][s] = folds_[k].beta[near_[s]];
      }
    }
    scan(others, vectors, coef, task_.folds, sums, report);
    for (int64_t k = 0; k < task_.folds; ++k)
      for (size_t i = 0; i < others.size(); ++i)
        folds_[k].score[others[i]] += sums[k * int64_t(others.size()) + int64_t(i)];
  }

  // Sets: bias and violation of a fold over all rows; whether it is solved. Comparisons overlook
  // what is not a number, so it is looked for.
  void judge(Fold& fold) {
    Ends ends;
    bool finite = true;
    for (int64_t r = 0; r < rows_; ++r) {
      const double f = dual_.target[r] - fold.score[r];
      finite &= std::isfinite(f) && std::isfinite(fold.beta[r]);
      ends.add(f, fold.beta[r], fold.lower[r], fold.upper[r]);
    }
    fold.bias = ends.bias();
    fold.violation = fold.possible && finite ? ends.violation() : kInf;
    fold.solved = fold.violation <= task_.tol;
  }

  // Sets: near rows, to which rows are added that violate in a fold.
  void grow() {
    bool impossible = false;
    const size_t before = near_.size();
    for (const Fold& fold : folds_) {
      if (fold.solved) continue;
      impossible |= !fold.possible;
      Ends ends;
      for (size_t s = 0; s < before; ++s) {
        const int64_t r = near_[s];
        ends.add(dual_.target[r] - fold.score[r], fold.beta[r], fold.lower[r], fold.upper[r]);
      }
      if (!std::isfinite(ends.high - ends.low)) {
        impossible = true;
        continue;
      }
      const double middle = 0.5 * (ends.high + ends.low);
      const double above = std::min(middle, ends.high) - kSlack;
      const double below = std::max(middle, ends.low) + kSlack;
      for (int64_t r = 0; r < rows_; ++r) {
        if (is_near_[r]) continue;
        const double f = dual_.target[r] - fold.score[r];
        if ((fold.beta[r] < fold.upper[r] && f > above) ||
            (fold.beta[r] > fold.lower[r] && f < below))
          add(r);
      }
    }
    if (impossible) add_nearest(2 * int64_t(before));
  }

  const HeldOutTask& task_;
  const int64_t begin_, rows_;
  double bias_ = 0;  // of all rows
  const int64_t* index_;
  const Variables dual_;
  const int threads_;
  std::atomic<bool>& stopped_;
  std::vector<Fold> folds_;
  std::vector<double> distance_;  // of each row from the margin; infinite without a box
  std::vector<int64_t> order_;    // rows by their distance
  std::vector<int64_t> near_;     // in the order of the tile
  std::vector<char> is_near_;
  std::vector<std::vector<double>> known_;  // coefficients of near rows in the scores of others
  std::unique_ptr<T[]> tile_;
  int64_t room_ = 0, filled_ = 0;  // rows of the tile: in memory, computed
};

}  // namespace

bool hold_out(const HeldOutTask& task, HeldOutReport* report) {
  std::atomic<bool> stopped{false};
  const int inner = task.problems == 1 ? task.threads : 1;
  auto body = [&](Tasks& tasks) {
    for (int64_t p; tasks.draw(p) && !stopped;) {
      report[p] = HeldOutReport();
      if (task.in_double)
        Problem<double>(task, p, inner, stopped).solve(report[p]);
      else
        Problem<float>(task, p, inner, stopped).solve(report[p]);
    }
  };
  auto idle = [&] {
    if (!stopped && task.stop && task.stop()) stopped = true;
  };
  share(task.problems, task.problems == 1 ? 1 : task.threads, body, idle);
  return stopped;
}

}  // namespace widestreet
