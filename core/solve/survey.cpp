#include "solve/survey.hpp"

#include <algorithm>
#include <limits>

#include "parallel.hpp"

namespace widestreet {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Standing {
  double violation = -kInf;  // largest over the row's variables; negative: distance to violating
  double loss = 0;
};

// How variable v stands against its group's bias: F > bias violates where beta may grow,
// F < bias where it may shrink; the loss is max(upper (F - bias), lower (F - bias)).
inline void add_variable(const ShardView& s, int64_t v, double score, const double* bias,
                         Standing& standing) {
  const double excess = s.target[v] - score - bias[s.group[v]];
  if (s.beta[v] < s.upper[v]) standing.violation = std::max(standing.violation, excess);
  if (s.beta[v] > s.lower[v]) standing.violation = std::max(standing.violation, -excess);
  standing.loss += std::max(s.upper[v] * excess, s.lower[v] * excess);
}

inline Standing standing_of(const ShardView& s, int64_t row, const double* bias) {
  Standing standing;
  for (int layer = 0; layer < s.layers; ++layer)
    add_variable(s, layer * s.rows + row, s.score[row], bias, standing);
  return standing;
}

inline int64_t walk_row(const Walk& walk, int64_t rows, int64_t j) {
  return int64_t((__int128(walk.stride) * j + walk.offset) % rows);
}

}  // namespace

Triage triage(const ShardView& shard, const Walk& walk, const double* bias, const double* drift,
              int64_t versions, double slack, int threads) {
  const int64_t count = walk.end - walk.begin;
  constexpr int64_t kPart = 4096;
  const int64_t parts = (count + kPart - 1) / kPart;
  std::vector<Triage> found(parts);
  for_ranges(count, kPart, threads, [&](int64_t begin, int64_t end) {
    Triage& mine = found[begin / kPart];
    for (int64_t j = walk.begin + begin; j < walk.begin + end; ++j) {
      const int64_t row = walk_row(walk, shard.rows, j);
      const int32_t version = shard.version[row];
      if (version == kInWorkingSet) continue;
      if (version >= 0 && version < versions) {
        const Standing standing = standing_of(shard, row, bias);
        const double reach = drift[version] * (shard.norm ? double(shard.norm[row]) : 1.0);
        if (standing.violation + reach <= slack) {
          ++mine.skipped;
          mine.loss += standing.loss;
          continue;
        }
      }
      mine.stale.push_back(row);
    }
  });
  Triage all;
  for (const Triage& mine : found) {
    all.stale.insert(all.stale.end(), mine.stale.begin(), mine.stale.end());
    all.skipped += mine.skipped;
    all.loss += mine.loss;
  }
  return all;
}

Judgement judge(const ShardView& shard, const int64_t* rows, int64_t count, const double* bias,
                double tol) {
  Judgement verdict;
  verdict.highest.assign(shard.groups, -kInf);
  verdict.lowest.assign(shard.groups, kInf);
  for (int64_t p = 0; p < count; ++p) {
    const int64_t row = rows[p];
    Standing standing;
    for (int layer = 0; layer < shard.layers; ++layer) {
      const int64_t v = layer * shard.rows + row;
      const int g = shard.group[v];
      const double f = shard.target[v] - shard.score[row];
      if (shard.beta[v] < shard.upper[v]) verdict.highest[g] = std::max(verdict.highest[g], f);
      if (shard.beta[v] > shard.lower[v]) verdict.lowest[g] = std::min(verdict.lowest[g], f);
      add_variable(shard, v, shard.score[row], bias, standing);
    }
    verdict.loss += standing.loss;
    if (standing.violation > tol) {
      verdict.violators.push_back(p);
      verdict.violation.push_back(standing.violation);
    }
  }
  return verdict;
}

}  // namespace widestreet
