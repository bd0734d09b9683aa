// Consumers of kernel values: they sum them against coefficients, or write them.
//
// The evaluation (evaluate.cpp, scan_in_parts.hpp) announces the next left rows (begin), passes the
// values of one tile and one of these rows at a time (take), and reports when up to kChunk tiles are
// complete (flush) and when the rows are (end).
//
// Sums in the kernel's precision run over at most kChunk tiles before they are added to doubles:
// with large coefficients of both signs, longer float sums would cost more digits than the kernel.
//
// `kAtMostOne` says whether values of an rbf kernel must not exceed one, not even by rounding, and
// `kStores` whether values are written, which is faster in long pieces of a row.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/evaluate.hpp"
#include "kernels/panel.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {

// Coefficients of the right rows of a panel: `sets` lists, each padded with zeros.
template <class T>
struct Coefficients {
  int64_t sets = 0;
  int64_t padded = 0;
  AlignedVector<T> values;

  Coefficients(const ScanTask& task, int64_t from, int64_t to) : sets(task.sets) {
    constexpr int width = Panel<T>::width;
    padded = (to - from + width - 1) / width * width;
    values.assign(sets * padded, T(0));
    for (int64_t q = 0; q < sets; ++q)
      for (int64_t p = from; p < to; ++p)
        values[q * padded + p - from] = T(task.coef[q * task.right.size + p]);
  }
};

// One or two sums per left row, the kernel values never leaving the registers.
template <class T, int sums>
struct FewSums {
  static constexpr bool kAtMostOne = false, kStores = false;
  static constexpr int width = Panel<T>::width, lanes = Simd<T>::lanes;
  const ScanTask& task;
  const Coefficients<T>& coef;
  int64_t first = 0, count = 0;
  Vec<T> partial[kBlock * sums];
  WideSum total[kBlock * sums];

  FewSums(const ScanTask& t, const Coefficients<T>& c) : task(t), coef(c) {}

  void begin(int64_t from, int64_t rows) {
    first = from;
    count = rows;
    std::fill_n(partial, count * sums, Vec<T>{});
    std::fill_n(total, count * sums, WideSum{});
  }
  void take(int64_t r, int64_t t, Vec<T> k0, Vec<T> k1) {
    for (int q = 0; q < sums; ++q) {
      const T* c = &coef.values[q * coef.padded + t * width];
      const Vec<T> sum = partial[r * sums + q] + load(c) * k0;
      partial[r * sums + q] = sum + load(c + lanes) * k1;
    }
  }
  void flush(int64_t, int64_t) {
    for (int64_t p = 0; p < count * sums; ++p) {
      total[p].add(partial[p]);
      partial[p] = Vec<T>{};
    }
  }
  void end() {
    for (int64_t r = 0; r < count; ++r)
      for (int q = 0; q < sums; ++q)
        task.out[q * task.out_ld + first + r] += total[r * sums + q].total();
  }
};

// More sums per left row: the values of kChunk tiles wait in a buffer that stays in the cache.
template <class T>
struct ManySums {
  static constexpr bool kAtMostOne = false, kStores = false;
  static constexpr int width = Panel<T>::width, lanes = Simd<T>::lanes;
  const ScanTask& task;
  const Coefficients<T>& coef;
  int64_t first = 0, count = 0;
  AlignedVector<T> waiting;
  std::vector<WideSum> total;

  ManySums(const ScanTask& t, const Coefficients<T>& c)
      : task(t), coef(c), waiting(kBlock * kChunk * width), total(kBlock * c.sets) {}

  void begin(int64_t from, int64_t rows) {
    first = from;
    count = rows;
    std::fill_n(total.begin(), count * coef.sets, WideSum{});
  }
  void take(int64_t r, int64_t t, Vec<T> k0, Vec<T> k1) {
    T* v = &waiting[(r * kChunk + t % kChunk) * width];
    store(v, k0);
    store(v + lanes, k1);
  }
  void flush(int64_t t0, int64_t t1) {
    for (int64_t r = 0; r < count; ++r)
      for (int64_t q = 0; q < coef.sets; ++q) {
        const T* v = &waiting[r * kChunk * width];
        const T* c = &coef.values[q * coef.padded + t0 * width];
        Vec<T> partial = {};
        for (int64_t j = 0; j < (t1 - t0) * width; j += lanes) partial += load(v + j) * load(c + j);
        total[r * coef.sets + q].add(partial);
      }
  }
  void end() {
    for (int64_t r = 0; r < count; ++r)
      for (int64_t q = 0; q < coef.sets; ++q)
        task.out[q * task.out_ld + first + r] += total[r * coef.sets + q].total();
  }
};

// Writes values into a tile, from column `column` on.
template <class T>
struct Store {
  static constexpr bool kAtMostOne = true, kStores = true;
  static constexpr int width = Panel<T>::width, lanes = Simd<T>::lanes;
  const TileTask& task;
  int64_t column, size;
  int64_t first = 0, count = 0;

  Store(const TileTask& t, int64_t from, int64_t to) : task(t), column(from), size(to - from) {}

  void begin(int64_t from, int64_t rows) {
    first = from;
    count = rows;
  }
  void take(int64_t r, int64_t t, Vec<T> k0, Vec<T> k1) {
    const int64_t i = first + r;
    T* row = static_cast<T*>(task.out) + (task.out_row ? task.out_row[i] : i) * task.ld;
    T* out = row + column + t * width;
    const int64_t room = size - t * width;
    if (room >= width) {
      store(out, k0);
      store(out + lanes, k1);
      return;
    }
    for (int64_t l = 0; l < std::min<int64_t>(room, lanes); ++l) out[l] = k0[l];
    for (int64_t l = lanes; l < room; ++l) out[l] = k1[l - lanes];
  }
  void flush(int64_t, int64_t) {}
  void end() {}
};

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
