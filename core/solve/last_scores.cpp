#include "solve/last_scores.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace widestreet {
namespace {

constexpr int64_t kPart = 4096;  // rows of a task, some 20 microseconds

}  // namespace

std::vector<int64_t> by_version(const int32_t* version, const int64_t* rows, int64_t count,
                                int32_t present, int64_t* sorted, int threads) {
  const int64_t tasks = (count + kPart - 1) / kPart;
  std::vector<int32_t> latest(tasks, -1);
  for_ranges(count, kPart, threads, [&](int64_t begin, int64_t end) {
    int32_t& mine = latest[begin / kPart];
    for (int64_t p = begin; p < end; ++p)
      if (version[rows[p]] < present) mine = std::max(mine, version[rows[p]]);
  });
  const int64_t last = tasks ? *std::max_element(latest.begin(), latest.end()) : -1;
  const int64_t left_out = last + 2, kinds = left_out + 1;
  auto kind_of = [&](int64_t row) -> int64_t {
    const int32_t v = version[row];
    return v == present ? left_out : v < 0 || v > present ? 0 : v + 1;
  };
  std::vector<int64_t> at(tasks * kinds, 0);  // counts, then places of the next rows
  for_ranges(count, kPart, threads, [&](int64_t begin, int64_t end) {
    int64_t* mine = at.data() + begin / kPart * kinds;
    for (int64_t p = begin; p < end; ++p) ++mine[kind_of(rows[p])];
  });
  std::vector<int64_t> found(left_out, 0);
  int64_t place = 0;
  for (int64_t kind = 0; kind < left_out; ++kind)
    for (int64_t t = 0; t < tasks; ++t) {
      const int64_t mine = at[t * kinds + kind];
      at[t * kinds + kind] = place;
      place += mine;
      found[kind] += mine;
    }
  for_ranges(count, kPart, threads, [&](int64_t begin, int64_t end) {
    int64_t* next = at.data() + begin / kPart * kinds;
    for (int64_t p = begin; p < end; ++p) {
      const int64_t kind = kind_of(rows[p]);
      if (kind != left_out) sorted[next[kind]++] = rows[p];
    }
  });
  return found;
}

void read_scores(const double* score, const int64_t* rows, int64_t count, double* out,
                 int threads) {
  for_ranges(count, kPart, threads, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) out[p] = score[rows[p]];
  });
}

void store_scores(const int64_t* rows, int64_t count, const double* value, int32_t present,
                  double* score, int32_t* version, int threads) {
  for_ranges(count, kPart, threads, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      score[rows[p]] = value[p];
      version[rows[p]] = present;
    }
  });
}

}  // namespace widestreet
