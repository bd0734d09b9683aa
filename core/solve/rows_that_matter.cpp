#include "solve/rows_that_matter.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "parallel.hpp"

namespace widestreet {
namespace {

constexpr int64_t kRange = 8192;               // rows of one task
constexpr int64_t kValues = 1 << 17;           // values of one task of a sum, or of a mask
constexpr double kUnits = 8.0 / (1ull << 53);  // rounding of a comparison, relative to its terms
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int kExponents = 2048;
constexpr int kLargeExponent = 1023 + 900;  // larger values may overflow in sums

bool matters(const Zeros& z, int64_t row) {
  for (int layer = 0; layer < z.dual.layers; ++layer) {
    const int64_t v = z.dual.at(layer, row);
    const int g = z.dual.group[v];
    const double f = z.dual.target[v] - z.score[row], error = z.error[row] + z.more;
    auto rounding = [&](double limit) {
      return std::isfinite(limit) ? kUnits * (std::abs(f) + std::abs(limit)) : 0.0;
    };
    if (z.dual.upper[v] > 0 && !(f + (error + rounding(z.grow[g])) < z.grow[g])) return true;
    if (z.dual.lower[v] < 0 && !(f - (error + rounding(z.shrink[g])) > z.shrink[g])) return true;
  }
  return false;
}

// Integers hi and lo of values, added up by exponent.
struct Sums {
  std::vector<int64_t> high = std::vector<int64_t>(kExponents, 0);
  std::vector<int64_t> low = std::vector<int64_t>(kExponents, 0);
  int largest = 0;  // exponent

  void add(const double* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      uint64_t bits;
      std::memcpy(&bits, values + i, sizeof bits);
      const int exponent = int(bits >> 52) & (kExponents - 1);
      const uint64_t mantissa = (bits & ((1ull << 52) - 1)) |
                                (exponent ? 1ull << 52 : 0);  // a subnormal has no leading 1
      const int64_t hi = int64_t(mantissa >> 26), lo = int64_t(mantissa & ((1 << 26) - 1));
      const int64_t sign = -int64_t(bits >> 63);  // 0, or -1 for negative values
      const int at = std::max(exponent, 1);       // of subnormals as of the smallest normal values
      high[at] += (hi ^ sign) - sign;
      low[at] += (lo ^ sign) - sign;
      largest = std::max(largest, exponent);
    }
  }

  void add(const Sums& other) {
    for (int e = 0; e < kExponents; ++e) {
      high[e] += other.high[e];
      low[e] += other.low[e];
    }
    largest = std::max(largest, other.largest);
  }
};

// An integer times a power of two, as two floats without rounding. Sets: terms.
void give(int64_t integer, int exponent, std::vector<double>& terms) {
  const int64_t rest = integer % (1ll << 32);
  for (const int64_t part : {integer - rest, rest})
    if (part) terms.push_back(std::ldexp(double(part), exponent));
}

}  // namespace

Fresh<int64_t> rows_that_matter(const Zeros& zeros, int threads) {
  std::vector<std::vector<int64_t>> found((zeros.size + kRange - 1) / kRange);
  for_ranges(zeros.size, kRange, threads, [&](int64_t begin, int64_t end) {
    std::vector<int64_t>& mine = found[begin / kRange];
    for (int64_t p = begin; p < end; ++p) {
      const int64_t row = zeros.index ? zeros.index[p] : p;
      if (matters(zeros, row)) mine.push_back(row);
    }
  });
  return joined<int64_t>(
      int64_t(found.size()), [&](int64_t t) -> auto& { return found[t]; }, threads);
}

Fresh<int64_t> places(const uint8_t* mask, int64_t count, int threads) {
  const int64_t tasks = (count + kValues - 1) / kValues;
  std::vector<int64_t> first(tasks + 1, 0);  // how many are true before each task
  for_ranges(count, kValues, threads, [&](int64_t begin, int64_t end) {
    int64_t mine = 0;
    for (int64_t i = begin; i < end; ++i) mine += mask[i] != 0;
    first[begin / kValues + 1] = mine;
  });
  for (int64_t t = 0; t < tasks; ++t) first[t + 1] += first[t];
  Fresh<int64_t> found{size_t(first[tasks])};
  for_ranges(count, kValues, threads, [&](int64_t begin, int64_t end) {
    int64_t* next = found.values.get() + first[begin / kValues];
    for (int64_t i = begin; i < end; ++i)
      if (mask[i] != 0) *next++ = i;
  });
  return found;
}

std::pair<double, double> extreme_targets(const Variables& dual, int threads) {
  double highest = -kInf, lowest = kInf;
  std::mutex merging;
  for_ranges(dual.rows, kRange, threads, [&](int64_t begin, int64_t end) {
    double high = -kInf, low = kInf;
    dual.part(begin, end - begin).each([&](int64_t v, int64_t) {
      const double target = dual.target[begin + v];
      const double above = dual.upper[begin + v] > 0 ? target : -kInf;
      const double below = dual.lower[begin + v] < 0 ? target : kInf;
      high = above > high ? above : high;
      low = below < low ? below : low;
    });
    const std::lock_guard<std::mutex> lock(merging);
    highest = std::max(highest, high);
    lowest = std::min(lowest, low);
  });
  return {highest, lowest};
}

bool exact_terms(const double* values, int64_t count, std::vector<double>& terms, int threads) {
  Sums all;
  std::mutex merging;
  for_ranges(count, kValues, threads, [&](int64_t begin, int64_t end) {
    Sums mine;
    mine.add(values + begin, end - begin);
    const std::lock_guard<std::mutex> lock(merging);  // integers: in any order the same sum
    all.add(mine);
  });
  if (all.largest >= kLargeExponent) return false;
  terms.clear();
  for (int e = 0; e < kLargeExponent; ++e) {
    give(all.high[e], e - 1023 - 52 + 26, terms);
    give(all.low[e], e - 1023 - 52, terms);
  }
  return true;
}

}  // namespace widestreet
