#include "solve/skipping_and_violators.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "parallel.hpp"

namespace widestreet {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kPart = 1024;         // rows of a task, some 80 microseconds in random order
constexpr int64_t kPartInOrder = 8192;  // rows of which a task visits some, in the order of memory
constexpr int64_t kDense = 8;  // a part with one row of so many is visited in the order of memory

struct Standing {
  double violation = -kInf;  // largest over the row's variables; negative: distance to violating
  double loss = 0;
};

// The group of a variable. Rows are visited in random order and wait for memory, array by array.
inline int group_of(const ShardView& s, int64_t v) {
  return s.dual.groups == 1 ? 0 : s.dual.group[v];
}

// Adds variable v against its group's bias: F > bias violates where beta may grow,
// F < bias where it may shrink; the loss is max(upper (F - bias), lower (F - bias)).
inline void add_variable(const ShardView& s, int64_t v, double score, const double* bias,
                         Standing& standing) {
  const double excess = s.dual.target[v] - score - bias[group_of(s, v)];
  if (s.beta[v] < s.dual.upper[v]) standing.violation = std::max(standing.violation, excess);
  if (s.beta[v] > s.dual.lower[v]) standing.violation = std::max(standing.violation, -excess);
  standing.loss += std::max(s.dual.upper[v] * excess, s.dual.lower[v] * excess);
}

inline Standing standing_of(const ShardView& s, int64_t row, const double* bias) {
  Standing standing;
  for (int layer = 0; layer < s.dual.layers; ++layer)
    add_variable(s, s.dual.at(layer, row), s.score[row], bias, standing);
  return standing;
}

// (factor * x + start) mod n, not negative.
inline int64_t modular(int64_t factor, int64_t x, int64_t start, int64_t n) {
  const int64_t rest = int64_t((__int128(factor) * x + start) % n);
  return rest < 0 ? rest + n : rest;
}

// Calls visit(row) for steps [begin, end) of an order of n rows.
template <class Visit>
void walk(const StridedOrder& order, int64_t n, int64_t begin, int64_t end, Visit&& visit) {
  const int64_t stride = order.stride % n;
  int64_t row = modular(order.stride, begin, order.offset, n);  // a division per row takes longer
  for (int64_t j = begin; j < end; ++j) {
    visit(row);
    row += stride;
    if (row >= n) row -= n;
  }
}

// The number whose product with the stride is 1 modulo n; 0 if there is none.
int64_t inverse_of(int64_t stride, int64_t n) {
  int64_t a = stride % n, b = n, x = 1, y = 0;  // a = x stride, b = y stride modulo n
  while (b != 0) {
    const int64_t times = a / b;
    std::swap(a -= times * b, b);
    std::swap(x -= times * y, y);
  }
  return a == 1 ? modular(1, x, 0, n) : 0;
}

// Calls visit(row) for the rows in [begin, end) that are steps [order.begin, order.end) of an order
// of n rows whose stride has this inverse. These rows are listed without a branch, which could not
// be predicted.
template <class Visit>
void in_order(const StridedOrder& order, int64_t n, int64_t inverse, int64_t begin, int64_t end,
              Visit&& visit) {
  constexpr int64_t kListed = 256;
  int64_t listed[kListed], count = 0;
  int64_t j = modular(inverse, begin - order.offset, 0, n);  // the step that comes to the row
  for (int64_t row = begin; row < end; ++row) {
    listed[count] = row;
    count += (order.begin <= j) & (j < order.end);
    j += inverse;
    j -= j >= n ? n : 0;
    if (count < kListed && row + 1 < end) continue;
    for (int64_t k = 0; k < count; ++k) visit(listed[k]);
    count = 0;
  }
}

}  // namespace

Triage triage(const ShardView& shard, const StridedOrder& order, const double* bias,
              const double* drift, int64_t versions, int threads) {
  const int64_t rows = shard.dual.rows, visited = order.end - order.begin;
  const int64_t inverse =
      visited * kDense >= rows && visited > 0 ? inverse_of(order.stride, rows) : 0;
  const int64_t count = inverse ? rows : visited, step = inverse ? kPartInOrder : kPart;
  const int64_t parts = (count + step - 1) / step;
  struct Part {
    std::vector<int64_t> stale;
    int64_t skipped = 0;
    double loss = 0;
  };
  std::vector<Part> found(parts);
  for_ranges(count, step, threads, [&](int64_t begin, int64_t end) {
    Part& mine = found[begin / step];
    auto visit = [&](int64_t row) {
      const int32_t version = shard.version[row];
      if (version == kInWorkingSet) return;
      if (version >= 0 && version < versions) {
        const Standing standing = standing_of(shard, row, bias);
        const double reach = drift[version] * (shard.norm ? double(shard.norm[row]) : 1.0);
        if (standing.violation + reach <= 0) {
          ++mine.skipped;
          mine.loss += standing.loss;
          return;
        }
      }
      mine.stale.push_back(row);
    };
    if (inverse)
      in_order(order, rows, inverse, begin, end, visit);
    else
      walk(order, rows, order.begin + begin, order.begin + end, visit);
  });
  Triage all;
  all.stale = joined<int64_t>(parts, [&](int64_t t) -> auto& { return found[t].stale; }, threads);
  for (const Part& mine : found) {
    all.skipped += mine.skipped;
    all.loss += mine.loss;
  }
  return all;
}

namespace {

// Adds the rows [begin, end) of a list to a judgement.
void judge_rows(const ShardView& shard, const int64_t* rows, int64_t begin, int64_t end,
                const double* bias, double tol, Judgement& verdict) {
  for (int64_t p = begin; p < end; ++p) {
    const int64_t row = rows[p];
    Standing standing;
    for (int layer = 0; layer < shard.dual.layers; ++layer) {
      const int64_t v = shard.dual.at(layer, row);
      const int g = group_of(shard, v);
      const double f = shard.dual.target[v] - shard.score[row];
      if (shard.beta[v] < shard.dual.upper[v]) verdict.highest[g] = std::max(verdict.highest[g], f);
      if (shard.beta[v] > shard.dual.lower[v]) verdict.lowest[g] = std::min(verdict.lowest[g], f);
      add_variable(shard, v, shard.score[row], bias, standing);
    }
    verdict.loss += standing.loss;
    if (standing.violation > tol) {
      verdict.violators.push_back(p);
      verdict.violation.push_back(standing.violation);
    }
  }
}

}  // namespace

Judgement judge(const ShardView& shard, const int64_t* rows, int64_t count, const double* bias,
                double tol, int threads) {
  Judgement none;
  none.highest.assign(shard.dual.groups, -kInf);
  none.lowest.assign(shard.dual.groups, kInf);
  std::vector<Judgement> found(size_t((count + kPart - 1) / kPart), none);
  for_ranges(count, kPart, threads, [&](int64_t begin, int64_t end) {
    judge_rows(shard, rows, begin, end, bias, tol, found[begin / kPart]);
  });
  Judgement all = none;
  for (const Judgement& mine : found) {
    for (int g = 0; g < shard.dual.groups; ++g) {
      all.highest[g] = std::max(all.highest[g], mine.highest[g]);
      all.lowest[g] = std::min(all.lowest[g], mine.lowest[g]);
    }
    all.loss += mine.loss;
    all.violators.insert(all.violators.end(), mine.violators.begin(), mine.violators.end());
    all.violation.insert(all.violation.end(), mine.violation.begin(), mine.violation.end());
  }
  return all;
}

}  // namespace widestreet
