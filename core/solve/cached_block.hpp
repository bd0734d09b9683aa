// A block of rows whose tile fits the cache: its layout, and rows that enter and leave. The steps
// on it are in second_order_pairs.hpp. Compiled once per instruction set.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <type_traits>
#include <vector>

#include "kernels/simd.hpp"
#include "parallel.hpp"
#include "solve/smo_blocks.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kSnapToBound = 1e-14;  // of the width of a box: what is nearer is put on the bound
constexpr size_t kCacheLine = 64;
constexpr int64_t kPollEvery = 20000000;    // steps times lines between two calls of p.stop
constexpr int64_t kConjugateLines = 2048;   // up to which directions are conjugate in any case
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

// The values of a tile in one precision: in float32, of a tile in double, those of its rounded copy,
// or none.
template <class T>
struct TileOf {
  const T* values;
  int64_t ld;

  explicit TileOf(const Subproblem& p) : values(static_cast<const T*>(p.tile)), ld(p.ld) {
    if (std::is_same_v<T, float> && p.in_double)
      values = static_cast<const T*>(static_cast<const void*>(p.rounded)), ld = p.rounded_ld;
  }
  bool whole_vectors(int64_t rows) const { return ld >= padded(rows); }
};

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

// A variable of a direction.
struct DirectionPart {
  int64_t line;
  int64_t place;  // of its coefficient
  double coef, lower, upper;
};

constexpr int kMostMoving =
    18;  // variables of a direction; one with fewer by two can be carried on

// A direction in which variables move, and its curvature.
struct Direction {
  DirectionPart part[kMostMoving];  // the first `count`
  int count;
  double curvature;

  void begin(const DirectionPart (&pair)[2], double bend) {
    part[0] = pair[0];
    part[1] = pair[1];
    count = 2;
    curvature = bend;
  }
  void carry_on(double carry, const DirectionPart (&pair)[2], double bend) {
    for (int x = 0; x < count; ++x) part[x].coef *= carry;
    for (const DirectionPart& other : pair) {
      int x = 0;
      while (x < count && part[x].place != other.place) ++x;
      if (x == count) part[count++] = {other.line, other.place, 0, other.lower, other.upper};
      part[x].coef += other.coef;
    }
    curvature = bend;
  }
  double gain(double length, double slope) const {
    return length * (slope - 0.5 * length * curvature);
  }
};

// A step along  e_i - e_j + carry * (the direction before).
struct Step {
  int64_t i = 0, j = 0;
  double length = 0, carry = 0;
};

// What becomes of K times the direction of the last step: it is not kept, or computed without or
// with the one before.
enum class Image { none, fresh, carried };

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

  // Takes all rows, without a copy of the tile. There must be one group, or two layers.
  void load_all(const std::vector<double>& middle);
  // Takes the given rows of the subproblem, with a copy of their tile, which is of type
  // Source; F relative to the middle of each group.
  template <class Source>
  void load_rows(const std::vector<int64_t>& rows, const std::vector<double>& middle);
  // `since_poll` is the work done since p.stop was last called, in steps times lines. Directions are
  // conjugate if there are at most `most_conjugate` lines. Sets: since_poll.
  SubproblemReport run(double tol, int64_t max_steps, int64_t& since_poll,
                       int64_t most_conjugate = kConjugateLines);
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
  template <class Source>
  void copy_row(const Source* from, const Source* next, T* to) const;
  T* room_for(int64_t values);
  Extreme update(const LineRange& s, const Step& step, double& lowest);
  template <Image image>
  Extreme update(const LineRange& s, const Step& step, double& lowest);
  template <bool conjugate>
  void best_partner(const LineRange& s, const Extreme& first, double lowest, double& gain,
                    int64_t& partner) const;
  double curvature(int64_t i, int64_t j) const;
  double score_of(int64_t line);
  DirectionPart part(int64_t line, int k, double coef) const;
  double room(const DirectionPart& part) const;
  double length_of(const Direction& along, double slope, bool& cut) const;
  void move(const Direction& along, double length, int64_t i, int64_t j, bool cut);
  Step take_step(int64_t i, int64_t j);
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
  Aligned<G> image_;  // K times the direction of the last step, if that has variables
  Direction last_;    // of the last step
  bool conjugate_ = false;
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

// Copies the values of one row of the tile, and asks for those of the next row: they lie in many
// pages, in each of which the processor would wait anew.
template <class T, class G>
template <class Source>
void Block<T, G>::copy_row(const Source* from, const Source* next, T* to) const {
  constexpr int64_t kTogether = 2;  // values for which a cache line is asked for
  const int64_t places = int64_t(row_.size());
  for (int64_t q = 0; q < places; q += kTogether) {  // padded to the lanes of a vector
    __builtin_prefetch(next + std::max<int64_t>(row_[q], 0));
    for (int64_t x = q; x < q + kTogether; ++x) to[x] = row_[x] < 0 ? T(0) : T(from[row_[x]]);
  }
}

template <class T, class G>
template <class Source>
void Block<T, G>::copy_tile() {
  const TileOf<Source> K(p_);
  const int64_t places = int64_t(row_.size());
  T* copy = room_for(places * places);
  tile_ = copy;
  ld_ = places;
  const int threads = places * places > kWorthSharing ? p_.threads : 1;
  for_ranges(places, 32, threads, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      if (row_[r] < 0) continue;
      const int64_t next = r + 1 < places && row_[r + 1] >= 0 ? row_[r + 1] : row_[r];
      copy_row(K.values + row_[r] * K.ld, K.values + next * K.ld, copy + r * places);
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
  const TileOf<T> K(p_);
  tile_ = K.values;
  ld_ = K.ld;
  load_lines();
}

template <class T, class G>
void Block<T, G>::load_lines() {
  const int64_t lines = ranges_.back().line + ranges_.back().size;
  const int64_t places = int64_t(row_.size());
  up_.assign(lines, G(-kInf));
  down_.assign(lines, G(kInf));
  diag_.assign(lines, G(0));
  image_.assign(lines, G(0));
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
