#include "solve/coefficient_changes.hpp"

#include <cstddef>
#include <limits>

namespace widestreet {

CoefficientChanges coefficient_changes(const SparseCoefficients& now,
                                       const SparseCoefficients& before) {
  CoefficientChanges found;
  found.rows.reserve(std::size_t(now.size + before.size));
  found.change.reserve(std::size_t(now.size + before.size));
  constexpr int64_t end = std::numeric_limits<int64_t>::max();
  for (int64_t i = 0, j = 0; i < now.size || j < before.size;) {
    const int64_t mine = i < now.size ? now.rows[i] : end;
    const int64_t other = j < before.size ? before.rows[j] : end;
    double change = 0;
    if (mine <= other) change += now.coef[i++];
    if (other <= mine) change -= before.coef[j++];
    if (change == 0) continue;
    found.rows.push_back(mine <= other ? mine : other);
    found.change.push_back(change);
  }
  return found;
}

}  // namespace widestreet
