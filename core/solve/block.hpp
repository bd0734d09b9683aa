// Pair steps on a block of rows whose tile fits the cache; compiled once per instruction set.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "kernels/simd.hpp"
#include "parallel.hpp"
#include "solve/smo.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kTau = 1e-12;   // least curvature of a pair
constexpr double kSnap = 1e-14;  // of the width of a box: nearer than this is at the bound
constexpr size_t kCacheLine = 64;
constexpr int64_t kPollEvery = 20000000;    // steps times lines between two calls of p.stop
constexpr int kLanes = Simd<float>::lanes;  // the most that any vector has

inline int64_t padded(int64_t n) {
  return (n + kLanes - 1) / kLanes * kLanes;
}

// Vectors that begin at a cache line, so that no aligned load spans two.
template <class V>
struct OnCacheLine {
  typedef V value_type;
  OnCacheLine() = default;
  template <class U>
  OnCacheLine(const OnCacheLine<U>&) {}
  V* allocate(size_t n) {
    return static_cast<V*>(::operator new(n * sizeof(V), std::align_val_t(kCacheLine)));
  }
  void deallocate(V* p, size_t) { ::operator delete(p, std::align_val_t(kCacheLine)); }
  friend bool operator==(OnCacheLine, OnCacheLine) { return true; }
  friend bool operator!=(OnCacheLine, OnCacheLine) { return false; }
};

template <class V>
using Aligned = std::vector<V, OnCacheLine<V>>;

// A pair is made of two lines. A line is a row with those of its variables that are in one group.
// If there is one group, the two variables of a row (of which at most one is nonzero at the
// optimum) share a line, which halves the work.
//
// A line range has lines of the same group whose tile columns are consecutive.
struct LineRange {
  int64_t line = 0;    // first line
  int64_t column = 0;  // tile column of that line
  int64_t size = 0;    // a multiple of the vector width
  int group = 0;
};

struct Extreme {
  double value = -kInf;
  int64_t line = -1;
};

// Instead of F and the two box tests, two arrays are kept: `up` is the largest F of a line's
// variables that may grow and -inf if there is none, `down` the smallest F of those that may shrink
// and +inf if there is none. A step changes the status of two lines only, so that the update of F
// and the search for the next first line are one pass over (up, down, K_i, K_j), and the search for
// the second is one over (down, K_i).
//
// T is the type of the tile inside the block, G that of F. A float F halves the work. It (alone) is
// kept relative to the middle of its group's interval, so that its rounding is a small part of the
// violation; scores are then recomputed from the changes of the coefficients.
template <class T, class G>
class Block {
 public:
  explicit Block(const Subproblem& p)
      : p_(p), depth_(p.dual.groups == 1 ? p.dual.layers : 1), middle_(p.dual.groups, 0.0) {}

  // Takes all rows, without a copy of the tile. There must be one group.
  void load_all(const std::vector<double>& middle);
  // Takes the given rows of the subproblem, with a copy of their tile, which is of type
  // Source; F relative to the middle of each group.
  template <class Source>
  void load_rows(const std::vector<int64_t>& rows, const std::vector<double>& middle);
  // `since_poll` is the work done since p.stop was last called, in steps times lines. Sets:
  // since_poll.
  SubproblemReport run(double tol, int64_t max_steps, int64_t& since_poll);
  // Sets: beta of the subproblem; `changed` and `change` to the rows whose sum c moved.
  void unload(std::vector<int64_t>& changed, std::vector<double>& change);
  // Sets: the scores of the block's rows, from the F that the steps left.
  void unload_scores();
  // Sets: the scores of rows with empty boxes, which the steps do not follow.
  void score_fixed_rows(const std::vector<int64_t>& changed, const std::vector<double>& change);

 private:
  void load_lines();
  void lay_out(const std::vector<int64_t>& rows);
  template <class Source>
  void copy_tile();
  T* room_for(int64_t values);
  Extreme update(const LineRange& s, const T* ki, const T* kj, double step, double& lowest);
  void best_partner(const LineRange& s, const T* ki, const Extreme& first, double lowest,
                    double& gain, int64_t& partner) const;
  double curvature(int64_t i, int64_t j) const;
  void set_status(int64_t line, double score);
  const T* tile_row(int64_t line) const { return &tile_[place_[line] * ld_]; }

  // The variables of a line, as indices into the arrays of the subproblem.
  int64_t variable(int64_t line, int k) const { return source_[line] + k * p_.dual.stride; }
  double& beta(int64_t line, int k) { return beta_[line * depth_ + k]; }
  int growing(int64_t line);    // which of a line's variables has the F in `up`
  int shrinking(int64_t line);  // which of them has the F in `down`

  const Subproblem& p_;
  int depth_;                   // variables per line
  std::vector<double> middle_;  // of each group: subtracted from F
  const T* tile_ = nullptr;
  int64_t ld_ = 0;
  Aligned<T> copy_;              // the tile, if there is no scratch that holds it
  std::vector<int64_t> row_;     // place in the tile -> row of the subproblem, or -1
  std::vector<int64_t> place_;   // line -> its row and column in the tile
  std::vector<int64_t> source_;  // line -> its first variable in the subproblem, or -1
  Aligned<G> up_, down_, diag_;
  std::vector<double> beta_;
  std::vector<LineRange> ranges_;
};

// One layer: rows of one group lie together, so that each group is a line range.
// Two layers: one range if there is one group, a range per layer over the same columns if not.
template <class T, class G>
void Block<T, G>::lay_out(const std::vector<int64_t>& rows) {
  row_.clear();
  ranges_.clear();
  if (p_.dual.layers == 1) {
    for (int g = 0; g < p_.dual.groups; ++g) {
      const int64_t begin = int64_t(row_.size());
      for (int64_t r : rows)
        if (p_.dual.group[r] == g) row_.push_back(r);
      if (int64_t(row_.size()) == begin) continue;
      row_.resize(padded(int64_t(row_.size())), -1);
      ranges_.push_back({begin, begin, int64_t(row_.size()) - begin, g});
    }
  } else {
    row_ = rows;
    row_.resize(padded(int64_t(rows.size())), -1);
    const int64_t size = int64_t(row_.size());
    for (int layer = 0; layer < p_.dual.layers; layer += depth_)
      ranges_.push_back(
          {layer / depth_ * size, 0, size, int(p_.dual.group[layer * p_.dual.stride])});
  }
}

// Memory that was in use before is much cheaper than new: the system clears every page.
template <class T, class G>
T* Block<T, G>::room_for(int64_t values) {
  void* begin = p_.scratch;
  size_t bytes = size_t(p_.scratch_bytes);
  if (begin && std::align(kCacheLine, size_t(values) * sizeof(T), begin, bytes))
    return static_cast<T*>(begin);
  if (int64_t(copy_.size()) < values) copy_.resize(values);
  return copy_.data();
}

template <class T, class G>
template <class Source>
void Block<T, G>::copy_tile() {
  const Source* K = static_cast<const Source*>(p_.tile);
  const int64_t places = int64_t(row_.size());
  T* copy = room_for(places * places);
  tile_ = copy;
  ld_ = places;
  const int threads = places * places > kWorthSharing ? p_.threads : 1;
  for_ranges(places, 32, threads, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      if (row_[r] < 0) continue;
      const Source* from = K + row_[r] * p_.ld;
      T* to = copy + r * places;
      for (int64_t q = 0; q < places; ++q) to[q] = row_[q] < 0 ? T(0) : T(from[row_[q]]);
    }
  });
}

template <class T, class G>
template <class Source>
void Block<T, G>::load_rows(const std::vector<int64_t>& rows, const std::vector<double>& middle) {
  if (sizeof(G) < sizeof(double)) middle_ = middle;
  lay_out(rows);
  copy_tile<Source>();
  load_lines();
}

// Lines are padded to the vector width, and so is the tile: the padding is read, but comparisons
// with it never succeed.
template <class T, class G>
void Block<T, G>::load_all(const std::vector<double>& middle) {
  if (sizeof(G) < sizeof(double)) middle_ = middle;
  std::vector<int64_t> rows(p_.dual.rows);
  std::iota(rows.begin(), rows.end(), 0);
  lay_out(rows);
  tile_ = static_cast<const T*>(p_.tile);
  ld_ = p_.ld;
  load_lines();
}

template <class T, class G>
void Block<T, G>::load_lines() {
  const int64_t lines = ranges_.back().line + ranges_.back().size;
  const int64_t places = int64_t(row_.size());
  up_.assign(lines, G(-kInf));
  down_.assign(lines, G(kInf));
  diag_.assign(lines, G(0));
  beta_.assign(lines * depth_, 0.0);
  source_.assign(lines, -1);
  place_.assign(lines, 0);
  for (int64_t line = 0; line < lines; ++line) {
    place_[line] = line % places;
    const int64_t row = row_[place_[line]];
    if (row < 0) continue;
    source_[line] = (line / places) * p_.dual.stride + row;
    diag_[line] = G(tile_[place_[line] * ld_ + place_[line]]);
    for (int k = 0; k < depth_; ++k) beta(line, k) = p_.beta[variable(line, k)];
    set_status(line, p_.score[row]);
  }
}

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

    // The step, cut at the box.
    ki = tile_row(i);
    kj = tile_row(j);
    const int a = growing(i), b = shrinking(j);
    const int64_t vi = variable(i, a), vj = variable(j, b);
    const double middle = middle_[p_.dual.group[vi]];
    const double score_i = p_.dual.target[vi] - middle - double(up_[i]);
    const double score_j = p_.dual.target[vj] - middle - double(down_[j]);
    const double room_i = p_.dual.upper[vi] - beta(i, a), room_j = beta(j, b) - p_.dual.lower[vj];
    step = std::min({(double(up_[i]) - double(down_[j])) / curvature(i, j), room_i, room_j});
    const bool full = room_i - step <= kSnap * (p_.dual.upper[vi] - p_.dual.lower[vi]);
    const bool empty = room_j - step <= kSnap * (p_.dual.upper[vj] - p_.dual.lower[vj]);
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

template <class T, class G>
void Block<T, G>::unload(std::vector<int64_t>& changed, std::vector<double>& change) {
  const int64_t places = int64_t(row_.size());
  std::vector<double> moved(places, 0.0);
  for (size_t line = 0; line < source_.size(); ++line) {
    if (source_[line] < 0) continue;
    for (int k = 0; k < depth_; ++k) {
      const int64_t v = variable(int64_t(line), k);
      moved[place_[line]] += beta_[line * depth_ + k] - p_.beta[v];
      p_.beta[v] = beta_[line * depth_ + k];
    }
  }
  changed.clear();
  change.clear();
  for (int64_t r = 0; r < places; ++r)
    if (row_[r] >= 0 && moved[r] != 0) {
      changed.push_back(row_[r]);
      change.push_back(moved[r]);
    }
}

template <class T, class G>
void Block<T, G>::unload_scores() {
  for (size_t line = 0; line < source_.size(); ++line) {
    if (source_[line] < 0) continue;
    const int up = growing(int64_t(line));
    const int down = up < 0 ? shrinking(int64_t(line)) : -1;
    if (up >= 0)
      p_.score[row_[place_[line]]] =
          p_.dual.target[variable(int64_t(line), up)] - double(up_[line]);
    else if (down >= 0)
      p_.score[row_[place_[line]]] =
          p_.dual.target[variable(int64_t(line), down)] - double(down_[line]);
  }
}

template <class T, class G>
void Block<T, G>::score_fixed_rows(const std::vector<int64_t>& changed,
                                   const std::vector<double>& change) {
  for (size_t line = 0; line < source_.size(); ++line) {
    if (source_[line] < 0 || up_[line] > -kInf || down_[line] < kInf) continue;
    const T* k = tile_row(int64_t(line));
    for (size_t c = 0; c < changed.size(); ++c)
      p_.score[row_[place_[line]]] += change[c] * double(k[changed[c]]);
  }
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
