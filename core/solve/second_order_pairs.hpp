// Pair steps on a block (cached_block.hpp), chosen by their second-order gain; compiled once per
// instruction set.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "solve/cached_block.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {

constexpr double kTau = 1e-12;  // floor of the curvature of a pair

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

// F -= step * (K_i - K_j) over a line range. Returns the first line (largest F that may grow).
template <class T, class G>
Extreme Block<T, G>::update(const LineRange& s, const T* ki, const T* kj, double step,
                            double& lowest) {
  constexpr int lanes = Simd<G>::lanes;
  const Vec<G> length = splat(G(step));
  Largest<G> even, odd;
  Vec<G> low = splat(G(kInf));
  auto index = numbered<G>();
  G* up = &up_[s.line];
  G* down = &down_[s.line];
  ki += s.column;
  kj += s.column;
  take_turns<G>(s.size, even, odd, [&](int64_t t, Largest<G>& largest) {
    const Vec<G> shift = length * (load_as<G>(ki + t) - load_as<G>(kj + t));
    const Vec<G> u = load(up + t) - shift;
    const Vec<G> d = load(down + t) - shift;
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

// Largest (f_i - F_j)^2 / eta_ij over lines j that may shrink and lie below f_i. Differences are in
// units of about the violation, a power of two, so that squares do not underflow.
template <class T, class G>
void Block<T, G>::best_partner(const LineRange& s, const T* ki, const Extreme& first, double lowest,
                               double& gain, int64_t& partner) const {
  constexpr int lanes = Simd<G>::lanes;
  const double unit = std::ldexp(1.0, std::ilogb(first.value - lowest));
  const Vec<G> scale = splat(G(1.0 / unit)), fi = splat(G(first.value));
  const Vec<G> kii = splat(diag_[first.line]), least = splat(G(kTau));
  LargestQuotient<G> even, odd;
  auto index = numbered<G>();
  const G* down = &down_[s.line];
  const G* diag = &diag_[s.line];
  ki += s.column;
  take_turns<G>(s.size, even, odd, [&](int64_t t, LargestQuotient<G>& largest) {
    // -inf where beta may not shrink
    const Vec<G> diff = larger((fi - load(down + t)) * scale, Vec<G>{});
    const Vec<G> eta = larger(kii + load(diag + t) - G(2) * load_as<G>(ki + t), least);
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

// K_ii + K_jj - 2 K_ij. If the block has a rounded copy of the tile, by that of the subproblem, which
// is seldom in the cache.
template <class T, class G>
double Block<T, G>::curvature(int64_t i, int64_t j) const {
  if (p_.in_double && std::is_same_v<T, float>) {
    const double* K = static_cast<const double*>(p_.tile);
    const int64_t a = row_[place_[i]], b = row_[place_[j]];
    return std::max(K[a * p_.ld + a] + K[b * p_.ld + b] - 2.0 * K[a * p_.ld + b], kTau);
  }
  const double kij = double(tile_row(i)[place_[j]]);
  return std::max(double(diag_[i]) + double(diag_[j]) - 2.0 * kij, kTau);
}

template <class T, class G>
SubproblemReport Block<T, G>::run(double tol, int64_t max_steps, int64_t& since_poll) {
  SubproblemReport report;
  std::vector<Extreme> first(p_.dual.groups);
  std::vector<double> lowest(p_.dual.groups);
  const T* ki = tile_;
  const T* kj = ki;
  double step = 0;
  while (true) {
    // Apply the last step and find, in each group, the line with the largest F that may grow.
    std::fill(first.begin(), first.end(), Extreme{});
    std::fill(lowest.begin(), lowest.end(), kInf);
    for (const LineRange& s : ranges_) first[s.group] = update(s, ki, kj, step, lowest[s.group]);
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
    const int64_t i = first[worst].line;
    for (const LineRange& s : ranges_)
      if (s.group == worst) best_partner(s, tile_row(i), first[worst], lowest[worst], gain, j);
    if (j < 0) return report;

    // The step, cut at the box; a variable that ends very near to a bound is put on it.
    ki = tile_row(i);
    kj = tile_row(j);
    const int a = growing(i), b = shrinking(j);
    const int64_t vi = variable(i, a), vj = variable(j, b);
    const double middle = middle_[p_.dual.group[vi]];
    const double score_i = p_.dual.target[vi] - middle - double(up_[i]);
    const double score_j = p_.dual.target[vj] - middle - double(down_[j]);
    const double room_i = p_.dual.upper[vi] - beta(i, a), room_j = beta(j, b) - p_.dual.lower[vj];
    step = std::min({(double(up_[i]) - double(down_[j])) / curvature(i, j), room_i, room_j});
    const bool full = room_i - step <= kSnapToBound * (p_.dual.upper[vi] - p_.dual.lower[vi]);
    const bool empty = room_j - step <= kSnapToBound * (p_.dual.upper[vj] - p_.dual.lower[vj]);
    beta(i, a) = full ? p_.dual.upper[vi] : beta(i, a) + step;
    beta(j, b) = empty ? p_.dual.lower[vj] : beta(j, b) - step;
    set_status(i, score_i);
    set_status(j, score_j);
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
