// Levels of one byte: exact sums of their products, by the instructions for integers.
//
// Features are taken in words of 32 bits: four of them as bytes where the processor has VNNI, two
// as 16-bit numbers elsewhere. A word of a left row is multiplied with the same word of all right
// rows of a vector. kRows left rows are evaluated together over the words in which one of them is
// not zero. VNNI multiplies unsigned with signed bytes: right rows are stored less 128, so that
// 128 times the sum of its levels is missing from every sum of a left row.
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

constexpr uint32_t kSigned = 0x80808080u;  // exclusive or with it subtracts 128 from four bytes

inline uint32_t word_of(const uint8_t* row, int64_t w, int group) {
  uint32_t word;
  if (group == 4)
    std::memcpy(&word, row + 4 * w, sizeof word);
  else
    word = uint32_t(row[2 * w]) | uint32_t(row[2 * w + 1]) << 16;
  return word;
}

// kRows left rows by the words in which they are not all zero.
struct ByteRows {
  int64_t count = 0;
  std::vector<int32_t> place;   // of the word in a tile of right rows
  std::vector<uint32_t> words;  // count x kRows
  int32_t missing[kRows];

  // Sets: square, the sums of squared levels, as well.
  void read(const RowList& list, int64_t from, int64_t to, int group, int32_t* square) {
    const Levels& levels = list.rows->levels;
    const int64_t all = (list.rows->d + group - 1) / group;
    place.resize(all);
    words.resize(all * kRows);
    const uint8_t* row[kRows];
    for (int r = 0; r < kRows; ++r) {
      row[r] = levels.values + list.at(std::min(from + r, to - 1)) * levels.stride;
      int32_t sum = 0, squares = 0;
      for (int64_t k = 0; k < list.rows->d; ++k) {
        sum += row[r][k];
        squares += int32_t(row[r][k]) * int32_t(row[r][k]);
      }
      square[r] = squares;
      missing[r] = group == 4 ? 128 * sum : 0;
    }
    count = 0;
    for (int64_t w = 0; w < all; ++w) {  // written in any case: a branch would be a guess
      uint32_t any = 0;
      for (int r = 0; r < kRows; ++r) any |= words[count * kRows + r] = word_of(row[r], w, group);
      place[count] = int32_t(w * Panel<float>::width);
      count += any != 0;
    }
  }
};

// z + x s, for the two 16-bit numbers of each word.
inline Sums add_pairs(Sums z, Sums x, Sums s) {
#if defined(__AVX512F__)
  return z + (Sums)_mm512_madd_epi16((__m512i)x, (__m512i)s);
#elif defined(__AVX2__)
  return z + (Sums)_mm256_madd_epi16((__m256i)x, (__m256i)s);
#elif defined(__SSE2__)
  return z + (Sums)_mm_madd_epi16((__m128i)x, (__m128i)s);
#else
  return z + (x & 0xffff) * (s & 0xffff) + (x >> 16) * (s >> 16);
#endif
}

// Sets: out, the sums of the left rows against a tile of words.
[[gnu::noinline]] inline void pair_sums(const ByteRows& x, const int32_t* tile, Sums* out) {
  constexpr int lanes = Simd<float>::lanes;
  Sums z[kRows][2];
  for (int r = 0; r < kRows; ++r) z[r][0] = z[r][1] = Sums{};
  const uint32_t* word = x.words.data();
  for (int64_t p = 0; p < x.count; ++p, word += kRows) {
    const int32_t* s = tile + x.place[p];
    Sums s0, s1;
    std::memcpy(&s0, s, sizeof s0);
    std::memcpy(&s1, s + lanes, sizeof s1);
    for (int r = 0; r < kRows; ++r) {
      const Sums v = Sums{} + int32_t(word[r]);
      z[r][0] = add_pairs(z[r][0], v, s0);
      z[r][1] = add_pairs(z[r][1], v, s1);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int h = 0; h < 2; ++h) out[2 * r + h] = z[r][h];
}

#if defined(__AVX512F__)
[[gnu::noinline, gnu::target("avx512vnni")]] inline void quad_sums(const ByteRows& x,
                                                                   const int32_t* tile, Sums* out) {
  __m512i z[kRows][2];
  for (int r = 0; r < kRows; ++r) z[r][0] = z[r][1] = _mm512_set1_epi32(x.missing[r]);
  const uint32_t* word = x.words.data();
  for (int64_t p = 0; p < x.count; ++p, word += kRows) {
    const int32_t* s = tile + x.place[p];
    const __m512i s0 = _mm512_load_si512(s), s1 = _mm512_load_si512(s + 16);
    for (int r = 0; r < kRows; ++r) {
      const __m512i v = _mm512_set1_epi32(int32_t(word[r]));
      z[r][0] = _mm512_dpbusd_epi32(z[r][0], v, s0);
      z[r][1] = _mm512_dpbusd_epi32(z[r][1], v, s1);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int h = 0; h < 2; ++h) out[2 * r + h] = (Sums)z[r][h];
}
#endif

// kBlock left rows.
struct ByteBlock {
  std::vector<ByteRows> rows = std::vector<ByteRows>(kBlock / kRows);
  int32_t square[kBlock];
  int64_t filled = 0;
};

// Right rows [from, to) of a list, packed tile by tile and word by word.
struct BytePanel {
  using Block = ByteBlock;
  static constexpr int width = Panel<float>::width;
  int group = 2;
  int64_t size = 0, tiles = 0, words_of_row = 0;
  AlignedVector<int32_t> words;   // tiles x words of a row x width
  AlignedVector<int32_t> square;  // tiles x width

  // Bytes of a packed row.
  static int64_t bytes(int64_t d) { return 2 * d; }

  BytePanel(const RowList& list, int64_t from, int64_t to, bool vnni, int threads)
      : group(vnni ? 4 : 2), size(to - from), tiles((size + width - 1) / width) {
    const Levels& levels = list.rows->levels;
    const int64_t d = list.rows->d;
    words_of_row = (d + group - 1) / group;
    words.assign(tiles * words_of_row * width, 0);
    square.assign(tiles * width, 0);
    if (size * d <= kWorthSharing) threads = 1;
    const uint32_t flip = group == 4 ? kSigned : 0;
    for_ranges(tiles, 4, threads, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        for (int l = 0; l < width && t * width + l < size; ++l) {
          const uint8_t* row = levels.values + list.at(from + t * width + l) * levels.stride;
          int32_t* out = &words[t * words_of_row * width + l];
          for (int64_t w = 0; w < words_of_row; ++w)
            out[w * width] = int32_t(word_of(row, w, group) ^ flip);
          int32_t squares = 0;
          for (int64_t k = 0; k < d; ++k) squares += int32_t(row[k]) * int32_t(row[k]);
          square[t * width + l] = squares;
        }
    });
  }

  void read(Block& block, const RowList& list, int64_t from, int64_t to) const {
    block.filled = to - from;
    for (int64_t i = from; i < to; i += kRows)
      block.rows[(i - from) / kRows].read(list, i, to, group, &block.square[i - from]);
  }

  // Sets: out[2 r] and out[2 r + 1], the sums of row r against tile t.
  void sums(const Block& block, int64_t t, Sums* out) const {
    const int32_t* tile = words.data() + t * words_of_row * width;
    for (int64_t r0 = 0; r0 < block.filled; r0 += kRows, out += 2 * kRows) {
      const ByteRows& rows = block.rows[r0 / kRows];
#if defined(__AVX512F__)
      if (group == 4)
        quad_sums(rows, tile, out);
      else
#endif
        pair_sums(rows, tile, out);
    }
  }
};

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
