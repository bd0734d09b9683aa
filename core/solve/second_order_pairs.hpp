// Pair steps on a block (cached_block.hpp), chosen by their second-order gain; compiled once per
// instruction set.
//
// The direction of a step is that of its pair, d = e_i - e_j, made conjugate to the direction p of
// the step before (Torres-Barran, Alaiz and Dorronsoro, "Faster SVM training via conjugate SMO"):
//
//   d + g p,   g = - d'Kp / p'Kp,   curvature  d'Kd - (d'Kp)^2 / p'Kp
//
// F'p = 0 after a step that no bound cut, so that the slope is that of the pair, and the step gains
// at least as much. After a step that was cut, and where p has too many variables, the next
// direction is that of its pair alone. The same holds for the first steps on large blocks: they wait
// for two rows of the tile that are not in the cache, so that only sets that need many steps gain.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "solve/cached_block.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {

constexpr int64_t kAhead = 2048;     // bytes that a pass asks for before it reads them
constexpr double kTau = 1e-12;       // floor of the curvature of a pair
constexpr double kLeastBend = 0.01;  // of a pair's curvature: floor of its conjugate direction's
constexpr double kFewDigits = 1e-3;  // of a diagonal: smaller curvatures lose digits by rounding
constexpr double kResolution = 100;  // roundings of a kernel value: smaller curvatures are noise

// Sets: up and down of a line from its coefficients and the score of its row.
template <class T, class G>
void Block<T, G>::set_status(int64_t line, double score) {
  up_[line] = G(-kInf);
  down_[line] = G(kInf);
  for (int k = 0; k < depth_; ++k) {
    const int64_t v = variable(line, k);
    const G f = G(p_.dual.target[v] - middle_[p_.dual.group[v]] - score);
    if (beta(line, k) < p_.dual.upper[v]) up_[line] = std::max(up_[line], f);
    if (beta(line, k) > p_.dual.lower[v]) down_[line] = std::min(down_[line], f);
  }
}

template <class T, class G>
int Block<T, G>::growing(int64_t line) {
  int best = -1;
  for (int k = 0; k < depth_; ++k) {
    const int64_t v = variable(line, k);
    if (beta(line, k) < p_.dual.upper[v] &&
        (best < 0 || p_.dual.target[v] > p_.dual.target[variable(line, best)]))
      best = k;
  }
  return best;
}

template <class T, class G>
int Block<T, G>::shrinking(int64_t line) {
  int best = -1;
  for (int k = 0; k < depth_; ++k) {
    const int64_t v = variable(line, k);
    if (beta(line, k) > p_.dual.lower[v] &&
        (best < 0 || p_.dual.target[v] < p_.dual.target[variable(line, best)]))
      best = k;
  }
  return best;
}

// The largest value met in each lane, and where.
template <class G>
struct Largest {
  typedef typename Simd<G>::Int Int;
  Vec<G> value = splat(G(-kInf));
  Int line = {};

  void take(Vec<G> other, Int at) {
    const Int more = other > value;
    value = more ? other : value;
    line = more ? at : line;
  }
};

// The largest quotient met in each lane, and where; quotients are compared by cross-multiplication.
template <class G>
struct LargestQuotient {
  typedef typename Simd<G>::Int Int;
  Vec<G> top = {}, bottom = splat(G(1));
  Int line = {};

  void take(Vec<G> over, Vec<G> under, Int at) {
    const Int more = over * bottom > top * under;
    top = more ? over : top;
    bottom = more ? under : bottom;
    line = more ? at : line;
  }
};

// The indices of the lanes.
template <class G>
typename Simd<G>::Int numbered() {
  typename Simd<G>::Int index = {};
  for (int l = 0; l < Simd<G>::lanes; ++l) index[l] = l;
  return index;
}

// Calls visit(t, results) for every vector of a line range. Vectors have one of two results in turn,
// so that a comparison need not wait for the one before.
template <class G, class Results, class Visit>
inline void take_turns(int64_t size, Results& even, Results& odd, Visit&& visit) {
  constexpr int lanes = Simd<G>::lanes;
  int64_t t = 0;
  for (; t + 2 * lanes <= size; t += 2 * lanes) {
    visit(t, even);
    visit(t + lanes, odd);
  }
  if (t < size) visit(t, even);
}

// Asks for a part of a row of the tile that a pass will soon read. Processors do so by themselves, but
// not beyond a page, of which a long row has many.
template <class T>
inline void ask_ahead(const T* row, int64_t t, int64_t size) {
  __builtin_prefetch(row + std::min(t + kAhead / int64_t(sizeof(T)), size - 1));
}

// F -= length * K p over a line range, where K p = K_i - K_j + carry * (the K p before). Returns the
// first line (largest F that may grow).
template <class T, class G>
template <Image image>
Extreme Block<T, G>::update(const LineRange& s, const Step& step, double& lowest) {
  constexpr int lanes = Simd<G>::lanes;
  const Vec<G> length = splat(G(step.length)), carry = splat(G(step.carry));
  Largest<G> even, odd;
  Vec<G> low = splat(G(kInf));
  auto index = numbered<G>();
  G* up = &up_[s.line];
  G* down = &down_[s.line];
  G* q = &image_[s.line];
  const T* ki = tile_row(step.i) + s.column;
  const T* kj = tile_row(step.j) + s.column;
  take_turns<G>(s.size, even, odd, [&](int64_t t, Largest<G>& largest) {
    ask_ahead(kj, t, s.size);  // K_i was read in the search for the partner
    Vec<G> moved = load_as<G>(ki + t) - load_as<G>(kj + t);
    if (image == Image::carried) moved += carry * load(q + t);
    if (image != Image::none) store(q + t, moved);
    const Vec<G> u = load(up + t) - length * moved;
    const Vec<G> d = load(down + t) - length * moved;
    store(up + t, u);
    store(down + t, d);
    largest.take(u, index);
    low = smaller(d, low);
    index += lanes;
  });
  lowest = std::min(lowest, double(smallest_lane(low)));
  const G best = largest_lane(larger(odd.value, even.value));
  if (best == G(-kInf)) return {};
  const int64_t line =
      std::min(first_index(even.value, best, even.line), first_index(odd.value, best, odd.line));
  return {double(best), s.line + line};
}

template <class T, class G>
Extreme Block<T, G>::update(const LineRange& s, const Step& step, double& lowest) {
  if (step.carry != 0) return update<Image::carried>(s, step, lowest);
  if (last_.count > 0) return update<Image::fresh>(s, step, lowest);
  return update<Image::none>(s, step, lowest);
}

// Largest (f_i - F_j)^2 / eta_ij over lines j that may shrink and lie below f_i, where eta_ij is the
// curvature of the direction, conjugate to the last one if `conjugate`. Differences are in units of
// about the violation, a power of two, so that squares do not underflow.
template <class T, class G>
template <bool conjugate>
void Block<T, G>::best_partner(const LineRange& s, const Extreme& first, double lowest,
                               double& gain, int64_t& partner) const {
  constexpr int lanes = Simd<G>::lanes;
  const double unit = std::ldexp(1.0, std::ilogb(first.value - lowest));
  const Vec<G> scale = splat(G(1.0 / unit)), fi = splat(G(first.value));
  const Vec<G> kii = splat(diag_[first.line]), least = splat(G(kTau));
  const Vec<G> qi = splat(image_[first.line]);
  const Vec<G> inverse = splat(G(conjugate ? 1.0 / last_.curvature : 0.0));
  LargestQuotient<G> even, odd;
  auto index = numbered<G>();
  const G* down = &down_[s.line];
  const G* diag = &diag_[s.line];
  const G* q = &image_[s.line];
  const T* ki = tile_row(first.line) + s.column;
  take_turns<G>(s.size, even, odd, [&](int64_t t, LargestQuotient<G>& largest) {
    ask_ahead(ki, t, s.size);
    // -inf where beta may not shrink
    const Vec<G> diff = larger((fi - load(down + t)) * scale, Vec<G>{});
    Vec<G> eta = larger(kii + load(diag + t) - G(2) * load_as<G>(ki + t), least);
    if (conjugate) {
      const Vec<G> cross = qi - load(q + t);
      eta = larger(eta - cross * cross * inverse, G(kLeastBend) * eta);
    }
    largest.take(diff * diff, eta, index);
    index += lanes;
  });
  const Vec<G> a = even.top / even.bottom, b = odd.top / odd.bottom;
  const G best = largest_lane(larger(a, b));
  const int64_t line =
      s.line + std::min(first_index(a, best, even.line), first_index(b, best, odd.line));
  const double g = double(best) * unit * unit;
  if (g > gain || (g == gain && g > 0 && partner > line)) {
    gain = g;
    partner = line;
  }
}

// K_ii + K_jj - 2 K_ij. If rounding leaves it few digits, by the tile of the subproblem, which is
// seldom in the cache.
template <class T, class G>
double Block<T, G>::curvature(int64_t i, int64_t j) const {
  const double sum = double(diag_[i]) + double(diag_[j]);
  const double rounded = sum - 2.0 * double(tile_row(i)[place_[j]]);
  if (p_.in_double && std::is_same_v<T, float> && rounded < kFewDigits * sum) {
    const double* K = static_cast<const double*>(p_.tile);
    const int64_t a = row_[place_[i]], b = row_[place_[j]];
    return std::max(K[a * p_.ld + a] + K[b * p_.ld + b] - 2.0 * K[a * p_.ld + b], kTau);
  }
  return std::max(rounded, kTau);
}

// The score of the row of a line, less the middle of its group's interval.
template <class T, class G>
double Block<T, G>::score_of(int64_t line) {
  const int a = growing(line);
  const int64_t v = variable(line, a >= 0 ? a : shrinking(line));
  const double f = double(a >= 0 ? up_[line] : down_[line]);
  return p_.dual.target[v] - middle_[p_.dual.group[v]] - f;
}

template <class T, class G>
DirectionPart Block<T, G>::part(int64_t line, int k, double coef) const {
  const int64_t v = variable(line, k);
  return {line, line * depth_ + k, coef, p_.dual.lower[v], p_.dual.upper[v]};
}

// How far a variable may move.
template <class T, class G>
double Block<T, G>::room(const DirectionPart& part) const {
  const double beta = beta_[part.place];
  return part.coef > 0 ? part.upper - beta : beta - part.lower;
}

// The length of a step along a direction: the best one, or that which ends at the first bound. One
// that ends very near to a bound ends at it. Sets: cut, to whether a variable ends at a bound.
template <class T, class G>
double Block<T, G>::length_of(const Direction& along, double slope, bool& cut) const {
  double length = slope / along.curvature;
  cut = false;
  for (int x = 0; x < along.count; ++x) {
    const DirectionPart& part = along.part[x];
    const double most = room(part), size = std::abs(part.coef);
    if (length * size < most - kSnapToBound * (part.upper - part.lower)) continue;
    cut = true;
    if (length * size > most) length = most / size;
  }
  return length;
}

// Moves the variables of a direction. Lines i and j are those of the pair; `cut` if a variable ends
// at a bound. Sets: beta, and the status of lines.
template <class T, class G>
void Block<T, G>::move(const Direction& along, double length, int64_t i, int64_t j, bool cut) {
  int64_t lines[kMostMoving + 2];
  double score[kMostMoving + 2];
  bool at_bound[kMostMoving] = {};
  int count = 0;
  const auto changes = [&](int64_t line) {
    lines[count] = line;
    score[count++] = score_of(line);
  };
  changes(i);
  changes(j);
  for (int x = 0; cut && x < along.count; ++x) {
    const DirectionPart& part = along.part[x];
    const double left = room(part) - length * std::abs(part.coef);
    at_bound[x] = left <= kSnapToBound * (part.upper - part.lower);
    if (at_bound[x]) changes(part.line);
  }
  for (int x = 0; x < along.count; ++x) {
    const DirectionPart& part = along.part[x];
    const double bound = part.coef > 0 ? part.upper : part.lower;
    beta_[part.place] = at_bound[x] ? bound : beta_[part.place] + length * part.coef;
  }
  for (int x = 0; x < count; ++x) set_status(lines[x], score[x]);
}

// The step of a pair of lines. Sets: the last direction; beta, and the status of lines.
template <class T, class G>
Step Block<T, G>::take_step(int64_t i, int64_t j) {
  const double slope = double(up_[i]) - double(down_[j]), plain = curvature(i, j);
  const DirectionPart pair[2] = {part(i, growing(i), 1.0), part(j, shrinking(j), -1.0)};
  Direction& along = last_;
  Step step{i, j, 0, 0};
  bool cut = true;
  if (along.count > 0) {
    const double cross = double(image_[i]) - double(image_[j]);
    const double bend = plain - cross * cross / along.curvature;
    if (bend >= kLeastBend * plain) {
      step.carry = -cross / along.curvature;
      along.carry_on(step.carry, pair, bend);
      step.length = length_of(along, slope, cut);
    }
  }
  if (cut) {  // perhaps by a variable of the directions before
    Direction alone;
    alone.begin(pair, plain);
    bool cut_alone = false;
    const double length = length_of(alone, slope, cut_alone);
    if (step.carry == 0 || alone.gain(length, slope) >= along.gain(step.length, slope)) {
      along.begin(pair, plain);
      step.length = length;
      step.carry = 0;
      cut = cut_alone;
    }
  }
  move(along, step.length, i, j, cut);
  const double noise = kResolution * double(std::numeric_limits<T>::epsilon());
  if (!conjugate_ || cut || along.count > kMostMoving - 2 ||
      !(along.curvature > noise * (double(diag_[i]) + double(diag_[j]))))
    along.count = 0;
  return step;
}

template <class T, class G>
SubproblemReport Block<T, G>::run(double tol, int64_t max_steps, int64_t& since_poll,
                                  int64_t most_conjugate) {
  conjugate_ = int64_t(up_.size()) <= most_conjugate;
  SubproblemReport report;
  std::vector<Extreme> first(p_.dual.groups);
  std::vector<double> lowest(p_.dual.groups);
  last_.count = 0;
  Step step;
  while (true) {
    // Apply the last step and find, in each group, the line with the largest F that may grow.
    std::fill(first.begin(), first.end(), Extreme{});
    std::fill(lowest.begin(), lowest.end(), kInf);
    for (const LineRange& s : ranges_) first[s.group] = update(s, step, lowest[s.group]);
    report.violation = 0;
    int worst = -1;  // the group with the largest violation
    for (int g = 0; g < p_.dual.groups; ++g)
      if (first[g].line >= 0 && first[g].value - lowest[g] > report.violation) {
        report.violation = first[g].value - lowest[g];
        worst = g;
      }
    if (worst < 0 || !(report.violation > tol)) return report;
    if (report.steps >= max_steps || report.stopped) return report;

    // The partner with the largest second-order gain. Partners in other groups would cost another
    // row of the tile.
    int64_t j = -1;
    double gain = 0;
    for (const LineRange& s : ranges_)
      if (s.group == worst && last_.count > 0)
        best_partner<true>(s, first[worst], lowest[worst], gain, j);
      else if (s.group == worst)
        best_partner<false>(s, first[worst], lowest[worst], gain, j);
    if (j < 0) return report;

    step = take_step(first[worst].line, j);
    ++report.steps;
    since_poll += int64_t(up_.size());
    if (since_poll > kPollEvery && p_.stop) {
      report.stopped = p_.stop();
      since_poll = 0;
    }
  }
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
