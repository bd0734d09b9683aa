// The dual restricted to a working set whose kernel tile is in memory.
//
//   max_beta  sum_v t_v beta_v - 1/2 c'Kc,   lower <= beta <= upper,  sum over each group fixed
//
// over m rows, each with one or two variables (layers); c_r is the sum of a row's variables,
// score u = K c (plus the part of rows outside the working set), indicator F_v = t_v - u_row(v).
// A tile in double can come with a rounded copy, which takes half the memory traffic: steps that
// rounding allows use it, scores never.
// Solved by sequential minimal optimisation with second-order pair selection, in the group with the
// largest violation, on blocks of rows small enough for the cache; gradients are double in either
// precision of the tile.
// Stops when, in every group,  max over beta < upper of F  -  min over beta > lower of F  <= tol.
#pragma once

#include <cstdint>
#include <functional>

#include "variables.hpp"

namespace widestreet {

struct Subproblem {
  Variables dual;
  bool in_double = false;      // type of the tile
  const void* tile = nullptr;  // rows x rows, symmetric, `ld` values from row to row
  int64_t ld = 0;
  const float* rounded = nullptr;  // the same values of a tile in double, if they are at hand
  int64_t rounded_ld = 0;
  double* beta = nullptr;
  double* score = nullptr;  // one per row
  double tol = 1e-3;
  int64_t max_steps = 0;     // pair steps allowed in this call
  int64_t direct_steps = 0;  // steps to try on the whole set first, if it need not be copied
  int64_t block = 1024;      // rows in a block
  int threads = 1;
  std::function<bool()> stop;  // called every few hundredths of a second; true ends the call
  void* scratch = nullptr;  // memory for the tile of a block or for Newton steps, if it is enough
  int64_t scratch_bytes = 0;
};

// score += K[:, slots] * change over the leading rows of a symmetric tile.
struct ScoreTask {
  int64_t rows = 0;
  bool in_double = false;
  const void* tile = nullptr;
  int64_t ld = 0;
  const int64_t* slot = nullptr;
  const double* change = nullptr;
  int64_t count = 0;
  double* score = nullptr;
  int threads = 1;
};

struct SubproblemReport {
  double violation = 0;  // over the working set, at return
  int64_t steps = 0;
  bool stopped = false;
};

}  // namespace widestreet
