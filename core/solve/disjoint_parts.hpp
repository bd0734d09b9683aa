// Pair steps in disjoint parts of a working set at once, a thread for each part.
//
//   1) parts of similar rows, which meet few strong kernel values of other parts: halves of halves,
//      by  K(x, .) - K(y, .)  with x and y far apart
//   2) steps in every part from the same scores; group sums stay as they are in every part
//   3) the sum of all changes, as far as the dual rises along it
//
// Most rows that are new to a set move to a bound, wherever the free ones end. On large sets their
// steps wait for two rows of the tile each; a part fits the cache. Free variables need all rows at
// once: the steps that settle them come after. Compiled once per instruction set.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "solve/cached_block.hpp"
#include "solve/second_order_pairs.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {

constexpr int64_t kRowsOfPart = 512;  // at least
constexpr int64_t kMostParts = 32;
constexpr int64_t kStepsPerRowOfPart = 4;

// What the steps in disjoint parts did. The rows of a part are listed together.
struct PartsReport {
  int64_t steps = 0;
  std::vector<int64_t> changed;
  std::vector<double> change;  // of the summed coefficient of each of these rows
};

// Orders rows [begin, end) of a list so that similar ones are on the same side of `middle`.
template <class T>
void halve(const Subproblem& p, std::vector<int64_t>& rows, int64_t begin, int64_t middle,
           int64_t end) {
  const auto kernel = [&](int64_t r) { return static_cast<const T*>(p.tile) + r * p.ld; };
  const auto farthest = [&](int64_t from) {
    const T* k = kernel(from);
    return *std::min_element(rows.begin() + begin, rows.begin() + end, [&](int64_t a, int64_t b) {
      return k[a] != k[b] ? k[a] < k[b] : a < b;
    });
  };
  const int64_t x = farthest(rows[begin]), y = farthest(x);
  const T *kx = kernel(x), *ky = kernel(y);
  std::vector<std::pair<T, int64_t>> order;
  for (int64_t t = begin; t < end; ++t) order.push_back({kx[rows[t]] - ky[rows[t]], rows[t]});
  std::nth_element(order.begin(), order.begin() + (middle - begin), order.end());
  for (int64_t t = begin; t < end; ++t) rows[t] = order[t - begin].second;
  std::sort(rows.begin() + begin, rows.begin() + middle);
  std::sort(rows.begin() + middle, rows.begin() + end);
}

// The rows of all parts, part by part; those of part k are [k m / parts, (k + 1) m / parts).
template <class T>
std::vector<int64_t> divide(const Subproblem& p, int64_t parts) {
  const int64_t m = p.dual.rows;
  std::vector<int64_t> rows(m);
  std::iota(rows.begin(), rows.end(), 0);
  for (int64_t count = 2; count <= parts; count *= 2)
    for_ranges(count / 2, 1, p.threads, [&](int64_t k, int64_t) {
      halve<T>(p, rows, 2 * k * m / count, (2 * k + 1) * m / count, (2 * k + 2) * m / count);
    });
  return rows;
}

// The number of parts of a set: a power of two, or 1 if it is too small.
inline int64_t number_of_parts(int64_t rows) {
  int64_t parts = 1;
  while (2 * parts <= kMostParts && 2 * parts * kRowsOfPart <= rows) parts *= 2;
  return parts;
}

// Takes pair steps in every part until its violation is at most `tol`. F is relative to the middle
// of each group. Sets: beta of the subproblem, but not its scores.
template <class T>
PartsReport steps_in_parts(const Subproblem& p, const std::vector<double>& middle, double tol) {
  const int64_t parts = number_of_parts(p.dual.rows);
  const std::vector<int64_t> all = divide<T>(p, parts);
  std::vector<PartsReport> each(parts);
  for_ranges(parts, 1, p.threads, [&](int64_t k, int64_t) {
    const std::vector<int64_t> rows(all.begin() + k * p.dual.rows / parts,
                                    all.begin() + (k + 1) * p.dual.rows / parts);
    Subproblem part = p;
    part.threads = 1;
    part.stop = {};  // belongs to the calling thread
    part.scratch_bytes = p.scratch_bytes / parts;
    part.scratch = p.scratch ? static_cast<char*>(p.scratch) + k * part.scratch_bytes : nullptr;
    Block<float, float> block(part);
    block.template load_rows<T>(rows, middle);
    int64_t since_poll = 0;
    const int64_t budget = kStepsPerRowOfPart * int64_t(rows.size());
    each[k].steps = block.run(tol, std::min(budget, p.max_steps / parts), since_poll).steps;
    block.unload(each[k].changed, each[k].change);
  });
  PartsReport report;
  for (const PartsReport& one : each) {
    report.steps += one.steps;
    report.changed.insert(report.changed.end(), one.changed.begin(), one.changed.end());
    report.change.insert(report.change.end(), one.change.begin(), one.change.end());
  }
  return report;
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
