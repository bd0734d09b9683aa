#include "kernels/many_short_scans.hpp"

#include <vector>

#include "dispatch.hpp"
#include "parallel.hpp"

namespace widestreet {

int64_t scan_parts(const PartsTask& task) {
  std::atomic<int64_t> values{0};
  share(task.parts, task.threads, [&](Tasks& tasks) {
    std::vector<int64_t> support;
    std::vector<double> coef;
    for (int64_t p; tasks.draw(p);) {
      const int64_t begin = p ? task.end[p - 1] : 0, end = task.end[p];
      support.clear();
      coef.clear();
      for (int64_t r = begin; r < end; ++r)
        if (task.coef[r] != 0) {
          support.push_back(task.index[r]);
          coef.push_back(task.coef[r]);
        }
      if (support.empty()) continue;
      ScanTask scan;
      scan.kernel = task.kernel;
      scan.left = {task.rows, task.index + begin, end - begin};
      scan.right = {task.rows, support.data(), int64_t(support.size())};
      scan.coef = coef.data();
      scan.out = task.out + begin;
      scan.out_ld = end - begin;
      functions().scan(&scan, 1);
      values += scan.left.size * scan.right.size;
    }
  });
  return values;
}

}  // namespace widestreet
