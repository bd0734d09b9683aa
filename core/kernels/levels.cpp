#include "kernels/levels.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <vector>

#include "parallel.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {
namespace {

constexpr int64_t kRowsOfTask = 64;
constexpr int64_t kPart = 256;            // values at a time
constexpr double kOwnRounding = 0x1p-51;  // of a computed deviation, relative to |value| + |origin|

// What was found in some of the rows.
struct Found {
  bool rough = true, precise = true;
  int32_t highest = 0;
  double error = 0;  // square of the largest norm

  void add(const Found& other) {
    rough = rough && other.rough;
    precise = precise && other.precise;
    highest = std::max(highest, other.highest);
    error = std::max(error, other.error);
  }
};

// The levels of up to kPart values. Sets: level. Adds: off, the sum of their squared deviations.
template <class Stored>
void levels_of(const LevelsTask& task, const Stored* x, int64_t x_stride, int64_t count,
               int32_t* level, Found& found, double& off) {
  const double inverse = 1 / task.step, step = task.step, origin = task.origin;
  const double base = std::abs(origin);
  double beyond = 0, imprecise = 0, sum = 0;
  int32_t highest = 0;
  for (int64_t k = 0; k < count; ++k) {
    const double v = double(x[k * x_stride]);
    const double shifted = v - origin, size = std::abs(v) + base;
    double q = shifted * inverse + 0.5;
    q = q > 0 ? q : 0;
    q = q < 255.5 ? q : 255.5;
    level[k] = int32_t(q);
    const double e = std::abs(shifted - step * double(level[k]));
    beyond = std::max(beyond, e - kRough * size);
    imprecise = std::max(imprecise, e - kPrecise * size);
    const double most = e + kOwnRounding * size;
    sum += most * most;
    highest = std::max(highest, level[k]);
  }
  found.rough = found.rough && beyond <= 0;
  found.precise = found.precise && imprecise <= 0;
  found.highest = std::max(found.highest, highest);
  off += sum;
}

template <class Stored>
void find_in_row(const LevelsTask& task, int64_t i, Found& found) {
  const Rows& rows = *task.rows;
  const bool csr = rows.storage == Rows::Storage::csr;
  const int64_t begin = csr ? rows.begin_of(i) : i * rows.row_stride;
  const int64_t count = csr ? rows.begin_of(i + 1) - begin : rows.d;
  const int64_t x_stride = csr ? 1 : rows.col_stride;
  const Stored* x = static_cast<const Stored*>(rows.values) + begin;
  uint8_t* out = task.levels ? task.levels + i * task.stride : nullptr;
  int32_t level[kPart];
  double off = 0;
  int64_t square = 0;
  for (int64_t from = 0; from < count; from += kPart) {
    const int64_t size = std::min(kPart, count - from);
    if (x_stride == 1)  // known at compile time
      levels_of(task, x + from, 1, size, level, found, off);
    else
      levels_of(task, x + from * x_stride, x_stride, size, level, found, off);
    int32_t part = 0;
    for (int64_t k = 0; k < size; ++k) part += level[k] * level[k];
    square += part;
    if (out && csr)
      for (int64_t k = 0; k < size; ++k) out[rows.column_at(begin + from + k)] = uint8_t(level[k]);
    else if (out)
      for (int64_t k = 0; k < size; ++k) out[from + k] = uint8_t(level[k]);
  }
  task.squares[i] = double(square);
  found.error = std::max(found.error, off);
}

}  // namespace

LevelsReport find_levels(const LevelsTask& task) {
  Found all;
  std::mutex lock;
  std::atomic<bool> failed{false};
  for_ranges(task.rows->n, kRowsOfTask, task.threads, [&](int64_t from, int64_t to) {
    if (failed) return;
    Found found;
    for (int64_t i = from; i < to; ++i)
      if (task.rows->is_double)
        find_in_row<double>(task, i, found);
      else
        find_in_row<float>(task, i, found);
    if (!found.rough || (!task.levels && found.highest > 1)) failed = true;
    const std::lock_guard<std::mutex> guard(lock);
    all.add(found);
  });
  return {!failed, all.precise, all.highest <= 1, std::sqrt(all.error)};
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
