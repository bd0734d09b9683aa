#include "kernels/bounded_scan.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/panel.hpp"
#include "parallel.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {
namespace {

typedef Vec<float> Floats;
constexpr int kWidth = Panel<float>::width, kLanes = Simd<float>::lanes;
constexpr int64_t kTilesPerFlush = 256;  // tiles whose weighted values are added up in float

// Right rows, tile by tile; padded with rows of weight zero.
struct BoundedPanel {
  int64_t d, tiles;
  AlignedVector<float> features, start, weight, lowest;
  AlignedVector<double> coef;

  BoundedPanel(const BoundedScanTask& task, int64_t from, int64_t to)
      : d(task.d), tiles((to - from + kWidth - 1) / kWidth) {
    features.assign(tiles * d * kWidth, 0.0f);
    start.assign(tiles * kWidth, 0.0f);
    weight.assign(tiles * kWidth, 0.0f);
    coef.assign(tiles * kWidth, 0.0);
    lowest.assign(tiles, 0.0f);
    for_ranges(tiles, 4, (to - from) * d <= kWorthSharing ? 1 : task.threads,
               [&](int64_t begin, int64_t end) {
                 for (int64_t t = begin; t < end; ++t) pack(task, from, to, t);
               });
  }

 private:
  void pack(const BoundedScanTask& task, int64_t from, int64_t to, int64_t t) {
    for (int l = 0; l < kWidth && from + t * kWidth + l < to; ++l) {
      const int64_t q = t * kWidth + l, p = from + q;
      for (int64_t k = 0; k < d; ++k)
        features[(t * d + k) * kWidth + l] = task.right.features[p * d + k];
      start[q] = task.right.start[p];
      weight[q] = task.weight[p];
      coef[q] = task.coef[p];
      lowest[t] = std::min(lowest[t], start[q]);
    }
  }
};

// kBlock left rows, interleaved in groups of kRows; the last row is repeated.
struct BoundedBlock {
  AlignedVector<float> features;
  float start[kBlock];
  float lowest = 0;
  int64_t filled = 0, padded = 0;
  Vec<double> sum[kBlock];
  Floats part[kBlock];
  double size[kBlock];

  void read(const BoundedScanTask& task, int64_t from, int64_t to) {
    filled = to - from;
    padded = (filled + kRows - 1) / kRows * kRows;
    features.resize(padded * task.d);
    lowest = 0;
    for (int64_t r = 0; r < padded; ++r) {
      const int64_t i = std::min(from + r, to - 1);
      float* place = features.data() + r / kRows * kRows * task.d + r % kRows;
      for (int64_t k = 0; k < task.d; ++k) place[k * kRows] = task.left.features[i * task.d + k];
      start[r] = task.left.start[i];
      lowest = std::min(lowest, start[r]);
      sum[r] = Vec<double>{};
      part[r] = Floats{};
      size[r] = 0;
    }
  }
  void flush() {
    for (int64_t r = 0; r < padded; ++r) {
      for (int l = 0; l < kLanes; ++l) size[r] += double(part[r][l]);
      part[r] = Floats{};
    }
  }
};

// 2^z with a relative error below 6.8e-8, or 9.1e-8 where products are rounded.
inline Floats fine_exp2(Floats z) {
  typedef Simd<float>::Int Int;
  const Floats shifted = z + 12582912.0f;  // 1.5 * 2^23: the low bits now hold round(z)
  const Floats r = z - (shifted - 12582912.0f);
  Floats q = splat(1.5326471475418657e-4f);
  q = q * r + 1.3390807434916496e-3f;
  q = q * r + 9.6185058355331421e-3f;
  q = q * r + 5.5503599345684052e-2f;
  q = q * r + 2.4022647738456726e-1f;
  q = q * r + 6.9314718246459961e-1f;
  return (Floats)((Int)(q * r + 1.0f) + ((Int)shifted << 23));
}

// Sets: z to the products of kRows left rows and a tile.
WIDESTREET_INLINE_SUMS void products(const float* x, int64_t d, const float* tile,
                                     Floats (&out)[kRows][2]) {
  Floats z[kRows][2] = {};
  add_features<Sum::products, kRows>(x, tile, d, z);
  each<kRows>([&](auto r) {
    out[r][0] = z[r][0];
    out[r][1] = z[r][1];
  });
}

// The same, where the sums of kTerms features each are added up.
[[gnu::noinline]] void products_in_parts(const float* x, int64_t d, const float* tile,
                                         Floats (&out)[kRows][2]) {
  for (int64_t k = 0; k < d; k += kTerms) {
    Floats z[kRows][2] = {};
    add_features<Sum::products, kRows>(x + k * kRows, tile + k * kWidth, std::min(kTerms, d - k),
                                       z);
    each<kRows>([&](auto r) {
      out[r][0] = k == 0 ? z[r][0] : out[r][0] + z[r][0];
      out[r][1] = k == 0 ? z[r][1] : out[r][1] + z[r][1];
    });
  }
}

inline void add_to(Vec<double>& sum, Floats k, const double* c) {
  sum += widen(low_half(k)) * load(c);
  sum += widen(high_half(k)) * load(c + kLanes / 2);
}

// Sets: z to the products of a block of rows and tile t.
inline void block_products(const BoundedBlock& rows, const BoundedPanel& panel, int64_t t,
                           Floats (*z)[kRows][2]) {
  const float* tile = panel.features.data() + t * panel.d * kWidth;
  for (int64_t r0 = 0; r0 < rows.padded; r0 += kRows) {
    const float* x = rows.features.data() + r0 * panel.d;
    if (panel.d <= kTerms)
      products(x, panel.d, tile, z[r0 / kRows]);
    else
      products_in_parts(x, panel.d, tile, z[r0 / kRows]);
  }
}

// Adds the values of one tile to the sums of a block. With `bare`, no z is below kLowest.
template <bool bare>
[[gnu::noinline]] void add_values(const Floats* z, BoundedBlock& rows, const BoundedPanel& panel,
                                  int64_t t) {
  const Floats b0 = load(&panel.start[t * kWidth]), b1 = load(&panel.start[t * kWidth + kLanes]);
  const Floats w0 = load(&panel.weight[t * kWidth]), w1 = load(&panel.weight[t * kWidth + kLanes]);
  const double* c = &panel.coef[t * kWidth];
  const Floats least = splat(kLowest<float>);
  for (int64_t r = 0; r < rows.padded; ++r) {
    Floats z0 = z[2 * r] + (b0 + rows.start[r]), z1 = z[2 * r + 1] + (b1 + rows.start[r]);
    if (!bare) {
      z0 = larger(z0, least);
      z1 = larger(z1, least);
    }
    const Floats k0 = fine_exp2(z0), k1 = fine_exp2(z1);
    const Floats part = rows.part[r] + w0 * k0;
    rows.part[r] = part + w1 * k1;
    Vec<double> sum = rows.sum[r];
    add_to(sum, k0, c);
    add_to(sum, k1, c + kLanes);
    rows.sum[r] = sum;
  }
}

}  // namespace

void bounded_scan(const BoundedScanTask& task) {
  const int64_t width = panel_rows<float>(task.d),
                step = left_block_size(task.left.size, task.threads);
  const int64_t blocks = (task.left.size + step - 1) / step;
  for (int64_t first = 0; first < task.right.size; first += width) {
    const BoundedPanel panel(task, first, std::min(first + width, task.right.size));
    share(blocks, task.threads, [&](Tasks& tasks) {
      BoundedBlock rows;
      Floats z[kBlock / kRows][kRows][2];
      for (int64_t b; tasks.draw(b);) {
        const int64_t from = b * step, to = std::min(from + step, task.left.size);
        rows.read(task, from, to);
        for (int64_t t = 0; t < panel.tiles; ++t) {
          block_products(rows, panel, t, z);
          if (in_range(rows.lowest, panel.lowest[t]))
            add_values<true>(&z[0][0][0], rows, panel, t);
          else
            add_values<false>(&z[0][0][0], rows, panel, t);
          if (t % kTilesPerFlush == kTilesPerFlush - 1) rows.flush();
        }
        rows.flush();
        for (int64_t r = 0; r < rows.filled; ++r) {
          WideSum total{rows.sum[r]};
          task.sums[from + r] += total.total();
          task.sizes[from + r] += rows.size[r];
        }
      }
    });
  }
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
