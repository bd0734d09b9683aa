// Levels 0 and 1: a left row adds the bytes of the columns that it uses, one byte per right row.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/products.hpp"

#if defined(__SSE2__)
#  include <immintrin.h>
#endif

namespace widestreet {
namespace WIDESTREET_ISA {

constexpr int64_t kMostCounted = 255;  // columns whose sum fits a byte

typedef uint8_t Bytes __attribute__((vector_size(WIDESTREET_VECTOR_BYTES)));

// Adds the bytes to sums. Compilers convert vectors of eight bytes one by one, hence the
// instructions by name.
inline void add_bytes(Bytes bytes, Sums (&z)[4]) {
#if defined(__AVX512F__)
  const __m512i b = (__m512i)bytes;
  z[0] += (Sums)_mm512_cvtepu8_epi32(_mm512_castsi512_si128(b));
  z[1] += (Sums)_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(b, 1));
  z[2] += (Sums)_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(b, 2));
  z[3] += (Sums)_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(b, 3));
#elif defined(__AVX2__)
  const __m128i low = _mm256_castsi256_si128((__m256i)bytes);
  const __m128i high = _mm256_extracti128_si256((__m256i)bytes, 1);
  z[0] += (Sums)_mm256_cvtepu8_epi32(low);
  z[1] += (Sums)_mm256_cvtepu8_epi32(_mm_srli_si128(low, 8));
  z[2] += (Sums)_mm256_cvtepu8_epi32(high);
  z[3] += (Sums)_mm256_cvtepu8_epi32(_mm_srli_si128(high, 8));
#elif defined(__SSE2__)
  const __m128i zero = _mm_setzero_si128();
  const __m128i low = _mm_unpacklo_epi8((__m128i)bytes, zero);
  const __m128i high = _mm_unpackhi_epi8((__m128i)bytes, zero);
  z[0] += (Sums)_mm_unpacklo_epi16(low, zero);
  z[1] += (Sums)_mm_unpackhi_epi16(low, zero);
  z[2] += (Sums)_mm_unpacklo_epi16(high, zero);
  z[3] += (Sums)_mm_unpackhi_epi16(high, zero);
#else
  for (int h = 0; h < 4; ++h)
    for (int l = 0; l < Simd<float>::lanes; ++l) z[h][l] += bytes[h * Simd<float>::lanes + l];
#endif
}

// kBlock left rows, by the columns in which they are not zero.
struct BinaryBlock {
  std::vector<std::vector<int32_t>> place = std::vector<std::vector<int32_t>>(kBlock);
  int32_t square[kBlock];  // the number of these columns
  int64_t filled = 0;
};

// Calls take(k, used) for columns of row i, all that are not zero among them.
template <class Take>
inline void for_columns(const Rows& rows, int64_t i, Take&& take) {
  if (rows.levels.values) {
    const uint8_t* level = rows.levels.values + i * rows.levels.stride;
    for (int64_t k = 0; k < rows.d; ++k) take(k, level[k] != 0);
  } else {
    const int64_t end = rows.begin_of(i + 1);
    for (int64_t p = rows.begin_of(i); p < end; ++p) take(rows.column_at(p), rows.value_at(p) != 0);
  }
}

// Right rows [from, to) of a list, packed tile by tile and column by column.
struct BinaryPanel {
  using Block = BinaryBlock;
  static constexpr int width = WIDESTREET_VECTOR_BYTES;
  static constexpr int lanes = Simd<float>::lanes;
  int64_t size = 0, tiles = 0, d = 0;
  AlignedVector<uint8_t> bytes_of;  // tiles x d x width
  AlignedVector<int32_t> square;    // tiles x width

  // Bytes of a packed row.
  static int64_t bytes(int64_t d) { return d; }

  BinaryPanel(const RowList& list, int64_t from, int64_t to, bool, int threads)
      : size(to - from), tiles((size + width - 1) / width), d(list.rows->d) {
    bytes_of.assign(tiles * d * width, 0);
    square.assign(tiles * width, 0);
    if (size * d <= kWorthSharing) threads = 1;
    for_ranges(tiles, 1, threads, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        for (int l = 0; l < width && t * width + l < size; ++l) {
          uint8_t* out = &bytes_of[t * d * width + l];
          int32_t& count = square[t * width + l];
          for_columns(*list.rows, list.at(from + t * width + l), [&](int64_t k, bool used) {
            out[k * width] = uint8_t(used);
            count += used;
          });
        }
    });
  }

  void read(Block& block, const RowList& list, int64_t from, int64_t to) const {
    block.filled = to - from;
    for (int64_t i = from; i < to; ++i) {
      std::vector<int32_t>& place = block.place[i - from];
      place.resize(d + 1);
      int64_t count = 0;
      for_columns(*list.rows, list.at(i), [&](int64_t k, bool used) {
        place[count] = int32_t(k * width);  // written in any case: a branch would be a guess
        count += used;
      });
      block.square[i - from] = int32_t(count);
    }
  }

  // Sets: out[4 r] to out[4 r + 3], the sums of row r against tile t.
  void sums(const Block& block, int64_t t, Sums* out) const {
    const uint8_t* tile = bytes_of.data() + t * d * width;
    for (int64_t r = 0; r < block.filled; ++r) {
      Sums z[4] = {};
      const int32_t* place = block.place[r].data();
      const int64_t count = block.square[r];
      for (int64_t p0 = 0; p0 < count; p0 += kMostCounted) {
        Bytes sum = {};
        const int64_t p1 = std::min(count, p0 + kMostCounted);
        for (int64_t p = p0; p < p1; ++p) {
          Bytes b;
          std::memcpy(&b, tile + place[p], sizeof b);
          sum += b;
        }
        add_bytes(sum, z);
      }
      for (int h = 0; h < 4; ++h) out[4 * r + h] = z[h];
    }
  }
};

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
