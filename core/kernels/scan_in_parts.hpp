// Scans in parts: blocks of left rows against ranges of right rows, which all threads share.
//
//             right rows of scan 1   of scan 2
//             +-------+-------+      +-------+    1) pack each range of right rows into a panel
//   left rows |   |   |   |   |      |   |   |    2) sum each block of left rows against each panel
//             +-------+-------+      +-------+    3) add the sums of the panels of a row, in order
//
// Threads wait for each other twice, however many scans there are, unless their panels exceed
// kPanelBytes together. If the rows have few columns, a panel fits into the cache of a processor. The
// ranges do not depend on the number of threads, and neither do the sums.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/block_against_panel.hpp"
#include "kernels/sink.hpp"
#include "parallel.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {

constexpr int64_t kPartBytes = 1 << 19;        // of a panel
constexpr int64_t kTilesAtOnce = 8;            // of a panel, packed by a thread
constexpr int64_t kLeastPart = 1 << 12;        // right rows of one, so that it is worth a block
constexpr int64_t kLeastSparsePart = 1 << 14;  // the same if the left rows are sparse

// Part of a scan, with the right rows [from, to).
template <class T>
struct Part {
  const ScanTask* whole = nullptr;
  ScanTask task;  // the same; its sums may go to a buffer
  int64_t from = 0, to = 0;
  bool alone = true;  // whether the scan has no other part
  Panel<T> panel;
  std::unique_ptr<Coefficients<T>> coef;
  std::vector<double> sums;

  // Memory of the panel, and of sums that are not those of the scan.
  int64_t bytes() const {
    const int64_t panel = (to - from) * task.right.rows->d * int64_t(sizeof(T));
    return panel + (alone ? 0 : task.sets * task.left.size * int64_t(sizeof(double)));
  }
};

// The number of right rows of a part, unless it is the last one of its scan.
template <class T>
int64_t part_rows(int64_t d, int64_t least) {
  constexpr int64_t unit = kChunk * Panel<T>::width;
  const int64_t most = std::max(least, kPartBytes / (std::max<int64_t>(1, d) * int64_t(sizeof(T))));
  return std::min((most + unit - 1) / unit * unit, panel_rows<T>(d));
}

// Appends the parts of scans [begin, ...), at least one, while their memory is at most kPanelBytes.
// Returns the next scan, and sets `from` to its first right row that is left.
template <class T>
int64_t take_parts(const ScanTask* tasks, int64_t begin, int64_t count, int64_t least,
                   int64_t& from, std::vector<Part<T>>& parts) {
  int64_t bytes = 0;
  for (; begin < count; ++begin, from = 0) {
    const ScanTask& task = tasks[begin];
    const int64_t step = part_rows<T>(task.right.rows->d, least);
    for (; from < task.right.size; from += step) {
      Part<T> part;
      part.whole = &task;
      part.task = task;
      part.from = from;
      part.to = std::min(from + step, task.right.size);
      part.alone = from == 0 && part.to == task.right.size;
      bytes += part.bytes();
      if (!parts.empty() && bytes > kPanelBytes) return begin;
      parts.push_back(std::move(part));
    }
  }
  return begin;
}

template <KernelKind kind, class T, class Block>
void sum_parts(std::vector<Part<T>>& parts, const Folding<T>& fold, int threads) {
  // 1) panels
  std::vector<std::pair<int64_t, int64_t>> pieces;  // part, and first tile
  for (size_t p = 0; p < parts.size(); ++p) {
    Part<T>& part = parts[p];
    part.panel.reserve(fold, part.task.right.rows->d, part.to - part.from);
    for (int64_t t = 0; t < part.panel.tiles; t += kTilesAtOnce) pieces.emplace_back(p, t);
  }
  share(int64_t(pieces.size()), threads, [&](Tasks& tasks) {
    for (int64_t n; tasks.draw(n);) {
      Part<T>& part = parts[pieces[n].first];
      const int64_t begin = pieces[n].second;
      part.panel.fill(fold, part.task.right, part.from, begin,
                      std::min(begin + kTilesAtOnce, part.panel.tiles));
      if (begin > 0) continue;
      part.coef = std::make_unique<Coefficients<T>>(part.task, part.from, part.to);
      if (part.alone) continue;
      part.sums.assign(size_t(part.task.sets * part.task.left.size), 0.0);
      part.task.out = part.sums.data();
      part.task.out_ld = part.task.left.size;
    }
  });
  // 2) blocks of left rows, smaller ones if there are few
  int64_t rows = 0;
  for (const Part<T>& part : parts) rows += part.task.left.size;
  const int64_t step = left_block_size(rows, threads);
  std::vector<int64_t> end;  // number of blocks of the parts so far
  for (const Part<T>& part : parts)
    end.push_back((end.empty() ? 0 : end.back()) + (part.task.left.size + step - 1) / step);
  share(end.back(), threads, [&](Tasks& tasks) {
    Block block;
    auto sum = [&](auto sink, const Part<T>& part, int64_t b) {
      const RowList& left = part.task.left;
      const int64_t from = b * step, to = std::min(from + step, left.size);
      sink.begin(from, to - from);
      block.read(fold, left, from, to);
      meet<kind>(block, fold, part.panel, sink);
      sink.end();
    };
    for (int64_t b; tasks.draw(b);) {
      const int64_t p = std::upper_bound(end.begin(), end.end(), b) - end.begin();
      const Part<T>& part = parts[p];
      const int64_t at = b - (p ? end[p - 1] : 0);
      if (part.task.sets == 1)
        sum(FewSums<T, 1>(part.task, *part.coef), part, at);
      else if (part.task.sets == 2)
        sum(FewSums<T, 2>(part.task, *part.coef), part, at);
      else
        sum(ManySums<T>(part.task, *part.coef), part, at);
    }
  });
}

// Adds the sums of scans to their results. All have the same kernel, rows, precision and number of
// threads. The right rows are packed by rows; blocks of left rows are of the given kind.
template <KernelKind kind, class T, class Block>
void scan_in_parts(const ScanTask* tasks, int64_t count, int64_t least) {
  const Folding<T> fold(tasks->kernel);
  const int threads = tasks->threads;
  int64_t from = 0;
  for (int64_t task = 0; task < count;) {
    std::vector<Part<T>> parts;
    task = take_parts(tasks, task, count, least, from, parts);
    if (parts.empty()) continue;
    sum_parts<kind, T, Block>(parts, fold, threads);
    // 3) sums of parts
    for (const Part<T>& part : parts) {
      if (part.alone) continue;
      const ScanTask& whole = *part.whole;
      for (int64_t q = 0; q < whole.sets; ++q)
        for (int64_t i = 0; i < whole.left.size; ++i)
          whole.out[q * whole.out_ld + i] += part.sums[q * whole.left.size + i];
    }
  }
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
