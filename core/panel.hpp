// What one call to evaluate works on: the right rows packed for the registers, the left rows
// loaded a few at a time, and the innermost loops over their features.
//
// The right rows are packed into a panel of tiles, each `width` vectors wide and stored feature
// by feature, so that one tile meets `kRows` left rows in registers:
//
//              width (2 SIMD vectors of right rows)
//            +---------------------+
//   kRows    |  z accumulators     |   z starts from the folded norms (kernel.hpp),
//   left     |  in registers       |   d multiply-adds follow, then the scalar function,
//   rows     +---------------------+   then either a dot product with coef or a store.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernel.hpp"
#include "rows.hpp"
#include "simd.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {
constexpr double kLog2e = 1.4426950408889634074;
constexpr int kRows = 6;    // left rows per register tile
constexpr int kBlock = 48;  // left rows per task, a multiple of kRows
constexpr int64_t kPanelBytes = int64_t(1) << 26;
constexpr double kInvertedBelow = 0.03;  // density under which the inverted panel wins

// What is folded where; see the table in kernel.hpp.
template <class T>
struct Folding {
  bool l1 = false;
  T right_scale = 1;  // multiplies the features of right rows
  T left_scale = 1;   // multiplies the features of left rows
  T norm = 0;         // multiplies |x|^2 and |s|^2 (rbf)
  T start = 0;        // added to every z
  int degree = 1;

  explicit Folding(const Kernel& k) : degree(k.degree) {
    switch (k.kind) {
      case KernelKind::linear:
        break;
      case KernelKind::rbf:
        right_scale = T(2 * k.gamma * kLog2e);
        norm = T(-k.gamma * kLog2e);
        break;
      case KernelKind::poly:
        right_scale = T(k.gamma);
        start = T(k.coef0);
        break;
      case KernelKind::sigmoid:
        right_scale = T(2 * k.gamma * kLog2e);
        start = T(2 * k.coef0 * kLog2e);
        break;
      case KernelKind::far_rbf:
        right_scale = left_scale = T(std::sqrt(k.gamma * kLog2e));
        break;
      case KernelKind::laplacian:
        l1 = true;
        right_scale = left_scale = T(k.gamma * kLog2e);
        break;
    }
  }
};

template <KernelKind kind, class T>
inline Vec<T> value_of(Vec<T> z, int degree) {
  if constexpr (kind == KernelKind::rbf) {
    return exp2_of(smaller(z, Vec<T>{}));
  } else if constexpr (kind == KernelKind::laplacian || kind == KernelKind::far_rbf) {
    return exp2_of(z);
  } else if constexpr (kind == KernelKind::sigmoid) {
    const Vec<T> e = exp2_minus_one(smaller(z, splat(T(120))));
    return e / (e + T(2));
  } else if constexpr (kind == KernelKind::poly) {
    Vec<T> p = splat(T(1));
    for (int e = degree; e > 0; e >>= 1) {
      if (e & 1) p *= z;
      z *= z;
    }
    return p;
  } else {
    return z;
  }
}

template <class T>
inline Vec<T> magnitude(Vec<T> v) {
  return larger(v, -v);
}

// Start value contributed by one row with features x (already scaled).
template <class T>
inline T start_of(const Folding<T>& fold, const T* x, int64_t d) {
  if (fold.norm == T(0)) return T(0);
  double s = 0;
  for (int64_t k = 0; k < d; ++k) s += double(x[k]) * double(x[k]);
  return T(double(fold.norm) * s);
}

// Right rows [from, to) of a list, packed tile by tile.
template <class T>
struct Panel {
  static constexpr int width = 2 * Simd<T>::lanes;
  int64_t d = 0;
  int64_t size = 0;
  int64_t tiles = 0;
  std::vector<T> features;  // tiles x d x width
  std::vector<T> start;     // tiles x width
  std::vector<T> coef;      // tiles x width, zero where there is no row

  void pack(const Folding<T>& fold, const RowList& list, int64_t from, int64_t to, const double* c,
            int threads) {
    d = list.rows->d;
    size = to - from;
    tiles = (size + width - 1) / width;
    features.assign(tiles * d * width, T(0));
    start.assign(tiles * width, T(0));
    coef.assign(tiles * width, T(0));
#pragma omp parallel num_threads(threads)
    {
      std::vector<T> x(d);
#pragma omp for schedule(static)
      for (int64_t t = 0; t < tiles; ++t) {
        T* tile = &features[t * d * width];
        for (int l = 0; l < width && t * width + l < size; ++l) {
          const int64_t p = from + t * width + l;
          load_row(*list.rows, list.at(p), x.data());
          start[t * width + l] = start_of(fold, x.data(), d) + fold.start;
          for (int64_t k = 0; k < d; ++k) tile[k * width + l] = fold.right_scale * x[k];
          if (c) coef[t * width + l] = T(c[p]);
        }
      }
    }
    if (fold.l1) {  // a sparse left row adds |x - s| - |s| over its nonzeros: start from -|s|_1
      for (int64_t t = 0; t < tiles; ++t)
        for (int l = 0; l < width; ++l) {
          double s = 0;
          for (int64_t k = 0; k < d; ++k) s += std::abs(double(features[(t * d + k) * width + l]));
          l1_norm.push_back(T(s));
        }
    }
  }
  std::vector<T> l1_norm;  // tiles x width, for the laplacian only
};

// Values of R dense left rows against one tile, handed to `emit(r, low half, high half)`.
template <KernelKind kind, class T, int R, class Emit>
inline void dense_tile(const T* const* x, const T* x_start, int64_t d, const T* tile,
                       const T* start, int degree, Emit&& emit) {
  constexpr int lanes = Simd<T>::lanes;
  Vec<T> z[R][2];
  for (int r = 0; r < R; ++r) {
    z[r][0] = load(start) + x_start[r];
    z[r][1] = load(start + lanes) + x_start[r];
  }
  for (int64_t k = 0; k < d; ++k) {
    const Vec<T> s0 = load(tile + k * 2 * lanes), s1 = load(tile + k * 2 * lanes + lanes);
    for (int r = 0; r < R; ++r) {
      if constexpr (kind == KernelKind::laplacian) {
        z[r][0] -= magnitude<T>(x[r][k] - s0);
        z[r][1] -= magnitude<T>(x[r][k] - s1);
      } else if constexpr (kind == KernelKind::far_rbf) {
        const Vec<T> d0 = x[r][k] - s0, d1 = x[r][k] - s1;
        z[r][0] -= d0 * d0;
        z[r][1] -= d1 * d1;
      } else {
        z[r][0] += x[r][k] * s0;
        z[r][1] += x[r][k] * s1;
      }
    }
  }
  for (int r = 0; r < R; ++r)
    emit(r, value_of<kind, T>(z[r][0], degree), value_of<kind, T>(z[r][1], degree));
}

// The nonzeros of one left row, scaled.
template <class T>
struct SparseRow {
  std::vector<int64_t> column;
  std::vector<T> value;
  T start = 0;
  T l1 = 0;

  void read(const Folding<T>& fold, const Rows& rows, int64_t i, std::vector<T>& dense) {
    column.clear();
    value.clear();
    double square = 0, absolute = 0;
    auto take = [&](int64_t k, double v) {
      if (v == 0) return;
      column.push_back(k);
      value.push_back(T(fold.left_scale * v));
      square += v * v;
      absolute += std::abs(double(value.back()));
    };
    if (rows.storage == Rows::Storage::csr) {
      for (int64_t p = rows.begin_of(i); p < rows.begin_of(i + 1); ++p)
        take(rows.column_at(p), T(rows.value_at(p)));
    } else {
      dense.resize(rows.d);
      load_row(rows, i, dense.data());
      for (int64_t k = 0; k < rows.d; ++k) take(k, dense[k]);
    }
    start = T(double(fold.norm) * square);
    l1 = T(absolute);
  }
};

// One sparse left row against one dense tile.
template <KernelKind kind, class T, class Emit>
inline void sparse_tile(const SparseRow<T>& x, const T* tile, const T* start, const T* l1_norm,
                        int degree, Emit&& emit) {
  constexpr int lanes = Simd<T>::lanes;
  Vec<T> z0 = load(start) + x.start, z1 = load(start + lanes) + x.start;
  if constexpr (kind == KernelKind::laplacian) {
    z0 -= load(l1_norm);
    z1 -= load(l1_norm + lanes);
  }
  const size_t count = x.column.size();
  for (size_t p = 0; p < count; ++p) {
    const T* s = tile + x.column[p] * 2 * lanes;
    const Vec<T> s0 = load(s), s1 = load(s + lanes);
    if constexpr (kind == KernelKind::laplacian) {
      z0 -= magnitude<T>(x.value[p] - s0) - magnitude<T>(s0);
      z1 -= magnitude<T>(x.value[p] - s1) - magnitude<T>(s1);
    } else {
      z0 += x.value[p] * s0;
      z1 += x.value[p] * s1;
    }
  }
  emit(value_of<kind, T>(z0, degree), value_of<kind, T>(z1, degree));
}

// Right rows by column: for feature k the (row, value) pairs in entries [begin[k], begin[k + 1]).
template <class T>
struct InvertedPanel {
  int64_t size = 0;
  int64_t padded = 0;
  std::vector<int64_t> begin;
  std::vector<int32_t> row;
  std::vector<T> value;
  std::vector<T> start;
  std::vector<T> coef;

  void pack(const Folding<T>& fold, const RowList& list, int64_t from, int64_t to,
            const double* c) {
    const Rows& rows = *list.rows;
    constexpr int lanes = Simd<T>::lanes;
    size = to - from;
    padded = (size + lanes - 1) / lanes * lanes;
    begin.assign(rows.d + 1, 0);
    start.assign(padded, T(0));
    coef.assign(padded, T(0));
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
      if (c) coef[p - from] = T(c[p]);
    }
  }

  // Sets: z[0..padded) to the accumulated values of left row x.
  void accumulate(const Folding<T>& fold, const SparseRow<T>& x, T* z) const {
    for (int64_t j = 0; j < padded; ++j) z[j] = start[j] + (fold.l1 ? -x.l1 : x.start);
    for (size_t p = 0; p < x.column.size(); ++p) {
      const T v = x.value[p];
      const int64_t end = begin[x.column[p] + 1];
      if (fold.l1) {
        for (int64_t e = begin[x.column[p]]; e < end; ++e)
          z[row[e]] -= std::abs(v - value[e]) - std::abs(v) - std::abs(value[e]);
      } else {
        for (int64_t e = begin[x.column[p]]; e < end; ++e) z[row[e]] += v * value[e];
      }
    }
  }
};

inline bool wants_inverted(const RowList& right) {
  if (right.rows->storage != Rows::Storage::csr || right.size == 0) return false;
  double nonzeros = 0;
  for (int64_t p = 0; p < right.size; ++p) nonzeros += double(right.rows->nonzeros(right.at(p)));
  return nonzeros < kInvertedBelow * double(right.size) * double(right.rows->d);
}

// kBlock left rows (fewer when there are not enough to keep the threads busy), loaded and scaled.
template <class T>
struct LeftBlock {
  std::vector<T> features;
  const T* x[kBlock];
  T start[kBlock];
  int64_t filled = 0;  // rows that exist
  int64_t padded = 0;  // rounded up to kRows, the last row repeated

  void read(const Folding<T>& fold, const RowList& list, int64_t from, int64_t to) {
    const int64_t d = list.rows->d;
    filled = to - from;
    padded = (filled + kRows - 1) / kRows * kRows;
    features.resize(padded * d);
    for (int64_t r = 0; r < padded; ++r) {
      T* row = &features[r * d];
      if (r < filled) {
        load_row(*list.rows, list.at(from + r), row);
        start[r] = start_of(fold, row, d);
        if (fold.left_scale != T(1))
          for (int64_t k = 0; k < d; ++k) row[k] *= fold.left_scale;
      } else {
        std::copy_n(&features[(filled - 1) * d], d, row);
        start[r] = start[filled - 1];
      }
      x[r] = row;
    }
  }
};

inline int64_t left_block_size(int64_t size, int threads) {
  const int64_t share = size / (int64_t(threads) * 4);
  return std::clamp<int64_t>(share / kRows * kRows, kRows, kBlock);
}

template <class T>
int64_t panel_rows(int64_t d) {
  const int64_t width = Panel<T>::width;
  return std::max<int64_t>(1, kPanelBytes / int64_t(sizeof(T) * width * std::max<int64_t>(d, 1))) *
         width;
}

constexpr int64_t kInvertedRows = 4096;

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
