// Fused kernel evaluation: the kernel matrix is never written by a scan.
//
// The inner loop has five forms. Rows on a grid are multiplied as integers (bytes.hpp, binary.hpp).
// Others have three forms (panel.hpp, sparse.hpp): dense left rows; sparse left rows against
// a dense panel, one by one or several neighbours together, with work proportional to their
// nonzeros; and sparse left rows against an inverted panel, with work proportional to the matching
// nonzeros. The density of the right rows decides between the last two. A sink (sink.hpp) consumes
// the values. Scans against panels are shared in parts (scan_in_parts.hpp).
#include "kernels/evaluate.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "dispatch.hpp"
#include "kernels/binary.hpp"
#include "kernels/block_against_panel.hpp"
#include "kernels/bytes.hpp"
#include "kernels/panel.hpp"
#include "kernels/scan_in_parts.hpp"
#include "kernels/sink.hpp"
#include "kernels/sparse.hpp"
#include "parallel.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {
namespace {

// Calls work(block, sink, from, to) for blocks of left rows, each thread with its own of both.
template <class Block, class Sink, class Work>
void for_blocks(int64_t size, int threads, const Sink& prototype, Work&& work) {
  const int64_t step = left_block_size(size, threads);
  const int64_t blocks = (size + step - 1) / step;
  share(blocks, threads, [&](Tasks& tasks) {
    Block block;
    Sink sink(prototype);
    for (int64_t b; tasks.draw(b);) {
      const int64_t from = b * step, to = std::min(from + step, size);
      sink.begin(from, to - from);
      work(block, sink, from, to);
      sink.end();
    }
  });
}

// Evaluates left rows, in blocks of the given kind, against a panel.
template <KernelKind kind, class Block, class T, class Sink>
void rows_against(const RowList& left, int threads, const Folding<T>& fold, const Panel<T>& panel,
                  const Sink& prototype) {
  for_blocks<Block>(left.size, threads, prototype,
                    [&](Block& rows, Sink& sink, int64_t from, int64_t to) {
                      rows.read(fold, left, from, to);
                      meet<kind>(rows, fold, panel, sink);
                    });
}

// Evaluates one row at a time, since an inverted panel is read entry by entry. mend(i, x, z) may
// correct the accumulated values of left row i.
template <KernelKind kind, class T, class Sink, class Mend>
void matching_rows(const RowList& left, int threads, const Folding<T>& fold,
                   const InvertedPanel<T>& panel, const Sink& prototype, Mend&& mend) {
  constexpr int width = Panel<T>::width, lanes = Simd<T>::lanes;
  const int64_t tiles = panel.padded / width;
  constexpr int64_t kAtOnce = 16;
  share((left.size + kAtOnce - 1) / kAtOnce, threads, [&](Tasks& tasks) {
    SparseRow<T> x;
    std::vector<T> dense, z(panel.padded);
    Sink sink(prototype);
    for (int64_t task; tasks.draw(task);)
      for (int64_t i = task * kAtOnce; i < std::min((task + 1) * kAtOnce, left.size); ++i) {
        x.read(fold, *left.rows, left.at(i), dense, 1);
        panel.accumulate(fold, x, z.data());
        mend(left.at(i), x, z.data());
        sink.begin(i, 1);
        for (int64_t t0 = 0; t0 < tiles; t0 += kChunk) {
          const int64_t t1 = std::min(tiles, t0 + kChunk);
          for (int64_t t = t0; t < t1; ++t)
            sink.take(0, t, value_of<kind, T>(load(&z[t * width]), fold.degree),
                      value_of<kind, T>(load(&z[t * width + lanes]), fold.degree));
          sink.flush(t0, t1);
        }
        sink.end();
      }
  });
}

// Hands the values of `count` rows to a sink, given two vectors of sums of products for each, `stride`
// vectors apart. They belong to tiles [t, t + parts), of which those below `tiles` exist.
template <KernelKind kind, class T, class Sink>
[[gnu::noinline]] void take_products(const OfProducts<kind, T> kernel, const Sums* sums,
                                     int64_t stride, const int32_t* square, const int32_t* squares,
                                     int64_t count, int64_t t, int64_t tiles, Sink& sink) {
  const bool both = tiles - t >= kernel.parts;
  for (int64_t r = 0; r < count; ++r)
    kernel.values(sums[stride * r], sums[stride * r + 1], square[r], squares,
                  [&](int part, Vec<T> k0, Vec<T> k1) {
                    if (part == 0 || both) sink.take(r, t + part, k0, k1);
                  });
}

// Evaluates rows of levels, whose sums of products a panel computes tile by tile.
template <KernelKind kind, class T, class LevelPanel, class Sink>
void level_rows(const RowList& left, int threads, const OfProducts<kind, T>& kernel,
                const LevelPanel& panel, const Sink& prototype) {
  constexpr int64_t width = Panel<T>::width, tiles_each = LevelPanel::width / width;
  constexpr int64_t lanes = Simd<float>::lanes, vectors = LevelPanel::width / lanes;
  const int64_t tiles = (panel.size + width - 1) / width;
  auto work = [&](typename LevelPanel::Block& rows, Sink& sink, int64_t from, int64_t to) {
    panel.read(rows, left, from, to);
    Sums sums[kBlock * vectors];
    for (int64_t t0 = 0; t0 < tiles; t0 += kChunk) {
      const int64_t t1 = std::min(tiles, t0 + kChunk);
      for (int64_t t = t0 / tiles_each; t * tiles_each < t1; ++t) {
        panel.sums(rows, t, sums);
        for (int64_t v = 0; v < vectors; v += 2) {
          const int64_t first = t * tiles_each + v / 2 * kernel.parts;
          if (first < t1)
            take_products(kernel, sums + v, vectors, rows.square,
                          &panel.square[t * LevelPanel::width + v * lanes], rows.filled, first, t1,
                          sink);
        }
      }
      sink.flush(t0, t1);
    }
  };
  for_blocks<typename LevelPanel::Block>(left.size, threads, prototype, work);
}

template <KernelKind kind, class T, class LevelPanel, class Task, class MakeSink>
void evaluate_levels(const Task& task, MakeSink&& make_sink) {
  const OfProducts<kind, T> kernel(task.kernel, task.left.rows->levels.step);
  constexpr int64_t width = LevelPanel::width;
  const int64_t bytes = std::max<int64_t>(1, LevelPanel::bytes(task.right.rows->d) * width);
  const int64_t step = std::max<int64_t>(1, kPanelBytes / bytes) * width;
  for (int64_t from = 0; from < task.right.size; from += step) {
    const int64_t to = std::min(from + step, task.right.size);
    const LevelPanel panel(task.right, from, to, functions().vnni, task.threads);
    make_sink(from, to, [&](const auto& sink) {
      level_rows<kind, T>(task.left, task.threads, kernel, panel, sink);
    });
  }
}

// Whether the kernel is a function of the products of levels, in the precision of T.
template <KernelKind kind, class T>
bool has_levels(const Levels& x, const Levels& s) {
  if (!x.same_grid(s) || (kind != KernelKind::rbf && x.origin != 0)) return false;
  return std::is_same_v<T, float> || (x.precise && s.precise);
}

// Whether left rows are read as dense ones.
template <KernelKind kind, class Task>
bool is_dense(const Task& task) {
  return kind == KernelKind::far_rbf || !task.left.rows->few_nonzeros();
}

// Meets the right rows panel by panel; make_sink(from, to, use) calls use with the sink of a panel.
template <KernelKind kind, class T, class Task, class MakeSink>
void evaluate(const Task& task, MakeSink&& make_sink) {
  if constexpr (sum_of(kind) == Sum::products) {
    const Levels &x = task.left.rows->levels, &s = task.right.rows->levels;
    const bool known = has_levels<kind, T>(x, s);
    if (known && x.binary && s.binary)
      return evaluate_levels<kind, T, BinaryPanel>(task, make_sink);
    if (known && x.values && s.values) return evaluate_levels<kind, T, BytePanel>(task, make_sink);
  }
  const Folding<T> fold(task.kernel);
  const bool inverted = kind != KernelKind::far_rbf && wants_inverted(task.right);
  const int64_t step = inverted ? kInvertedRows : panel_rows<T>(task.right.rows->d);
  for (int64_t from = 0; from < task.right.size; from += step) {
    const int64_t to = std::min(from + step, task.right.size);
    if (inverted) {
      InvertedPanel<T> panel;
      panel.pack(fold, task.right, from, to);
      make_sink(from, to, [&](const auto& sink) {
        matching_rows<kind, T>(task.left, task.threads, fold, panel, sink,
                               [](int64_t, const SparseRow<T>&, T*) {});
      });
      continue;
    }
    Panel<T> panel;
    panel.pack(fold, task.right, from, to, task.threads);
    make_sink(from, to, [&](const auto& sink) {
      if (is_dense<kind>(task))
        rows_against<kind, LeftBlock<T>>(task.left, task.threads, fold, panel, sink);
      else
        rows_against<kind, SparseBlock<T>>(task.left, task.threads, fold, panel, sink);
    });
  }
}

// Sparse rows, some of which have large norms. Norms suffice for pairs of short rows, and show
// which other pairs are so far apart that their kernel value is zero. The remaining distances are
// computed by differences.
template <class T, class Task, class MakeSink>
void evaluate_far_sparse(const Task& task, MakeSink&& make_sink) {
  Kernel by_norms = task.kernel;
  by_norms.kind = KernelKind::rbf;
  const Folding<T> fold(by_norms);
  const double scale = -task.kernel.gamma * kLog2e;
  for (int64_t from = 0; from < task.right.size; from += kInvertedRows) {
    const int64_t to = std::min(from + kInvertedRows, task.right.size);
    InvertedPanel<T> panel;
    panel.pack(fold, task.right, from, to);
    auto mend = [&](int64_t i, const SparseRow<T>& x, T* z) {
      constexpr T eps = std::numeric_limits<T>::epsilon();
      for (int64_t j = 0; j < to - from; ++j) {
        const T reach = x.start + panel.start[j];
        const T error = T(2) * T(x.size + 8) * eps * reach;  // bounds that of z, from below
        if (reach < T(-kLong) && !(z[j] <= T(-kVanishes) + error))
          z[j] = T(scale * squared_difference(*task.left.rows, i, *task.right.rows,
                                              task.right.at(from + j)));
      }
    };
    make_sink(from, to, [&](const auto& sink) {
      matching_rows<KernelKind::rbf, T>(task.left, task.threads, fold, panel, sink, mend);
    });
  }
}

// Whether both sides are so sparse that looking at pairs of rows is less work than visiting zeros.
template <class Task>
bool far_and_sparse(const Task& task) {
  const auto csr = Rows::Storage::csr;
  return task.kernel.kind == KernelKind::far_rbf && task.left.rows->storage == csr &&
         task.right.rows->storage == csr && wants_inverted(task.right);
}

template <KernelKind kind, class T>
void scan_alone(const ScanTask& task) {
  auto make_sink = [&](int64_t from, int64_t to, auto&& use) {
    const Coefficients<T> coef(task, from, to);
    if (task.sets == 1)
      use(FewSums<T, 1>(task, coef));
    else if (task.sets == 2)
      use(FewSums<T, 2>(task, coef));
    else
      use(ManySums<T>(task, coef));
  };
  if (task.packed) {
    if constexpr (std::is_same_v<T, double>)
      make_sink(0, task.packed->size, [&](const auto& sink) {
        const auto& panel = *static_cast<const Panel<T>*>(task.packed->panel.get());
        rows_against<kind, LeftBlock<T>>(task.left, task.threads, Folding<T>(task.kernel), panel,
                                         sink);
      });
  } else if (far_and_sparse(task)) {
    evaluate_far_sparse<T>(task, make_sink);
  } else {
    evaluate<kind, T>(task, make_sink);
  }
}

// Whether right rows are packed by rows, for this scan only.
template <KernelKind kind, class T>
bool by_panels(const ScanTask& task) {
  if (task.packed || far_and_sparse(task)) return false;
  if (kind != KernelKind::far_rbf && wants_inverted(task.right)) return false;
  const Levels &x = task.left.rows->levels, &s = task.right.rows->levels;
  const bool values = (x.binary && s.binary) || (x.values && s.values);
  return sum_of(kind) != Sum::products || !values || !has_levels<kind, T>(x, s);
}

template <KernelKind kind, class T>
void scan_kernel(const ScanTask* tasks, int64_t count) {
  const bool together = std::all_of(tasks, tasks + count, by_panels<kind, T>);
  if (!together)
    for (int64_t t = 0; t < count; ++t) scan_alone<kind, T>(tasks[t]);
  else if (is_dense<kind>(*tasks))
    scan_in_parts<kind, T, LeftBlock<T>>(tasks, count, kLeastPart);
  else
    scan_in_parts<kind, T, SparseBlock<T>>(tasks, count, kLeastSparsePart);
}

template <KernelKind kind, class T>
void tile_kernel(const TileTask& task) {
  auto make_sink = [&](int64_t from, int64_t to, auto&& use) { use(Store<T>(task, from, to)); };
  if (far_and_sparse(task))
    evaluate_far_sparse<T>(task, make_sink);
  else
    evaluate<kind, T>(task, make_sink);
}

}  // namespace

void scan(const ScanTask* tasks, int64_t count) {
  if (count == 0) return;
  with_kind(tasks->kernel.kind, [&](auto kind) {
    if (tasks->in_double)
      scan_kernel<decltype(kind)::value, double>(tasks, count);
    else
      scan_kernel<decltype(kind)::value, float>(tasks, count);
  });
}

PackedRows pack(const Kernel& kernel, const RowList& right, int threads) {
  auto panel = std::make_shared<Panel<double>>();
  panel->pack(Folding<double>(kernel), right, 0, right.size, threads);
  return {kernel, right.size, right.rows->d, panel};
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
