// Pair steps on a block (cached_block.hpp), chosen by their second-order gain; compiled once per
// instruction set.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
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

// F -= step * (K_i - K_j) over a line range. Returns its first line.
template <class T, class G>
First Block<T, G>::update(const LineRange& s, const T* ki, const T* kj, double step) {
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
  First found;
  for (int l = 0; l < lanes; ++l) {
    found.lowest = std::min(found.lowest, double(low[l]));
    if (best[l] > found.value || (best[l] == found.value && found.line > s.line + at[l])) {
      found.value = double(best[l]);
      found.line = s.line + at[l];
    }
  }
  if (found.line >= 0) {
    const int k = growing(found.line);
    found.room = p_.dual.upper[variable(found.line, k)] - beta(found.line, k);
  }
  return found;
}

// About 1 / x: twelve bits are enough to compare gains.
inline Vec<float> reciprocal(Vec<float> x) {
#if defined(__AVX512F__)
  return _mm512_rcp14_ps(x);
#elif defined(__AVX2__)
  return _mm256_rcp_ps(x);
#else
  return 1.0f / x;
#endif
}

// Largest (f_i - F_j)^2 / eta_ij over lines j that may shrink and lie below f_i. Differences are in
// units of about the violation, a power of two, so that squares do not underflow. Quotients are
// compared by cross-multiplication if F is double; if it is float, by quotients that are the same
// however lines are divided into ranges.
template <class T, class G>
Second Block<T, G>::best_partner(const LineRange& s, const T* ki, const First& first) const {
  typedef typename Simd<G>::Int Int;
  constexpr int lanes = Simd<G>::lanes;
  constexpr bool quotients = sizeof(G) == sizeof(float);
  const double unit = std::ldexp(1.0, std::ilogb(first.value - first.lowest));
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
    Vec<G> gain = diff * diff;
    Int more;
    if constexpr (quotients) {
      gain *= reciprocal(eta);
      more = gain > top;
    } else {
      more = gain * bottom > top * eta;
      bottom = more ? eta : bottom;
    }
    top = more ? gain : top;
    at = more ? index : at;
    index += lanes;
  }
  Second found;
  for (int l = 0; l < lanes; ++l) {
    const double gain = double(top[l]) / double(bottom[l]) * unit * unit;
    if (gain > found.gain || (gain == found.gain && gain > 0 && found.line > s.line + at[l])) {
      found.gain = gain;
      found.line = s.line + at[l];
    }
  }
  return found;
}

// K_ii + K_jj - 2 K_ij by the tile of the subproblem, of which the block may have a rounded copy.
template <class T, class G>
double Block<T, G>::curvature(int64_t i, int64_t j) const {
  const int64_t a = row_[place_[i]], b = row_[place_[j]];
  auto of = [&](auto* K) {
    return double(K[a * p_.ld + a]) + double(K[b * p_.ld + b]) - 2.0 * double(K[a * p_.ld + b]);
  };
  const double eta = p_.in_double ? of(static_cast<const double*>(p_.tile))
                                  : of(static_cast<const float*>(p_.tile));
  return std::max(eta, kTau);
}

// Moves variable k of a line; one that ends very near to a bound is put on it. `f` is the F of the
// variable before the step. Sets: beta, up and down of the line.
template <class T, class G>
void Block<T, G>::move(int64_t line, int k, double change, double room, double f) {
  const int64_t v = variable(line, k);
  const double score = p_.dual.target[v] - middle_[p_.dual.group[v]] - f;
  const bool at_end =
      room - std::abs(change) <= kSnapToBound * (p_.dual.upper[v] - p_.dual.lower[v]);
  const double end = change > 0 ? p_.dual.upper[v] : p_.dual.lower[v];
  beta(line, k) = at_end ? end : beta(line, k) + change;
  set_status(line, score);
}

// Steps of one thread on its lines; in a team all members return the same report.
template <class T, class G>
SubproblemReport Block<T, G>::steps(const Seat& seat, First* first, double tol, int64_t max_steps) {
  SubproblemReport report;
  const T* ki = tile_;
  const T* kj = ki;
  double step = 0;
  while (true) {
    // Apply the last step and find, in each group, the line with the largest F that may grow.
    report.violation = 0;
    for (int g = 0; g < p_.dual.groups; ++g) first[g] = First{};
    for (const LineRange* s = seat.ranges; s < seat.ranges + seat.count; ++s) {
      First& found = first[s->group];
      found = update(*s, ki, kj, step);
      if (seat.calling) found.late = tempo_.late(report.steps, seat.begun);
      if (seat.team) found = seat.team->first(seat.me, report.steps + 1, found);
      report.stopped = found.late;
      if (found.line >= 0)
        report.violation = std::max(report.violation, found.value - found.lowest);
    }
    if (!(report.violation > tol) || report.steps >= max_steps || report.stopped) return report;

    // The pair with the largest second-order gain.
    const First* top = nullptr;
    Second partner;
    for (const LineRange* s = seat.ranges; s < seat.ranges + seat.count; ++s) {
      const First& found = first[s->group];
      if (found.line < 0 || !(found.value > found.lowest)) continue;
      const Second second = best_partner(*s, tile_row(found.line), found);
      if (!seat.team && !(second.gain > partner.gain)) continue;
      top = &found;
      partner = second;
    }
    if (partner.line >= 0) {
      const int k = shrinking(partner.line);
      partner.value = double(down_[partner.line]);
      partner.room = beta(partner.line, k) - p_.dual.lower[variable(partner.line, k)];
      partner.curvature = curvature(top->line, partner.line);
    }
    if (seat.team) partner = seat.team->second(seat.me, report.steps + 1, partner);
    if (partner.line < 0) return report;

    // The step, cut at the box.
    const int64_t i = top->line, j = partner.line;
    ki = tile_row(i);
    kj = tile_row(j);
    step = std::min({(top->value - partner.value) / partner.curvature, top->room, partner.room});
    const int a = seat.has(i) ? growing(i) : -1, b = seat.has(j) ? shrinking(j) : -1;
    if (a >= 0) move(i, a, step, top->room, top->value);
    if (b >= 0) move(j, b, -step, partner.room, partner.value);
    ++report.steps;
  }
}

template <class T, class G>
SubproblemReport Block<T, G>::steps_alone(double tol, int64_t max_steps) {
  std::vector<First> first(p_.dual.groups);
  const auto begun = std::chrono::steady_clock::now();
  const SubproblemReport report =
      steps({ranges_.data(), int(ranges_.size())}, first.data(), tol, max_steps);
  tempo_.took(report.steps, std::chrono::steady_clock::now() - begun);
  return report;
}

// The result does not depend on how many threads come to help.
template <class T, class G>
SubproblemReport Block<T, G>::steps_together(double tol, int64_t max_steps) {
  Team team(members());
  const LineRange all = ranges_.front();
  const std::thread::id caller = std::this_thread::get_id();
  SubproblemReport report;
  share(members(), members(), [&](Tasks&) {
    const int me = team.join();
    if (me < 0) return;
    const bool calling = std::this_thread::get_id() == caller;
    if (calling) team.close();
    const auto begun = std::chrono::steady_clock::now();
    const int64_t blocks = (all.size + kLinesApart - 1) / kLinesApart;
    const int64_t begin = blocks * me / team.size() * kLinesApart;
    const int64_t end = std::min(blocks * (me + 1) / team.size() * kLinesApart, all.size);
    const LineRange mine{all.line + begin, all.column + begin, end - begin, all.group};
    First first;
    const SubproblemReport part =
        steps({&mine, 1, &team, me, calling, begun}, &first, tol, max_steps);
    if (!calling) return;
    report = part;
    tempo_.took(part.steps, std::chrono::steady_clock::now() - begun);
  });
  return report;
}

template <class T, class G>
int Block<T, G>::members() const {
  if (sizeof(G) == sizeof(double) || p_.dual.groups > 1 || p_.threads < kLeastThreads) return 1;
  return int(std::min<int64_t>({p_.threads, Team::kMost, ranges_.front().size / kLinesOfMember}));
}

template <class T, class G>
SubproblemReport Block<T, G>::run(double tol, int64_t max_steps, int64_t& since_poll) {
  SubproblemReport report;
  const int64_t lines = int64_t(up_.size());
  tempo_.begin(members() > 1);
  while (true) {
    const int64_t most = std::min(max_steps - report.steps, tempo_.work() / lines + 1);
    const SubproblemReport part =
        tempo_.together() ? steps_together(tol, most) : steps_alone(tol, most);
    report.violation = part.violation;
    report.steps += part.steps;
    since_poll += part.steps * lines;
    if (since_poll > kPollEvery && p_.stop) {
      report.stopped = p_.stop();
      since_poll = 0;
    }
    const bool done = part.steps < most && !part.stopped;  // not only by this team
    if (done || report.steps >= max_steps || report.stopped) return report;
  }
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
