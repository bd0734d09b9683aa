// The kernel tile of some rows with themselves, of which little more than half is computed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "dispatch.hpp"
#include "parallel.hpp"

namespace widestreet {

constexpr int64_t kTileStrip = 96;         // rows computed at a time, up to the diagonal
constexpr int64_t kSparseTileStrip = 384;  // at most, of CSR rows, whose panel is longer to pack
constexpr int64_t kTileSquare = 32;        // side of the squares that are mirrored at a time

// Returns the number of rows computed at a time, so that threads have equal parts.
inline int64_t tile_strip(const Rows& rows, int64_t count, int threads) {
  if (rows.storage != Rows::Storage::csr) return kTileStrip;
  const int64_t part = threads > 1 ? count / (2 * threads) : count;
  return std::clamp(part / kTileStrip * kTileStrip, kTileStrip, kSparseTileStrip);
}

// Sets: rows [from, size) of the tile and their mirror images. T is its type. Returns the number of
// values computed, which for CSR rows depends on the number of threads.
template <class T>
int64_t fill_symmetric(const Kernel& kernel, const Rows& rows, const int64_t* index, int64_t from,
                       int64_t size, T* tile, int64_t ld, int threads) {
  if ((size - from) * size <= kWorthSharing) threads = 1;
  const int64_t strip_rows = tile_strip(rows, size - from, threads);
  for_ranges(size - from, strip_rows, threads, [&](int64_t a, int64_t b) {
    TileTask strip;
    strip.kernel = kernel;
    strip.left = {&rows, index + from + a, b - a};
    strip.right = {&rows, index, from + b};
    strip.out = tile + (from + a) * ld;
    strip.ld = ld;
    strip.in_double = std::is_same_v<T, double>;
    functions().tile(strip);
  });
  for_ranges(size - from, kTileSquare, threads, [&](int64_t a, int64_t end) {
    for (int64_t b = 0; b <= from + a; b += kTileSquare)
      for (int64_t r = from + a; r < from + end; ++r)
        for (int64_t q = b; q < std::min(b + kTileSquare, r); ++q)
          tile[q * ld + r] = tile[r * ld + q];
  });
  int64_t values = 0;
  for (int64_t a = from; a < size; a += strip_rows) {
    const int64_t b = std::min(a + strip_rows, size);
    values += (b - a) * b;
  }
  return values;
}

}  // namespace widestreet
