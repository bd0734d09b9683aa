#include "kernels/equal_rows.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "parallel.hpp"

namespace widestreet {
namespace {

inline uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9E3779B97F4A7C15ull;
  return h ^ (h >> 29);
}

inline uint64_t bits(double x) {
  x += 0.0;  // -0.0 becomes 0.0
  uint64_t b;
  std::memcpy(&b, &x, sizeof b);
  return b;
}

double dense_value(const Rows& rows, int64_t i, int64_t k) {
  return rows.value_at(i * rows.row_stride + k * rows.col_stride);
}

uint64_t hash_row(const Rows& rows, int64_t i, double label) {
  uint64_t h = mix(0, bits(label));
  if (rows.storage == Rows::Storage::dense) {
    for (int64_t k = 0; k < rows.d; ++k) h = mix(h, bits(dense_value(rows, i, k)));
  } else {
    for (int64_t p = rows.begin_of(i); p < rows.begin_of(i + 1); ++p)
      if (rows.value_at(p) != 0)
        h = mix(mix(h, uint64_t(rows.column_at(p))), bits(rows.value_at(p)));
  }
  return h;
}

bool equal_rows(const Rows& rows, int64_t i, int64_t j) {
  if (rows.storage == Rows::Storage::dense) {
    for (int64_t k = 0; k < rows.d; ++k)
      if (dense_value(rows, i, k) != dense_value(rows, j, k)) return false;
    return true;
  }
  int64_t p = rows.begin_of(i), q = rows.begin_of(j);
  const int64_t p_end = rows.begin_of(i + 1), q_end = rows.begin_of(j + 1);
  while (true) {
    while (p < p_end && rows.value_at(p) == 0) ++p;
    while (q < q_end && rows.value_at(q) == 0) ++q;
    if (p == p_end || q == q_end) return p == p_end && q == q_end;
    if (rows.column_at(p) != rows.column_at(q) || rows.value_at(p) != rows.value_at(q))
      return false;
    ++p;
    ++q;
  }
}

constexpr int64_t kRange = 1024;   // rows of one task
constexpr int64_t kSample = 4096;  // rows from which the density of columns is estimated

constexpr int kPartBits = 8;  // of a hash: rows are compared with those of the same part
constexpr int64_t kParts = 1 << kPartBits;
constexpr int64_t kCounted = 1 << 15;  // rows of one task that counts them by part

// Rows in ascending order within each part of their hashes. Sets: end[part], one more value first.
std::unique_ptr<int64_t[]> rows_by_part(const uint64_t* hash, int64_t n, std::vector<int64_t>& end,
                                        int threads) {
  const int64_t tasks = (n + kCounted - 1) / kCounted;
  auto part_of = [&](int64_t i) { return int64_t(hash[i] >> (64 - kPartBits)); };
  std::vector<int64_t> at(tasks * kParts, 0);       // counts, then places of the next rows
  std::unique_ptr<int64_t[]> rows(new int64_t[n]);  // not set: threads touch it first
  for_ranges(n, kCounted, threads, [&](int64_t begin, int64_t stop) {
    int64_t* count = at.data() + begin / kCounted * kParts;
    for (int64_t i = begin; i < stop; ++i) ++count[part_of(i)];
  });
  int64_t place = 0;
  end.assign(kParts + 1, 0);
  for (int64_t part = 0; part < kParts; ++part) {
    for (int64_t t = 0; t < tasks; ++t) {
      const int64_t count = at[t * kParts + part];
      at[t * kParts + part] = place;
      place += count;
    }
    end[part + 1] = place;
  }
  for_ranges(n, kCounted, threads, [&](int64_t begin, int64_t stop) {
    int64_t* next = at.data() + begin / kCounted * kParts;
    for (int64_t i = begin; i < stop; ++i) rows[next[part_of(i)]++] = i;
  });
  return rows;
}

}  // namespace

int64_t first_equal(const Rows& rows, const Labels& label, int64_t* first, int threads) {
  const std::unique_ptr<uint64_t[]> hash(new uint64_t[rows.n]);
  for_ranges(rows.n, kRange, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) hash[i] = hash_row(rows, i, label.at(i));
  });
  std::vector<int64_t> end, distinct(kParts, 0);
  const std::unique_ptr<int64_t[]> order = rows_by_part(hash.get(), rows.n, end, threads);
  for_ranges(kParts, 1, threads, [&](int64_t part, int64_t) {
    const int64_t begin = end[part], stop = end[part + 1];
    uint64_t capacity = 16;
    while (capacity < 2 * uint64_t(stop - begin)) capacity *= 2;
    std::vector<int64_t> table(capacity, -1);
    for (int64_t p = begin; p < stop; ++p) {
      const int64_t i = order[p];
      for (uint64_t at = hash[i] & (capacity - 1);; at = (at + 1) & (capacity - 1)) {
        const int64_t j = table[at];
        if (j < 0) {
          table[at] = i;
          first[i] = i;
          ++distinct[part];
          break;
        }
        if (hash[j] == hash[i] && label.at(j) == label.at(i) && equal_rows(rows, i, j)) {
          first[i] = j;
          break;
        }
      }
    }
  });
  int64_t all = 0;
  for (const int64_t one : distinct) all += one;
  return all;
}

namespace {

// Calls f(k) for every column k in which row i is not zero.
template <class F>
void for_nonzeros(const Rows& rows, int64_t i, F&& f) {
  if (rows.storage == Rows::Storage::dense) {
    for (int64_t k = 0; k < rows.d; ++k)
      if (dense_value(rows, i, k) != 0) f(k);
  } else {
    for (int64_t p = rows.begin_of(i); p < rows.begin_of(i + 1); ++p)
      if (rows.value_at(p) != 0) f(rows.column_at(p));
  }
}

// The columns that distinguish rows best: nonzero in about half of them. At most 64, the best
// first.
std::vector<int64_t> telling_columns(const Rows& rows) {
  const int64_t step = std::max<int64_t>(1, rows.n / kSample);
  std::vector<int64_t> count(rows.d, 0), columns;
  for (int64_t i = 0; i < rows.n; i += step) for_nonzeros(rows, i, [&](int64_t k) { ++count[k]; });
  const int64_t seen = (rows.n + step - 1) / step;
  for (int64_t k = 0; k < rows.d; ++k)
    if (count[k] > 0 && count[k] < seen) columns.push_back(k);
  auto balance = [&](int64_t k) { return std::min(count[k], seen - count[k]); };
  std::sort(columns.begin(), columns.end(), [&](int64_t a, int64_t b) {
    return balance(a) != balance(b) ? balance(a) > balance(b) : a < b;
  });
  columns.resize(std::min<size_t>(columns.size(), 64));
  return columns;
}

}  // namespace

void similar_together(const Rows& rows, int64_t* order, int threads) {
  const std::vector<int64_t> columns = telling_columns(rows);
  std::vector<uint64_t> bit(rows.d, 0);
  for (size_t c = 0; c < columns.size(); ++c) bit[columns[c]] = uint64_t(1) << (63 - c);
  std::vector<std::pair<uint64_t, int64_t>> pattern(rows.n);
  for_ranges(rows.n, kRange, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      uint64_t bits = 0;
      for_nonzeros(rows, i, [&](int64_t k) { bits |= bit[k]; });
      pattern[i] = {bits, i};
    }
  });
  std::sort(pattern.begin(), pattern.end());
  for (int64_t i = 0; i < rows.n; ++i) order[i] = pattern[i].second;
}

}  // namespace widestreet
