// Changes of a symmetric tile that is kept between rounds: rows enter and leave in place.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "parallel.hpp"

namespace widestreet {

// Slot from[i] moves to slot to[i] in rows and columns of the leading size x size part.
template <class T>
void relocate(T* tile, int64_t ld, int64_t size, const int64_t* from, const int64_t* to,
              int64_t count, int threads) {
  if (size * count <= kWorthSharing) threads = 1;
  for_ranges(size, 64, threads, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      T* row = tile + r * ld;
      for (int64_t i = 0; i < count; ++i) row[to[i]] = row[from[i]];
    }
  });
  for_ranges(count, 16, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(tile + to[i] * ld, tile + from[i] * ld, size_t(size) * sizeof(T));
  });
}

// Copies the rows of the given slots, which have been written, to their columns. An entry between
// two of the slots is that of the row of the smaller one, so that the result is symmetric and does
// not depend on the number of threads.
template <class T>
void mirror(T* tile, int64_t ld, int64_t size, const int64_t* slot, int64_t count, int threads) {
  constexpr int64_t kStrip = 64;
  std::vector<char> fresh(size_t(size), 0);
  for (int64_t i = 0; i < count; ++i) fresh[slot[i]] = 1;
  if (size * count <= kWorthSharing) threads = 1;
  for_ranges(size, kStrip, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i0 = 0; i0 < count; i0 += kStrip) {
      const int64_t i1 = i0 + kStrip < count ? i0 + kStrip : count;
      for (int64_t r = begin; r < end; ++r) {
        T* row = tile + r * ld;
        const int64_t limit = fresh[r] ? r : size;  // the row of the smaller slot decides
        for (int64_t i = i0; i < i1; ++i)
          if (slot[i] < limit) row[slot[i]] = tile[slot[i] * ld + r];
      }
    }
  });
}

// Rows [begin, end) of the leading size x size part of a tile, copied to a larger one. Threads
// share the cost of touching new memory, which is most of it.
template <class T>
void copy_rows(T* to, int64_t to_ld, const T* from, int64_t from_ld, int64_t begin, int64_t end,
               int64_t size, int threads) {
  if ((end - begin) * size <= kWorthSharing) threads = 1;
  for_ranges(end - begin, 64, threads, [&](int64_t first, int64_t last) {
    for (int64_t r = begin + first; r < begin + last; ++r)
      std::memcpy(to + r * to_ld, from + r * from_ld, size_t(size) * sizeof(T));
  });
}

// out[i, j] = tile[slot[i], slot[j]], rounded where `out` is of the narrower type.
template <class T, class Out>
void gather(Out* out, int64_t out_ld, const T* tile, int64_t ld, const int64_t* slot, int64_t count,
            int threads) {
  if (count * count <= kWorthSharing) threads = 1;
  for_ranges(count, 64, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* row = tile + slot[i] * ld;
      for (int64_t j = 0; j < count; ++j) out[i * out_ld + j] = Out(row[slot[j]]);
    }
  });
}

}  // namespace widestreet
