// Left rows by their nonzeros, against a dense panel (panel.hpp) or an inverted one.
//
// A single row is multiplied with kChunk tiles at a time, so that there are enough accumulators to
// keep the multiply-adds busy. Neighbours that use the same columns are evaluated together, as
// dense rows are, over these columns only. Against right rows that are very sparse themselves, only
// matching entries are visited.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/panel.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {

constexpr double kJointBelow = 0.5;      // work per nonzero below which rows are joined
constexpr double kInvertedBelow = 0.03;  // density below which the inverted panel is faster
constexpr int64_t kInvertedRows = 4096;  // right rows of an inverted panel

// The nonzeros of one left row, scaled, and `stride` times the column of each.
template <class T>
struct SparseRow {
  int64_t size = 0;
  std::vector<int64_t> place;
  std::vector<T> value;
  T start = 0;
  T l1 = 0;

  void read(const Folding<T>& fold, const Rows& rows, int64_t i, std::vector<T>& dense,
            int64_t stride) {
    const bool csr = rows.storage == Rows::Storage::csr;
    const int64_t most = csr ? rows.nonzeros(i) : rows.d;
    if (int64_t(place.size()) < most) {
      place.resize(most);
      value.resize(most);
    }
    size = 0;
    auto take = [&](int64_t k, T v) {  // written in any case: a branch would be a guess
      place[size] = k * stride;
      value[size] = v;
      size += v != T(0);
    };
    if (csr) {
      for (int64_t p = rows.begin_of(i); p < rows.begin_of(i + 1); ++p)
        take(rows.column_at(p), T(rows.value_at(p)));
    } else {
      dense.resize(rows.d);
      load_row(rows, i, dense.data());
      for (int64_t k = 0; k < rows.d; ++k) take(k, dense[k]);
    }
    double square = 0, absolute = 0;
    for (int64_t p = 0; p < size; ++p) {
      square += double(value[p]) * double(value[p]);
      value[p] *= fold.left_scale;
      absolute += std::abs(double(value[p]));
    }
    start = T(double(fold.norm) * square);
    l1 = T(absolute);
  }
};

// A few tiles of right rows against one sparse left row: enough accumulators to keep the
// multiply-adds busy, and a part of the panel that stays in the cache for a block of left rows.
template <KernelKind kind, class T, int G, class Emit>
inline void sparse_group(const SparseRow<T>& x, const Panel<T>& panel, int64_t t0, int degree,
                         Emit&& emit) {
  constexpr int width = Panel<T>::width, lanes = Simd<T>::lanes;
  const int64_t step = panel.d * width;
  Vec<T> z[G][2];
  for (int g = 0; g < G; ++g) {
    const int64_t at = (t0 + g) * width;
    z[g][0] = load(&panel.start[at]) + x.start;
    z[g][1] = load(&panel.start[at + lanes]) + x.start;
    if constexpr (kind == KernelKind::laplacian) {
      z[g][0] -= load(&panel.l1_norm[at]);
      z[g][1] -= load(&panel.l1_norm[at + lanes]);
    }
  }
  const T* const first = panel.features.data() + t0 * step;
  for (int64_t p = 0; p < x.size; ++p) {
    const T v = x.value[p];
    const T* s = first + x.place[p];
    for (int g = 0; g < G; ++g) {
      const Vec<T> s0 = load(s + g * step), s1 = load(s + g * step + lanes);
      if constexpr (kind == KernelKind::laplacian) {
        z[g][0] -= magnitude<T>(v - s0) - magnitude<T>(s0);
        z[g][1] -= magnitude<T>(v - s1) - magnitude<T>(s1);
      } else {
        z[g][0] += v * s0;
        z[g][1] += v * s1;
      }
    }
  }
  for (int g = 0; g < G; ++g)
    emit(t0 + g, value_of<kind, T>(z[g][0], degree), value_of<kind, T>(z[g][1], degree));
}

template <KernelKind kind, class T, class Emit>
inline void sparse_tiles(const SparseRow<T>& x, const Panel<T>& panel, int64_t t0, int64_t t1,
                         const Folding<T>& fold, Emit&& emit) {
  if (t1 - t0 == kChunk)
    sparse_group<kind, T, kChunk>(x, panel, t0, fold.degree, emit);
  else
    for (int64_t t = t0; t < t1; ++t) sparse_group<kind, T, 1>(x, panel, t, fold.degree, emit);
}

// kRows left rows whose nonzeros share columns, as neighbouring similar rows do: the columns in
// which all rows are equal, which are evaluated once for all, and those in which they differ.
template <class T>
struct JointRows {
  std::vector<int64_t> same_place, place;
  std::vector<T> same_value;
  std::vector<T> value;  // columns in which rows differ x kRows
  T start[kRows];

  // Returns whether the rows together are less work than one by one: a column in which they differ
  // costs kRows multiply-adds for each vector of the panel, a nonzero alone one that waits for its
  // load. `slot` has an entry below zero for each column, before and after.
  bool read(const SparseRow<T>* x, std::vector<int32_t>& slot) {
    int64_t apart = 0;
    place.clear();
    shared.clear();
    for (int r = 0; r < kRows; ++r) {
      apart += x[r].size;
      for (int64_t p = 0; p < x[r].size; ++p) {
        int32_t& at = slot[x[r].place[p] / Panel<T>::width];
        if (at < 0) {
          at = int32_t(place.size());
          place.push_back(x[r].place[p]);
          shared.push_back(0);
        }
        ++shared[at];
      }
    }
    const int64_t full = std::count(shared.begin(), shared.end(), kRows);
    bool joint = worth_it(int64_t(place.size()) - full, full, apart);  // as far as one can tell
    if (joint) {
      value.assign(place.size() * kRows, T(0));
      for (int r = 0; r < kRows; ++r) {
        start[r] = x[r].start;
        for (int64_t p = 0; p < x[r].size; ++p)
          value[slot[x[r].place[p] / Panel<T>::width] * kRows + r] = x[r].value[p];
      }
    }
    for (const int64_t at : place) slot[at / Panel<T>::width] = -1;
    if (joint) {
      set_same_apart();
      joint = worth_it(int64_t(place.size()), int64_t(same_place.size()), apart);
    }
    return joint;
  }

 private:
  std::vector<int> shared;  // how many of the rows use a column

  static bool worth_it(int64_t different, int64_t same, int64_t apart) {
    return double(different * kRows + same) <= kJointBelow * kRows * double(apart);
  }

  // Moves columns in which all rows are the same out of the others. Sets: all but start.
  void set_same_apart() {
    same_place.clear();
    same_value.clear();
    size_t kept = 0;
    for (size_t c = 0; c < place.size(); ++c) {
      const T* v = &value[c * kRows];
      if (std::all_of(v + 1, v + kRows, [&](T other) { return other == v[0]; })) {
        same_place.push_back(place[c]);
        same_value.push_back(v[0]);
        continue;
      }
      place[kept] = place[c];
      std::copy_n(v, kRows, &value[kept * kRows]);
      ++kept;
    }
    place.resize(kept);
    value.resize(kept * kRows);
  }
};

// Values of kRows rows against a tile, over the columns of the rows only.
template <KernelKind kind, class T, class Emit>
inline void joint_tile(const JointRows<T>& x, const Panel<T>& panel, int64_t t, int degree,
                       Emit&& emit) {
  constexpr int width = Panel<T>::width, lanes = Simd<T>::lanes;
  const T* const tile = panel.features.data() + t * panel.d * width;
  Vec<T> first[2] = {load(&panel.start[t * width]), load(&panel.start[t * width + lanes])};
  if constexpr (kind == KernelKind::laplacian) {
    first[0] -= load(&panel.l1_norm[t * width]);
    first[1] -= load(&panel.l1_norm[t * width + lanes]);
  }
  for (size_t p = 0; p < x.same_place.size(); ++p) {
    const T* s = tile + x.same_place[p];
    const T v = x.same_value[p];
    const Vec<T> s0 = load(s), s1 = load(s + lanes);
    if constexpr (kind == KernelKind::laplacian) {
      first[0] -= magnitude<T>(v - s0) - magnitude<T>(s0);
      first[1] -= magnitude<T>(v - s1) - magnitude<T>(s1);
    } else {
      first[0] += v * s0;
      first[1] += v * s1;
    }
  }
  Vec<T> z[kRows][2];
  for (int r = 0; r < kRows; ++r) {
    z[r][0] = first[0] + x.start[r];
    z[r][1] = first[1] + x.start[r];
  }
  const size_t count = x.place.size();
  for (size_t p = 0; p < count; ++p) {
    const T* s = tile + x.place[p];
    const T* v = &x.value[p * kRows];
    const Vec<T> s0 = load(s), s1 = load(s + lanes);
    if constexpr (kind == KernelKind::laplacian) {
      const Vec<T> m0 = magnitude<T>(s0), m1 = magnitude<T>(s1);
      for (int r = 0; r < kRows; ++r) {
        z[r][0] -= magnitude<T>(v[r] - s0) - m0;
        z[r][1] -= magnitude<T>(v[r] - s1) - m1;
      }
    } else {
      for (int r = 0; r < kRows; ++r) {
        z[r][0] += v[r] * s0;
        z[r][1] += v[r] * s1;
      }
    }
  }
  for (int r = 0; r < kRows; ++r)
    emit(r, value_of<kind, T>(z[r][0], degree), value_of<kind, T>(z[r][1], degree));
}

// kBlock sparse left rows, in groups of kRows that are evaluated together where that is less work.
template <class T>
struct SparseBlock {
  std::vector<SparseRow<T>> x = std::vector<SparseRow<T>>(kBlock);
  std::vector<JointRows<T>> group = std::vector<JointRows<T>>(kBlock / kRows);
  bool joint[kBlock / kRows];
  int64_t filled = 0;  // rows that exist
  std::vector<T> dense;
  std::vector<int32_t> slot;

  void read(const Folding<T>& fold, const RowList& list, int64_t from, int64_t to) {
    slot.resize(list.rows->d, -1);
    filled = to - from;
    for (int64_t i = from; i < to; ++i)
      x[i - from].read(fold, *list.rows, list.at(i), dense, Panel<T>::width);
    for (int64_t g = 0; g * kRows < to - from; ++g)
      joint[g] = (g + 1) * kRows <= to - from && group[g].read(&x[g * kRows], slot);
  }
};

// Right rows by column: for feature k the (row, value) pairs in entries [begin[k], begin[k + 1]).
template <class T>
struct InvertedPanel {
  int64_t size = 0;
  int64_t padded = 0;
  std::vector<int64_t> begin;
  std::vector<int32_t> row;
  std::vector<T> value;
  std::vector<T> start;

  void pack(const Folding<T>& fold, const RowList& list, int64_t from, int64_t to) {
    const Rows& rows = *list.rows;
    constexpr int width = Panel<T>::width;
    size = to - from;
    padded = (size + width - 1) / width * width;
    begin.assign(rows.d + 1, 0);
    start.assign(padded, T(0));
    for (int64_t p = from; p < to; ++p)
      for (int64_t e = rows.begin_of(list.at(p)); e < rows.begin_of(list.at(p) + 1); ++e)
        ++begin[rows.column_at(e) + 1];
    for (int64_t k = 0; k < rows.d; ++k) begin[k + 1] += begin[k];
    row.resize(begin[rows.d]);
    value.resize(begin[rows.d]);
    std::vector<int64_t> next(begin.begin(), begin.end() - 1);
    for (int64_t p = from; p < to; ++p) {
      double square = 0, absolute = 0;
      for (int64_t e = rows.begin_of(list.at(p)); e < rows.begin_of(list.at(p) + 1); ++e) {
        const T v = T(rows.value_at(e));
        const int64_t at = next[rows.column_at(e)]++;
        row[at] = int32_t(p - from);
        value[at] = fold.right_scale * v;
        square += double(v) * double(v);
        absolute += std::abs(double(value[at]));
      }
      start[p - from] = fold.l1 ? T(-absolute) : T(double(fold.norm) * square) + fold.start;
    }
  }

  // Sets: z[0..padded) to the accumulated values of left row x.
  void accumulate(const Folding<T>& fold, const SparseRow<T>& x, T* z) const {
    for (int64_t j = 0; j < padded; ++j) z[j] = start[j] + (fold.l1 ? -x.l1 : x.start);
    for (int64_t p = 0; p < x.size; ++p) {
      const T v = x.value[p];
      const int64_t end = begin[x.place[p] + 1];
      if (fold.l1) {
        for (int64_t e = begin[x.place[p]]; e < end; ++e)
          z[row[e]] -= std::abs(v - value[e]) - std::abs(v) - std::abs(value[e]);
      } else {
        for (int64_t e = begin[x.place[p]]; e < end; ++e) z[row[e]] += v * value[e];
      }
    }
  }
};

constexpr double kVanishes = 200;  // 2 to minus this is negligible as a kernel value
constexpr double kLong = 1000;     // 2 to minus the norms: beyond, their difference loses digits

// |x - s|^2 of two sparse rows, whose columns ascend.
inline double squared_difference(const Rows& left, int64_t i, const Rows& right, int64_t j) {
  int64_t p = left.begin_of(i), q = right.begin_of(j);
  const int64_t p_end = left.begin_of(i + 1), q_end = right.begin_of(j + 1);
  double sum = 0;
  while (p < p_end || q < q_end) {
    const int64_t a = p < p_end ? left.column_at(p) : left.d;
    const int64_t b = q < q_end ? right.column_at(q) : right.d;
    double difference = 0;
    if (a <= b) difference += left.value_at(p++);
    if (b <= a) difference -= right.value_at(q++);
    sum += difference * difference;
  }
  return sum;
}

inline bool wants_inverted(const RowList& right) {
  if (right.rows->storage != Rows::Storage::csr || right.size == 0) return false;
  double nonzeros = 0;
  for (int64_t p = 0; p < right.size; ++p) nonzeros += double(right.rows->nonzeros(right.at(p)));
  return nonzeros < kInvertedBelow * double(right.size) * double(right.rows->d);
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
