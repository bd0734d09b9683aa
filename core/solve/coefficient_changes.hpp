// Differences between two sparse vectors of coefficients.
#pragma once

#include <cstdint>
#include <vector>

namespace widestreet {

// Coefficients of rows whose numbers ascend.
struct SparseCoefficients {
  const int64_t* rows = nullptr;
  const double* coef = nullptr;
  int64_t size = 0;
};

struct CoefficientChanges {
  std::vector<int64_t> rows;
  std::vector<double> change;
};

// The rows whose coefficients differ, and the new coefficient less the old one.
CoefficientChanges coefficient_changes(const SparseCoefficients& now,
                                       const SparseCoefficients& before);

}  // namespace widestreet
