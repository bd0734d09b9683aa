// The operands of one evaluation: the right rows packed for the registers, the left rows loaded a
// few at a time, and the innermost loops over their features.
//
// The right rows are packed into a panel of tiles, each `width` vectors wide and stored feature
// by feature, so that one tile is multiplied with `kRows` left rows in registers:
//
//              width (2 SIMD vectors of right rows)
//            +---------------------+
//   kRows    |  z accumulators     |   z starts from the folded norms (kernel.hpp),
//   left     |  in registers       |   d multiply-adds follow, then the scalar function,
//   rows     +---------------------+   then either a dot product with coef or a store.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/kernel.hpp"
#include "kernels/rows.hpp"
#include "kernels/simd.hpp"
#include "parallel.hpp"

#if defined(__AVX512F__)
#  define WIDESTREET_INLINE_SUMS inline
#else
#  define WIDESTREET_INLINE_SUMS [[gnu::noinline]]
#endif

namespace widestreet {
namespace WIDESTREET_ISA {
constexpr double kLog2e = 1.4426950408889634074;
constexpr int kRows = 6;        // left rows per register tile
constexpr int kBlock = 48;      // left rows per task, a multiple of kRows
constexpr int64_t kChunk = 4;   // tiles evaluated or summed at a time
constexpr int64_t kTerms = 32;  // features summed in sequence: such partial sums are then added up
constexpr int64_t kPanelBytes = int64_t(1) << 26;

// Factors folded into the operands; see the table in kernel.hpp.
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

// The kernel value of an accumulated z. With `bare`, z of an rbf kernel is known to be at least
// kLowest, and a value may exceed one by its rounding.
template <KernelKind kind, class T, bool bare = false>
inline Vec<T> value_of(Vec<T> z, int degree) {
  if constexpr (kind == KernelKind::rbf && bare) {
    return exp2_in_range(z);
  } else if constexpr (kind == KernelKind::rbf) {
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
  for (int64_t k0 = 0; k0 < d; k0 += kTerms) {
    double part = 0;
    for (int64_t k = k0; k < std::min(d, k0 + kTerms); ++k) part += double(x[k]) * double(x[k]);
    s += part;
  }
  return T(double(fold.norm) * s);
}

// Right rows [from, to) of a list, packed tile by tile.
template <class T>
struct Panel {
  static constexpr int width = 2 * Simd<T>::lanes;
  int64_t d = 0;
  int64_t size = 0;
  int64_t tiles = 0;
  int64_t tile_bytes() const { return std::max<int64_t>(1, d) * width * int64_t(sizeof(T)); }
  AlignedMemory<T> features;  // tiles x d x width
  AlignedVector<T> start;     // tiles x width
  std::vector<T> lowest;      // smallest start value of each tile
  std::vector<T> l1_norm;     // tiles x width, for the laplacian only

  void pack(const Folding<T>& fold, const RowList& list, int64_t from, int64_t to, int threads) {
    reserve(fold, list.rows->d, to - from);
    if (size * d <= kWorthSharing) threads = 1;
    for_ranges(tiles, 4, threads,
               [&](int64_t begin, int64_t end) { fill(fold, list, from, begin, end); });
  }

  // Reserves memory, which `fill` sets tile by tile. Sets: all but the values.
  void reserve(const Folding<T>& fold, int64_t columns, int64_t rows) {
    d = columns;
    size = rows;
    tiles = (size + width - 1) / width;
    features.reserve(tiles * d * width);
    start.resize(tiles * width);
    lowest.resize(tiles);
    if (fold.l1) l1_norm.resize(tiles * width);
  }

  // Packs the rows of tiles [begin, end), the first of which is row `from` of the list.
  void fill(const Folding<T>& fold, const RowList& list, int64_t from, int64_t begin, int64_t end) {
    std::vector<T> x(d);
    for (int64_t t = begin; t < end; ++t) {
      T* tile = features.data() + t * d * width;
      for (int l = 0; l < width; ++l) {
        if (t * width + l >= size) {
          start[t * width + l] = T(0);
          for (int64_t k = 0; k < d; ++k) tile[k * width + l] = T(0);
          continue;
        }
        load_row(*list.rows, list.at(from + t * width + l), x.data());
        start[t * width + l] = start_of(fold, x.data(), d) + fold.start;
        for (int64_t k = 0; k < d; ++k) tile[k * width + l] = fold.right_scale * x[k];
      }
      lowest[t] = *std::min_element(&start[t * width], &start[t * width] + width);
      // a sparse left row adds |x - s| - |s| over its nonzeros: start from -|s|_1
      for (int l = 0; fold.l1 && l < width; ++l) {
        double s = 0;
        for (int64_t k = 0; k < d; ++k) s += std::abs(double(tile[k * width + l]));
        l1_norm[t * width + l] = T(s);
      }
    }
  }
};

// How z is accumulated over the features.
enum class Sum { products, distances, squares };

constexpr Sum sum_of(KernelKind kind) {
  if (kind == KernelKind::laplacian) return Sum::distances;
  return kind == KernelKind::far_rbf ? Sum::squares : Sum::products;
}

// Calls f with 0, ..., R - 1 as compile-time constants. Compilers keep an array in registers if all
// of its indices are constants from the beginning, and not always if they become so by unrolling.
template <int... r, class F>
[[gnu::always_inline]] inline void each_of(std::integer_sequence<int, r...>, F&& f) {
  (f(std::integral_constant<int, r>{}), ...);
}

template <int R, class F>
[[gnu::always_inline]] inline void each(F&& f) {
  each_of(std::make_integer_sequence<int, R>{}, f);
}

// Adds a feature of a left row and of a vector of right rows to z.
template <Sum sum, class T>
[[gnu::always_inline]] inline void add_feature(T x, Vec<T> s, Vec<T>& z) {
  if constexpr (sum == Sum::distances) {
    z -= magnitude<T>(x - s);
  } else if constexpr (sum == Sum::squares) {
    const Vec<T> d = x - s;
    z -= d * d;
  } else {
    z += x * s;
  }
}

// Adds `count` features of the first R of kRows left rows and of a tile to z. The features of the
// left rows are interleaved: x[k * kRows + r].
template <Sum sum, int R, class T>
[[gnu::always_inline]] inline void add_features(const T* x, const T* tile, int64_t count,
                                                Vec<T> (&z)[R][2]) {
  constexpr int lanes = Simd<T>::lanes;
  for (int64_t k = 0; k < count; ++k, x += kRows, tile += 2 * lanes) {
    const Vec<T> s0 = load(tile), s1 = load(tile + lanes);
    each<R>([&](auto r) {
      add_feature<sum, T>(x[r], s0, z[r][0]);
      add_feature<sum, T>(x[r], s1, z[r][1]);
    });
  }
}

// Sets: z of R dense left rows against one tile, by one sum over all features.
//
// Where there are 16 registers only, the loop needs nearly all of them. It is not inlined then:
// compilers would keep constants of the code around it in registers and spill sums in every step.
template <Sum sum, int R, class T>
WIDESTREET_INLINE_SUMS void short_sums(const T* x, const T* x_start, int64_t d, const T* tile,
                                       const T* start, Vec<T> (&out)[R][2]) {
  constexpr int lanes = Simd<T>::lanes;
  Vec<T> z[R][2];
  const Vec<T> s0 = load(start), s1 = load(start + lanes);
  each<R>([&](auto r) {
    z[r][0] = s0 + x_start[r];
    z[r][1] = s1 + x_start[r];
  });
  add_features<sum, R>(x, tile, d, z);
  each<R>([&](auto r) {
    out[r][0] = z[r][0];
    out[r][1] = z[r][1];
  });
}

// The same, where the sums of kTerms features each are added up.
template <Sum sum, int R, class T>
[[gnu::noinline]] void long_sums(const T* x, const T* x_start, int64_t d, const T* tile,
                                 const T* start, Vec<T> (&out)[R][2]) {
  constexpr int lanes = Simd<T>::lanes;
  for (int r = 0; r < R; ++r)
    for (int h = 0; h < 2; ++h) out[r][h] = load(start + h * lanes) + x_start[r];
  for (int64_t k = 0; k < d; k += kTerms) {
    Vec<T> z[R][2] = {};
    add_features<sum, R>(x + k * kRows, tile + k * 2 * lanes, std::min(kTerms, d - k), z);
    each<R>([&](auto r) {
      out[r][0] += z[r][0];
      out[r][1] += z[r][1];
    });
  }
}

// The same, by either of them.
template <Sum sum, int R, class T>
inline void dense_sums(const T* x, const T* x_start, int64_t d, const T* tile, const T* start,
                       Vec<T> (&out)[R][2]) {
  if (d <= kTerms)
    short_sums<sum, R>(x, x_start, d, tile, start, out);
  else
    long_sums<sum, R>(x, x_start, d, tile, start, out);
}

// Whether the exponents of an rbf kernel are at least kLowest, given the smallest start values of
// both sides: |x - s|^2 <= 2 |x|^2 + 2 |s|^2, and their rounding is below 2.
template <class T>
inline bool in_range(T left, T right) {
  return 2 * (left + right) > kLowest<T> + 2;
}

// kBlock left rows (fewer when there are not enough to keep the threads busy), loaded and scaled.
template <class T>
struct LeftBlock {
  AlignedVector<T> features;  // groups of kRows rows x d x kRows
  T start[kBlock];
  T lowest = 0;        // smallest start value
  int64_t filled = 0;  // rows that exist
  int64_t padded = 0;  // rounded up to kRows, the last row repeated

  void read(const Folding<T>& fold, const RowList& list, int64_t from, int64_t to) {
    const int64_t d = list.rows->d;
    filled = to - from;
    padded = (filled + kRows - 1) / kRows * kRows;
    features.resize(padded * d);
    row_.resize(d);
    for (int64_t r = 0; r < padded; ++r) {
      if (r < filled) {
        load_row(*list.rows, list.at(from + r), row_.data());
        start[r] = start_of(fold, row_.data(), d);
        if (fold.left_scale != T(1))
          for (int64_t k = 0; k < d; ++k) row_[k] *= fold.left_scale;
      } else {
        start[r] = start[filled - 1];
      }
      T* place = features.data() + r / kRows * kRows * d + r % kRows;
      for (int64_t k = 0; k < d; ++k) place[k * kRows] = row_[k];
    }
    lowest = *std::min_element(start, start + padded);
  }

 private:
  std::vector<T> row_;
};

// Sets: z of kRows rows of a block from r0 on against tile t; of the first, if there is one only.
template <Sum sum, class T>
inline void group_sums(const LeftBlock<T>& rows, int64_t r0, const Panel<T>& panel, int64_t t,
                       Vec<T> (&z)[kRows][2]) {
  const T* tile = panel.features.data() + t * panel.d * Panel<T>::width;
  const T* start = &panel.start[t * Panel<T>::width];
  if (rows.filled == 1) {
    Vec<T> one[1][2];
    dense_sums<sum, 1>(rows.features.data(), rows.start, panel.d, tile, start, one);
    z[0][0] = one[0][0];
    z[0][1] = one[0][1];
    return;
  }
  dense_sums<sum, kRows>(rows.features.data() + r0 * panel.d, rows.start + r0, panel.d, tile, start,
                         z);
}

// Sets: z of all rows of a block against tile t, in groups of kRows.
template <Sum sum, class T>
inline void block_sums(const LeftBlock<T>& rows, const Panel<T>& panel, int64_t t,
                       Vec<T> (*z)[kRows][2]) {
  for (int64_t r0 = 0; r0 < rows.filled; r0 += kRows)
    group_sums<sum>(rows, r0, panel, t, z[r0 / kRows]);
}

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

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
