// Two levels below the working set: blocks of rows, and pairs of variables within a block.
//
//   repeat   1) violation per group over the working set; stop at tol
//            2) block = the rows that violate most, then free ones
//            3) copy the block's tile; pair steps inside it (Block::run)
//            4) scores of the whole working set += K[:, changed] * change      (parallel)
#include "smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "simd.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kTau = 1e-12;         // least curvature of a pair
constexpr double kSnap = 1e-14;        // of the width of a box: nearer than this is at the bound
constexpr double kLooser = 0.1;        // a block that is not the whole set is solved to this part
constexpr int64_t kStepsPerRow = 100;  // of a block, before its rows are chosen anew
constexpr int kLanes = Simd<double>::lanes;

inline int64_t padded(int64_t n) {
  return (n + kLanes - 1) / kLanes * kLanes;
}

// A run of variables whose tile columns are consecutive and whose group is the same.
struct Segment {
  int64_t var = 0;     // first variable
  int64_t column = 0;  // tile column of that variable
  int64_t size = 0;    // a multiple of the vector width
  int group = 0;
};

struct Extreme {
  double value = -kInf;
  int64_t var = -1;
};

// Pair steps on a block whose tile fits the cache.
//
// Instead of F and the two box tests, two arrays are kept: `up` is F where beta may grow and -inf
// elsewhere, `down` is F where beta may shrink and +inf elsewhere. A step changes the status of
// two variables only, so that the update of F and the search for the next first variable are one
// pass over (up, down, K_i, K_j), and the search for the second is one over (down, K_i).
template <class T>
class Block {
 public:
  Block(const Subproblem& p, int64_t capacity) : p_(p) {
    ld_ = padded(capacity) + (p.groups - 1) * kLanes;
    tile_.resize(ld_ * ld_);
  }

  // Takes over the given rows of the subproblem.
  void load_rows(const std::vector<int64_t>& rows);
  SubproblemReport run(double tol, int64_t max_steps);
  // Sets: beta of the subproblem; `changed` and `change` to the rows whose sum c moved.
  void unload(std::vector<int64_t>& changed, std::vector<double>& change) const;

 private:
  void lay_out(const std::vector<int64_t>& rows);
  void copy_tile();
  Extreme update(const Segment& s, const T* ki, const T* kj, double step, double& lowest);
  void best_partner(const Segment& s, const T* ki, double fi, double kii, double& gain,
                    int64_t& partner) const;
  void set_status(int64_t v, double f);
  const T* tile_row(int64_t v) const { return &tile_[place_[v] * ld_]; }

  const Subproblem& p_;
  int64_t ld_;
  std::vector<T> tile_;
  std::vector<int64_t> row_;     // place in the tile -> row of the subproblem, or -1
  std::vector<int64_t> place_;   // variable -> its row and column in the tile
  std::vector<int64_t> source_;  // variable -> index in the arrays of the subproblem, or -1
  std::vector<double> up_, down_, diag_, beta_;
  std::vector<Segment> segments_;
};

// One layer: rows of one group lie together, so that each group is a segment.
// Two layers: each layer is a segment over the same columns.
template <class T>
void Block<T>::lay_out(const std::vector<int64_t>& rows) {
  row_.clear();
  segments_.clear();
  if (p_.layers == 1) {
    for (int g = 0; g < p_.groups; ++g) {
      const int64_t begin = int64_t(row_.size());
      for (int64_t r : rows)
        if (p_.group[r] == g) row_.push_back(r);
      if (int64_t(row_.size()) == begin) continue;
      row_.resize(padded(int64_t(row_.size())), -1);
      segments_.push_back({begin, begin, int64_t(row_.size()) - begin, g});
    }
  } else {
    row_ = rows;
    row_.resize(padded(int64_t(rows.size())), -1);
    const int64_t size = int64_t(row_.size());
    for (int layer = 0; layer < p_.layers; ++layer)
      segments_.push_back({layer * size, 0, size, p_.group[layer * p_.layer_stride]});
  }
}

template <class T>
void Block<T>::copy_tile() {
  const T* K = static_cast<const T*>(p_.tile);
  const int64_t places = int64_t(row_.size());
#pragma omp parallel for num_threads(p_.threads) schedule(static) if (places > 256)
  for (int64_t r = 0; r < places; ++r) {
    if (row_[r] < 0) continue;
    const T* from = K + row_[r] * p_.ld;
    T* to = &tile_[r * ld_];
    for (int64_t q = 0; q < places; ++q) to[q] = row_[q] < 0 ? T(0) : from[row_[q]];
  }
}

template <class T>
void Block<T>::load_rows(const std::vector<int64_t>& rows) {
  lay_out(rows);
  copy_tile();
  const int64_t vars = segments_.back().var + segments_.back().size;
  up_.assign(vars, -kInf);
  down_.assign(vars, kInf);
  diag_.assign(vars, 0.0);
  beta_.assign(vars, 0.0);
  source_.assign(vars, -1);
  place_.assign(vars, 0);
  const int64_t places = int64_t(row_.size());
  for (int64_t v = 0; v < vars; ++v) {
    place_[v] = v % places;
    const int64_t row = row_[place_[v]];
    if (row < 0) continue;
    source_[v] = (v / places) * p_.layer_stride + row;
    diag_[v] = double(tile_[place_[v] * ld_ + place_[v]]);
    beta_[v] = p_.beta[source_[v]];
    set_status(v, p_.target[source_[v]] - p_.score[row]);
  }
}

template <class T>
void Block<T>::set_status(int64_t v, double f) {
  up_[v] = beta_[v] < p_.upper[source_[v]] ? f : -kInf;
  down_[v] = beta_[v] > p_.lower[source_[v]] ? f : kInf;
}

// F -= step * (K_i - K_j) over a segment. Returns the first variable (largest F that may grow).
template <class T>
Extreme Block<T>::update(const Segment& s, const T* ki, const T* kj, double step, double& lowest) {
  typedef Simd<double>::Int Int;
  Vec<double> best = splat(-kInf), low = splat(kInf);
  Int at = {}, index;
  for (int l = 0; l < kLanes; ++l) index[l] = l;
  double* up = &up_[s.var];
  double* down = &down_[s.var];
  for (int64_t t = 0; t < s.size; t += kLanes) {
    const Vec<double> shift = step * (load_wide(ki + s.column + t) - load_wide(kj + s.column + t));
    const Vec<double> u = load(up + t) - shift;
    const Vec<double> d = load(down + t) - shift;
    store(up + t, u);
    store(down + t, d);
    const Int more = u > best;
    best = more ? u : best;
    at = more ? index : at;
    low = smaller(d, low);
    index += kLanes;
  }
  Extreme found;
  for (int l = 0; l < kLanes; ++l) {
    lowest = std::min(lowest, low[l]);
    if (best[l] > found.value || (best[l] == found.value && found.var > s.var + at[l]))
      found = {best[l], s.var + at[l]};
  }
  return found;
}

// Largest (f_i - F_j)^2 / eta_ij over variables j that may shrink and lie below f_i; quotients are
// compared by cross-multiplication.
template <class T>
void Block<T>::best_partner(const Segment& s, const T* ki, double fi, double kii, double& gain,
                            int64_t& partner) const {
  typedef Simd<double>::Int Int;
  Vec<double> top = {}, bottom = splat(1.0);
  Int at = {}, index;
  for (int l = 0; l < kLanes; ++l) index[l] = l;
  const double* down = &down_[s.var];
  const double* diag = &diag_[s.var];
  for (int64_t t = 0; t < s.size; t += kLanes) {
    // -inf where beta may not shrink
    const Vec<double> diff = larger(fi - load(down + t), Vec<double>{});
    const Vec<double> eta =
        larger(kii + load(diag + t) - 2.0 * load_wide(ki + s.column + t), splat(kTau));
    const Vec<double> square = diff * diff;
    const Int more = square * bottom > top * eta;
    top = more ? square : top;
    bottom = more ? eta : bottom;
    at = more ? index : at;
    index += kLanes;
  }
  for (int l = 0; l < kLanes; ++l) {
    const double g = top[l] / bottom[l];
    if (g > gain || (g == gain && g > 0 && partner > s.var + at[l])) {
      gain = g;
      partner = s.var + at[l];
    }
  }
}

template <class T>
SubproblemReport Block<T>::run(double tol, int64_t max_steps) {
  SubproblemReport report;
  std::vector<Extreme> first(p_.groups);
  std::vector<double> lowest(p_.groups);
  const T* ki = tile_.data();
  const T* kj = ki;
  double step = 0;
  while (true) {
    // Apply the last step and find, in each group, the variable with the largest F that may grow.
    std::fill(first.begin(), first.end(), Extreme{});
    std::fill(lowest.begin(), lowest.end(), kInf);
    for (const Segment& s : segments_) {
      const Extreme e = update(s, ki, kj, step, lowest[s.group]);
      if (e.value > first[s.group].value) first[s.group] = e;
    }
    report.violation = 0;
    for (int g = 0; g < p_.groups; ++g)
      if (first[g].var >= 0)
        report.violation = std::max(report.violation, first[g].value - lowest[g]);
    if (!(report.violation > tol) || report.steps >= max_steps) return report;

    // The pair with the largest second-order gain.
    int64_t i = -1, j = -1;
    double gain = 0;
    for (const Segment& s : segments_) {
      const Extreme& e = first[s.group];
      if (e.var < 0 || !(e.value > lowest[s.group])) continue;
      const double before = gain;
      best_partner(s, tile_row(e.var), e.value, diag_[e.var], gain, j);
      if (gain > before) i = e.var;
    }
    if (i < 0) return report;

    // The step, cut at the box.
    ki = tile_row(i);
    kj = tile_row(j);
    const double fi = up_[i], fj = down_[j];
    const double eta = std::max(diag_[i] + diag_[j] - 2.0 * double(ki[place_[j]]), kTau);
    const double upper = p_.upper[source_[i]], lower = p_.lower[source_[j]];
    const double room_i = upper - beta_[i], room_j = beta_[j] - lower;
    step = std::min({(fi - fj) / eta, room_i, room_j});
    beta_[i] = room_i - step <= kSnap * (upper - p_.lower[source_[i]]) ? upper : beta_[i] + step;
    beta_[j] = room_j - step <= kSnap * (p_.upper[source_[j]] - lower) ? lower : beta_[j] - step;
    set_status(i, fi);
    set_status(j, fj);
    ++report.steps;
  }
}

template <class T>
void Block<T>::unload(std::vector<int64_t>& changed, std::vector<double>& change) const {
  const int64_t places = int64_t(row_.size());
  std::vector<double> moved(places, 0.0);
  for (size_t v = 0; v < source_.size(); ++v) {
    if (source_[v] < 0) continue;
    moved[place_[v]] += beta_[v] - p_.beta[source_[v]];
    p_.beta[source_[v]] = beta_[v];
  }
  changed.clear();
  change.clear();
  for (int64_t r = 0; r < places; ++r)
    if (row_[r] >= 0 && moved[r] != 0) {
      changed.push_back(row_[r]);
      change.push_back(moved[r]);
    }
}

// Violation of every group, and of every row against the middle of its group's interval:
// positive for violators, the distance from optimality for free variables, negative for
// variables that are rightly at a bound.
struct Survey {
  double violation = 0;
  std::vector<double> of_row;
};

Survey survey(const Subproblem& p) {
  std::vector<double> high(p.groups, -kInf), low(p.groups, kInf), middle(p.groups, 0.0);
  auto each = [&](auto&& f) {
    for (int layer = 0; layer < p.layers; ++layer)
      for (int64_t r = 0; r < p.rows; ++r) {
        const int64_t v = layer * p.layer_stride + r;
        f(r, int(p.group[v]), p.target[v] - p.score[r],
          p.beta[v]<p.upper[v], p.beta[v]> p.lower[v]);
      }
  };
  each([&](int64_t, int g, double f, bool up, bool down) {
    if (up) high[g] = std::max(high[g], f);
    if (down) low[g] = std::min(low[g], f);
  });
  Survey found;
  for (int g = 0; g < p.groups; ++g) {
    if (high[g] == -kInf || low[g] == kInf) continue;
    found.violation = std::max(found.violation, high[g] - low[g]);
    middle[g] = 0.5 * (high[g] + low[g]);
  }
  found.of_row.assign(p.rows, -kInf);
  each([&](int64_t r, int g, double f, bool up, bool down) {
    if (up) found.of_row[r] = std::max(found.of_row[r], f - middle[g]);
    if (down) found.of_row[r] = std::max(found.of_row[r], middle[g] - f);
  });
  return found;
}

// The `size` rows that violate most, in ascending order.
std::vector<int64_t> choose_block(const Survey& found, int64_t size) {
  const int64_t m = int64_t(found.of_row.size());
  std::vector<int64_t> rows(m);
  for (int64_t r = 0; r < m; ++r) rows[r] = r;
  if (size < m) {
    std::nth_element(rows.begin(), rows.begin() + size, rows.end(), [&](int64_t a, int64_t b) {
      return found.of_row[a] != found.of_row[b] ? found.of_row[a] > found.of_row[b] : a < b;
    });
    rows.resize(size);
    std::sort(rows.begin(), rows.end());
  }
  return rows;
}

// score += K[:, changed] * change. Sets: p.score.
template <class T>
void update_scores(const Subproblem& p, const std::vector<int64_t>& changed,
                   const std::vector<double>& change) {
  const T* K = static_cast<const T*>(p.tile);
  constexpr int64_t kStrip = 1024;
  const int64_t strips = (p.rows + kStrip - 1) / kStrip;
#pragma omp parallel for num_threads(p.threads) schedule(static)
  for (int64_t s = 0; s < strips; ++s) {
    const int64_t begin = s * kStrip, size = std::min(kStrip, p.rows - begin);
    double sum[kStrip] = {};
    for (size_t c = 0; c < changed.size(); ++c) {
      const T* k = K + changed[c] * p.ld + begin;
      const double x = change[c];
      for (int64_t t = 0; t < size; ++t) sum[t] += x * double(k[t]);
    }
    for (int64_t t = 0; t < size; ++t) p.score[begin + t] += sum[t];
  }
}

template <class T>
SubproblemReport solve_tile(const Subproblem& p) {
  SubproblemReport report;
  const int64_t size = std::min(p.block, p.rows);
  Block<T> block(p, size);
  std::vector<int64_t> changed;
  std::vector<double> change;
  while (true) {
    const Survey found = survey(p);
    report.violation = found.violation;
    if (!(found.violation > p.tol) || report.steps >= p.max_steps) return report;
    block.load_rows(choose_block(found, size));
    const double tol = size == p.rows ? p.tol : std::max(p.tol, kLooser * found.violation);
    const int64_t budget = std::min(p.max_steps - report.steps, kStepsPerRow * size);
    const SubproblemReport inner = block.run(tol, budget);
    if (inner.steps == 0) return report;
    block.unload(changed, change);
    update_scores<T>(p, changed, change);
    report.steps += inner.steps;
    ++report.blocks;
  }
}

}  // namespace

SubproblemReport solve(const Subproblem& p) {
  return p.in_double ? solve_tile<double>(p) : solve_tile<float>(p);
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
