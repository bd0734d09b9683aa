// Kernel values between a block of left rows and a panel of right rows, handed to a sink (sink.hpp).
//
// Dense rows meet a panel tile by tile. Of sparse rows, several neighbours meet it together, or each
// for itself, with work proportional to their nonzeros.
#pragma once

#include <algorithm>

#include "kernels/panel.hpp"
#include "kernels/sparse.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {

constexpr int64_t kStoredBytes = 1 << 18;  // of tiles that a few left rows meet before others do

// Hands kernel values to a sink, given accumulated z of rows [r0, r0 + count) against `tiles` tiles
// from t on, which are kBlock or kRows rows apart. A function of its own, so that constants stay in
// registers.
template <KernelKind kind, class T, bool bare, int apart, class Sink>
[[gnu::noinline]] void take_values(const Vec<T>* z, int64_t r0, int64_t count, int64_t t,
                                   int64_t tiles, int degree, Sink& sink) {
  for (int64_t i = 0; i < tiles; ++i, z += 2 * apart)
    for (int64_t r = 0; r < count; ++r)
      sink.take(r0 + r, t + i, value_of<kind, T, bare>(z[2 * r], degree),
                value_of<kind, T, bare>(z[2 * r + 1], degree));
}

// Evaluates a block of dense rows against tiles [t0, t1), tile by tile.
template <KernelKind kind, class T, class Sink>
void by_tiles(const LeftBlock<T>& rows, const Panel<T>& panel, int64_t t0, int64_t t1, int degree,
              Sink& sink) {
  constexpr bool may_be_bare = kind == KernelKind::rbf && !Sink::kAtMostOne;
  Vec<T> z[kBlock / kRows][kRows][2];
  for (int64_t t = t0; t < t1; ++t) {
    block_sums<sum_of(kind)>(rows, panel, t, z);
    const Vec<T>* first = &z[0][0][0];
    if (may_be_bare && in_range(rows.lowest, panel.lowest[t]))
      take_values<kind, T, may_be_bare, kBlock>(first, 0, rows.filled, t, 1, degree, sink);
    else
      take_values<kind, T, false, kBlock>(first, 0, rows.filled, t, 1, degree, sink);
  }
}

// The same by groups of rows, whose values are written in long pieces.
template <KernelKind kind, class T, class Sink>
void by_groups(const LeftBlock<T>& rows, const Panel<T>& panel, int64_t t0, int64_t t1, int degree,
               Sink& sink) {
  constexpr int64_t together = kBlock / kRows;
  Vec<T> z[together][kRows][2];
  for (int64_t r0 = 0; r0 < rows.filled; r0 += kRows) {
    const int64_t count = std::min<int64_t>(kRows, rows.filled - r0);
    for (int64_t t = t0; t < t1; t += together) {
      const int64_t tiles = std::min(together, t1 - t);
      for (int64_t i = 0; i < tiles; ++i) group_sums<sum_of(kind)>(rows, r0, panel, t + i, z[i]);
      take_values<kind, T, false, kRows>(&z[0][0][0], r0, count, t, tiles, degree, sink);
    }
  }
}

// Evaluates a block of dense rows against all tiles of a panel.
template <KernelKind kind, class T, class Sink>
void meet(const LeftBlock<T>& rows, const Folding<T>& fold, const Panel<T>& panel, Sink& sink) {
  const int64_t chunk =
      Sink::kStores ? std::max(kChunk, kStoredBytes / panel.tile_bytes()) : kChunk;
  for (int64_t t0 = 0; t0 < panel.tiles; t0 += chunk) {
    const int64_t t1 = std::min(panel.tiles, t0 + chunk);
    if constexpr (Sink::kStores)
      by_groups<kind>(rows, panel, t0, t1, fold.degree, sink);
    else
      by_tiles<kind>(rows, panel, t0, t1, fold.degree, sink);
    sink.flush(t0, t1);
  }
}

// The same for sparse rows.
template <KernelKind kind, class T, class Sink>
void meet(const SparseBlock<T>& rows, const Folding<T>& fold, const Panel<T>& panel, Sink& sink) {
  for (int64_t t0 = 0; t0 < panel.tiles; t0 += kChunk) {
    const int64_t t1 = std::min(panel.tiles, t0 + kChunk);
    for (int64_t t = t0; t < t1; ++t)
      for (int64_t r0 = 0; r0 < rows.filled; r0 += kRows)
        if (rows.joint[r0 / kRows])
          joint_tile<kind, T>(rows.group[r0 / kRows], panel, t, fold.degree,
                              [&](int r, Vec<T> k0, Vec<T> k1) { sink.take(r0 + r, t, k0, k1); });
    for (int64_t r = 0; r < rows.filled; ++r)
      if (!rows.joint[r / kRows])
        sparse_tiles<kind, T>(rows.x[r], panel, t0, t1, fold,
                              [&](int64_t t, Vec<T> k0, Vec<T> k1) { sink.take(r, t, k0, k1); });
    sink.flush(t0, t1);
  }
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
