// Which rows of a shard need a new score, and which violate.
#pragma once

#include <cstdint>
#include <vector>

#include "fresh.hpp"
#include "variables.hpp"

namespace widestreet {

// A shard's variables and per-row state; all arrays are the caller's.
struct ShardView {
  Variables dual;
  const double* beta = nullptr;
  const double* score = nullptr;     // rows
  const int32_t* version = nullptr;  // rows; model version of the score, or one of below
  const float* norm = nullptr;       // rows: sqrt K(x, x), or null where it is 1
};

constexpr int32_t kInWorkingSet = -1;  // its score is kept by the working set
constexpr int32_t kUnknown = -2;       // no score yet

// The rows (offset + j * stride) mod n for j in [begin, end): part of an order of all rows whose
// beginning, of any length, is spread evenly over them.
struct StridedOrder {
  int64_t offset = 0;
  int64_t stride = 1;
  int64_t begin = 0;
  int64_t end = 0;
};

struct Triage {
  Fresh<int64_t> stale;  // rows that must be evaluated
  int64_t skipped = 0;   // rows whose variables provably do not violate
  double loss = 0;       // primal loss of the skipped rows at their last scores
};

// A row may be skipped if none of its variables can violate, however the model changed since the
// score was computed: |u_now - u_then| <= drift[version] * sqrt K(x, x). A version without a drift
// counts as unknown. Stale rows are in the order of their visits, or ascending if these are a notable
// part of all rows: memory is then read in its order.
Triage triage(const ShardView& shard, const StridedOrder& order, const double* bias,
              const double* drift, int64_t versions, int threads);

struct Judgement {
  std::vector<int64_t> violators;  // positions in the list of rows judged
  std::vector<double> violation;   // of each of them
  std::vector<double> highest;     // per group: largest F over beta < upper
  std::vector<double> lowest;      // per group: smallest F over beta > lower
  double loss = 0;
};

// Rows are violators when one of their variables violates by more than tol against the bias.
Judgement judge(const ShardView& shard, const int64_t* rows, int64_t count, const double* bias,
                double tol, int threads);

}  // namespace widestreet
