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

// F -= step * (K_i - K_j) over a line range. Returns the first line (largest F that may grow).
template <class T, class G>
Extreme Block<T, G>::update(const LineRange& s, const T* ki, const T* kj, double step,
                            double& lowest) {
  typedef typename Simd<G>::Int Int;
  constexpr int lanes = Simd<G>::lanes;
  const Vec<G> length = splat(G(step));
  Vec<G> best = splat(G(-kInf)), low = splat(G(kInf));
  Int at = {}, index;
  for (int l = 0; l < lanes; ++l) index[l] = l;
  G* up = &up_[s.line];
  G* down = &down_[s.line];
  ki += s.column;
  kj += s.column;
  for (int64_t t = 0; t < s.size; t += lanes) {
    const Vec<G> shift = length * (load_as<G>(ki + t) - load_as<G>(kj + t));
    const Vec<G> u = load(up + t) - shift;
    const Vec<G> d = load(down + t) - shift;
    store(up + t, u);
    store(down + t, d);
    const Int more = u > best;
    best = more ? u : best;
    at = more ? index : at;
    low = smaller(d, low);
    index += lanes;
  }
  Extreme found;
  for (int l = 0; l < lanes; ++l) {
    lowest = std::min(lowest, double(low[l]));
    if (best[l] > found.value || (best[l] == found.value && found.line > s.line + at[l]))
      found = {double(best[l]), s.line + at[l]};
  }
  return found;
}

// Largest (f_i - F_j)^2 / eta_ij over lines j that may shrink and lie below f_i; quotients are
// compared by cross-multiplication. Differences are in units of about the violation, a power of
// two, so that squares do not underflow.
template <class T, class G>
void Block<T, G>::best_partner(const LineRange& s, const T* ki, const Extreme& first, double lowest,
                               double& gain, int64_t& partner) const {
  typedef typename Simd<G>::Int Int;
  constexpr int lanes = Simd<G>::lanes;
  const double unit = std::ldexp(1.0, std::ilogb(first.value - lowest));
  const Vec<G> scale = splat(G(1.0 / unit)), fi = splat(G(first.value));
  const Vec<G> kii = splat(diag_[first.line]), least = splat(G(kTau));
  Vec<G> top = {}, bottom = splat(G(1));
  Int at = {}, index;
  for (int l = 0; l < lanes; ++l) index[l] = l;
  const G* down = &down_[s.line];
  const G* diag = &diag_[s.line];
  ki += s.column;
  for (int64_t t = 0; t < s.size; t += lanes) {
    // -inf where beta may not shrink
    const Vec<G> diff = larger((fi - load(down + t)) * scale, Vec<G>{});
    const Vec<G> eta = larger(kii + load(diag + t) - G(2) * load_as<G>(ki + t), least);
    const Vec<G> square = diff * diff;
    const Int more = square * bottom > top * eta;
    top = more ? square : top;
    bottom = more ? eta : bottom;
    at = more ? index : at;
    index += lanes;
  }
  for (int l = 0; l < lanes; ++l) {
    const double g = double(top[l]) / double(bottom[l]) * unit * unit;
    if (g > gain || (g == gain && g > 0 && partner > s.line + at[l])) {
      gain = g;
      partner = s.line + at[l];
    }
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
    for (int g = 0; g < p_.dual.groups; ++g)
      if (first[g].line >= 0)
        report.violation = std::max(report.violation, first[g].value - lowest[g]);
    if (!(report.violation > tol) || report.steps >= max_steps || report.stopped) return report;

    // The pair with the largest second-order gain.
    int64_t i = -1, j = -1;
    double gain = 0;
    for (const LineRange& s : ranges_) {
      const Extreme& e = first[s.group];
      if (e.line < 0 || !(e.value > lowest[s.group])) continue;
      const double before = gain;
      best_partner(s, tile_row(e.line), e, lowest[s.group], gain, j);
      if (gain > before) i = e.line;
    }
    if (i < 0) return report;

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
