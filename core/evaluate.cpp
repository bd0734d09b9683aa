// Fused kernel evaluation: the kernel matrix is never written by a scan.
//
// Three ways through the inner loop (panel.hpp): dense left rows; sparse left rows against a dense
// panel, with work proportional to the nonzeros of the left row; sparse against an inverted panel,
// with work proportional to the matching nonzeros, chosen by the density of the right rows.
//
// Sums in the kernel's precision run over at most kChunk tiles before they are added to doubles:
// with large coefficients of both signs, longer float sums would cost more digits than the kernel.
#include "evaluate.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "panel.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {
namespace {

constexpr int64_t kChunk = 4;  // tiles summed in the kernel's precision

// ---- scan --------------------------------------------------------------------------------------

template <KernelKind kind, class T>
void scan_dense(const ScanTask& task, const Folding<T>& fold, const Panel<T>& panel) {
  constexpr int width = Panel<T>::width, lanes = Simd<T>::lanes;
  const int64_t block = left_block_size(task.left.size, task.threads);
  const int64_t blocks = (task.left.size + block - 1) / block;
#pragma omp parallel num_threads(task.threads)
  {
    LeftBlock<T> left;
#pragma omp for schedule(dynamic)
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t from = b * block, to = std::min(from + block, task.left.size);
      left.read(fold, task.left, from, to);
      WideSum total[kBlock];
      for (int64_t t0 = 0; t0 < panel.tiles; t0 += kChunk) {
        const int64_t t1 = std::min(panel.tiles, t0 + kChunk);
        Vec<T> partial[kBlock] = {};
        for (int64_t t = t0; t < t1; ++t) {
          const Vec<T> c0 = load(&panel.coef[t * width]), c1 = load(&panel.coef[t * width + lanes]);
          for (int64_t r0 = 0; r0 < left.padded; r0 += kRows)
            dense_tile<kind, T, kRows>(
                left.x + r0, left.start + r0, panel.d, &panel.features[t * panel.d * width],
                &panel.start[t * width], fold.degree, [&](int r, Vec<T> k0, Vec<T> k1) {
                  partial[r0 + r] += c0 * k0;
                  partial[r0 + r] += c1 * k1;
                });
        }
        for (int64_t r = 0; r < left.padded; ++r) total[r].add(partial[r]);
      }
      for (int64_t r = 0; r < left.filled; ++r) task.out[from + r] += total[r].total();
    }
  }
}

template <KernelKind kind, class T>
void scan_sparse(const ScanTask& task, const Folding<T>& fold, const Panel<T>& panel) {
  constexpr int width = Panel<T>::width, lanes = Simd<T>::lanes;
#pragma omp parallel num_threads(task.threads)
  {
    SparseRow<T> x;
    std::vector<T> dense;
#pragma omp for schedule(dynamic, 16)
    for (int64_t i = 0; i < task.left.size; ++i) {
      x.read(fold, *task.left.rows, task.left.at(i), dense);
      WideSum total;
      for (int64_t t0 = 0; t0 < panel.tiles; t0 += kChunk) {
        Vec<T> partial = {};
        for (int64_t t = t0; t < std::min(panel.tiles, t0 + kChunk); ++t)
          sparse_tile<kind>(x, &panel.features[t * panel.d * width], &panel.start[t * width],
                            fold.l1 ? &panel.l1_norm[t * width] : nullptr, fold.degree,
                            [&](Vec<T> k0, Vec<T> k1) {
                              partial += load(&panel.coef[t * width]) * k0;
                              partial += load(&panel.coef[t * width + lanes]) * k1;
                            });
        total.add(partial);
      }
      task.out[i] += total.total();
    }
  }
}

template <KernelKind kind, class T>
void scan_inverted(const ScanTask& task, const Folding<T>& fold, const InvertedPanel<T>& panel) {
  constexpr int lanes = Simd<T>::lanes;
#pragma omp parallel num_threads(task.threads)
  {
    SparseRow<T> x;
    std::vector<T> dense, z(panel.padded);
#pragma omp for schedule(dynamic, 16)
    for (int64_t i = 0; i < task.left.size; ++i) {
      x.read(fold, *task.left.rows, task.left.at(i), dense);
      panel.accumulate(fold, x, z.data());
      WideSum total;
      for (int64_t j0 = 0; j0 < panel.padded; j0 += kChunk * lanes) {
        Vec<T> partial = {};
        for (int64_t j = j0; j < std::min(panel.padded, j0 + kChunk * lanes); j += lanes)
          partial += load(&panel.coef[j]) * value_of<kind, T>(load(&z[j]), fold.degree);
        total.add(partial);
      }
      task.out[i] += total.total();
    }
  }
}

template <KernelKind kind, class T>
void scan_kernel(const ScanTask& task) {
  const Folding<T> fold(task.kernel);
  if (kind != KernelKind::far_rbf && wants_inverted(task.right)) {
    InvertedPanel<T> panel;
    for (int64_t from = 0; from < task.right.size; from += kInvertedRows) {
      panel.pack(fold, task.right, from, std::min(from + kInvertedRows, task.right.size),
                 task.coef);
      scan_inverted<kind>(task, fold, panel);
    }
    return;
  }
  const int64_t step = panel_rows<T>(task.right.rows->d);
  for (int64_t from = 0; from < task.right.size; from += step) {
    Panel<T> panel;
    panel.pack(fold, task.right, from, std::min(from + step, task.right.size), task.coef,
               task.threads);
    if (kind == KernelKind::far_rbf || task.left.rows->storage == Rows::Storage::dense)
      scan_dense<kind>(task, fold, panel);
    else
      scan_sparse<kind>(task, fold, panel);
  }
}

// ---- tile --------------------------------------------------------------------------------------

template <class T>
inline void put(T* out, int64_t room, Vec<T> k) {
  if (room >= Simd<T>::lanes)
    store(out, k);
  else
    for (int64_t l = 0; l < room; ++l) out[l] = k[l];
}

template <class T>
T* out_row(const TileTask& task, int64_t i, int64_t column) {
  return static_cast<T*>(task.out) + (task.out_row ? task.out_row[i] : i) * task.ld + column;
}

template <KernelKind kind, class T>
void tile_dense(const TileTask& task, const Folding<T>& fold, const Panel<T>& panel,
                int64_t column) {
  constexpr int width = Panel<T>::width, lanes = Simd<T>::lanes;
  const int64_t block = left_block_size(task.left.size, task.threads);
  const int64_t blocks = (task.left.size + block - 1) / block;
#pragma omp parallel num_threads(task.threads)
  {
    LeftBlock<T> left;
#pragma omp for schedule(dynamic)
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t from = b * block, to = std::min(from + block, task.left.size);
      left.read(fold, task.left, from, to);
      for (int64_t t = 0; t < panel.tiles; ++t)
        for (int64_t r0 = 0; r0 < left.padded; r0 += kRows)
          dense_tile<kind, T, kRows>(left.x + r0, left.start + r0, panel.d,
                                     &panel.features[t * panel.d * width], &panel.start[t * width],
                                     fold.degree, [&](int r, Vec<T> k0, Vec<T> k1) {
                                       if (r0 + r >= left.filled) return;
                                       T* out = out_row<T>(task, from + r0 + r, column + t * width);
                                       put(out, panel.size - t * width, k0);
                                       put(out + lanes, panel.size - t * width - lanes, k1);
                                     });
    }
  }
}

template <KernelKind kind, class T>
void tile_sparse(const TileTask& task, const Folding<T>& fold, const Panel<T>& panel,
                 int64_t column) {
  constexpr int width = Panel<T>::width, lanes = Simd<T>::lanes;
#pragma omp parallel num_threads(task.threads)
  {
    SparseRow<T> x;
    std::vector<T> dense;
#pragma omp for schedule(dynamic, 16)
    for (int64_t i = 0; i < task.left.size; ++i) {
      x.read(fold, *task.left.rows, task.left.at(i), dense);
      for (int64_t t = 0; t < panel.tiles; ++t)
        sparse_tile<kind>(x, &panel.features[t * panel.d * width], &panel.start[t * width],
                          fold.l1 ? &panel.l1_norm[t * width] : nullptr, fold.degree,
                          [&](Vec<T> k0, Vec<T> k1) {
                            T* out = out_row<T>(task, i, column + t * width);
                            put(out, panel.size - t * width, k0);
                            put(out + lanes, panel.size - t * width - lanes, k1);
                          });
    }
  }
}

template <KernelKind kind, class T>
void tile_inverted(const TileTask& task, const Folding<T>& fold, const InvertedPanel<T>& panel,
                   int64_t column) {
  constexpr int lanes = Simd<T>::lanes;
#pragma omp parallel num_threads(task.threads)
  {
    SparseRow<T> x;
    std::vector<T> dense, z(panel.padded);
#pragma omp for schedule(dynamic, 16)
    for (int64_t i = 0; i < task.left.size; ++i) {
      x.read(fold, *task.left.rows, task.left.at(i), dense);
      panel.accumulate(fold, x, z.data());
      for (int64_t j = 0; j < panel.padded; j += lanes)
        put(out_row<T>(task, i, column + j), panel.size - j,
            value_of<kind, T>(load(&z[j]), fold.degree));
    }
  }
}

template <KernelKind kind, class T>
void tile_kernel(const TileTask& task) {
  const Folding<T> fold(task.kernel);
  if (kind != KernelKind::far_rbf && wants_inverted(task.right)) {
    InvertedPanel<T> panel;
    for (int64_t from = 0; from < task.right.size; from += kInvertedRows) {
      panel.pack(fold, task.right, from, std::min(from + kInvertedRows, task.right.size), nullptr);
      tile_inverted<kind>(task, fold, panel, from);
    }
    return;
  }
  const int64_t step = panel_rows<T>(task.right.rows->d);
  for (int64_t from = 0; from < task.right.size; from += step) {
    Panel<T> panel;
    panel.pack(fold, task.right, from, std::min(from + step, task.right.size), nullptr,
               task.threads);
    if (kind == KernelKind::far_rbf || task.left.rows->storage == Rows::Storage::dense)
      tile_dense<kind>(task, fold, panel, from);
    else
      tile_sparse<kind>(task, fold, panel, from);
  }
}

// Calls f with the kernel kind as a compile-time constant.
template <class F>
void with_kind(KernelKind kind, F&& f) {
  switch (kind) {
    case KernelKind::linear:
      return f(std::integral_constant<KernelKind, KernelKind::linear>{});
    case KernelKind::rbf:
      return f(std::integral_constant<KernelKind, KernelKind::rbf>{});
    case KernelKind::poly:
      return f(std::integral_constant<KernelKind, KernelKind::poly>{});
    case KernelKind::sigmoid:
      return f(std::integral_constant<KernelKind, KernelKind::sigmoid>{});
    case KernelKind::laplacian:
      return f(std::integral_constant<KernelKind, KernelKind::laplacian>{});
    case KernelKind::far_rbf:
      return f(std::integral_constant<KernelKind, KernelKind::far_rbf>{});
  }
}

}  // namespace

void scan(const ScanTask& task) {
  with_kind(task.kernel.kind, [&](auto kind) {
    if (task.in_double)
      scan_kernel<decltype(kind)::value, double>(task);
    else
      scan_kernel<decltype(kind)::value, float>(task);
  });
}

void tile(const TileTask& task) {
  with_kind(task.kernel.kind, [&](auto kind) {
    if (task.in_double)
      tile_kernel<decltype(kind)::value, double>(task);
    else
      tile_kernel<decltype(kind)::value, float>(task);
  });
}

// Sets: out[0..size) to 2^z, for the test of the stated error.
void exp2_array(const double* z, double* out, int64_t size, bool in_double) {
  auto run = [&](auto zero) {
    using T = decltype(zero);
    constexpr int lanes = Simd<T>::lanes;
    T buffer[lanes];
    for (int64_t i = 0; i < size; i += lanes) {
      const int64_t count = std::min<int64_t>(lanes, size - i);
      for (int l = 0; l < lanes; ++l) buffer[l] = l < count ? T(z[i + l]) : T(0);
      store(buffer, exp2_of(load(buffer)));
      for (int64_t l = 0; l < count; ++l) out[i + l] = double(buffer[l]);
    }
  };
  if (in_double)
    run(double{});
  else
    run(float{});
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
