#include "kernels/symmetric_scan.hpp"

#include <algorithm>
#include <vector>

#include "kernels/panel.hpp"
#include "parallel.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {
namespace {

typedef Vec<double> Doubles;
constexpr int kWidth = Panel<double>::width, kLanes = Simd<double>::lanes;
constexpr int64_t kParts = 32;  // of the blocks of rows: each has its own sums by column
static_assert(kBlock % kWidth == 0, "blocks of rows must be whole tiles");

typedef Doubles Exponents[kBlock / kRows][kRows][2];  // of a block of rows and a tile

// Adds the values of a block of `padded` rows and one tile to sums by row, and by column if these
// are wanted. `coef` and `by_column` are those of the tile.
template <bool bare, bool columns>
[[gnu::noinline]] void add_values(const Exponents& z, int64_t padded, const double* row_coef,
                                  const double* coef, Doubles* sum, double* by_column) {
  const Doubles c0 = load(coef), c1 = load(coef + kLanes);
  for (int64_t r0 = 0; r0 < padded; r0 += kRows) {
    Doubles column0 = {}, column1 = {};
    for (int r = 0; r < kRows; ++r) {
      const auto& both = z[r0 / kRows][r];
      const Doubles k0 = value_of<KernelKind::rbf, double, bare>(both[0], 1);
      const Doubles k1 = value_of<KernelKind::rbf, double, bare>(both[1], 1);
      const Doubles first = sum[r0 + r] + c0 * k0;
      sum[r0 + r] = first + c1 * k1;
      if (columns) {
        column0 += row_coef[r0 + r] * k0;
        column1 += row_coef[r0 + r] * k1;
      }
    }
    if (columns) {
      store(by_column, load(by_column) + column0);
      store(by_column + kLanes, load(by_column + kLanes) + column1);
    }
  }
}

}  // namespace

void symmetric_scan(const SymmetricScanTask& task) {
  Kernel kernel;
  kernel.gamma = task.gamma;
  const Folding<double> fold(kernel);
  Panel<double> panel;
  panel.pack(fold, task.rows, task.from, task.rows.size, task.threads);
  const int64_t width = panel.tiles * kWidth, rows_here = task.to - task.from;
  const int64_t blocks = (rows_here + kBlock - 1) / kBlock;
  AlignedVector<double> coef(width, 0.0), columns(kParts * width, 0.0);
  std::copy(task.coef + task.from, task.coef + task.rows.size, coef.begin());
  share(kParts, task.threads, [&](Tasks& tasks) {
    LeftBlock<double> rows;
    Doubles sum[kBlock];
    WideSum total[kBlock];
    double row_coef[kBlock];
    Exponents z = {};  // a block of one row sets the first line only
    for (int64_t part; tasks.draw(part);)
      for (int64_t b = part; b < blocks; b += kParts) {
        const int64_t first = b * kBlock, last = std::min(first + kBlock, rows_here);
        rows.read(fold, task.rows, task.from + first, task.from + last);
        for (int64_t r = 0; r < rows.padded; ++r) {
          sum[r] = Doubles{};
          total[r] = WideSum{};
          row_coef[r] = first + r < last ? coef[first + r] : 0.0;
        }
        // rows of this block among the columns meet all others of it: both orders are visited
        const int64_t own = std::min(panel.tiles, (first + kBlock) / kWidth);
        for (int64_t t = first / kWidth; t < panel.tiles; ++t) {
          const bool bare = in_range(rows.lowest, panel.lowest[t]);
          const auto add = t < own ? (bare ? add_values<true, false> : add_values<false, false>)
                                   : (bare ? add_values<true, true> : add_values<false, true>);
          block_sums<Sum::products>(rows, panel, t, z);
          add(z, rows.padded, row_coef, &coef[t * kWidth], sum,
              &columns[part * width + t * kWidth]);
          if (t % kChunk == kChunk - 1 || t == panel.tiles - 1)
            for (int64_t r = 0; r < rows.padded; ++r) {
              total[r].add(sum[r]);
              sum[r] = Doubles{};
            }
        }
        for (int64_t r = 0; r < last - first; ++r)
          task.out[task.from + first + r] += total[r].total();
      }
  });
  const int64_t size = task.rows.size - task.from;
  for_ranges(size, kWidth, size * kParts <= kWorthSharing ? 1 : task.threads,
             [&](int64_t begin, int64_t end) {
               for (int64_t j = begin; j < end; ++j) {
                 double total = 0;
                 for (int64_t part = 0; part < kParts; ++part) total += columns[part * width + j];
                 task.out[task.from + j] += total;
               }
             });
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
