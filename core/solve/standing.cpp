#include "solve/standing.hpp"

#include <algorithm>
#include <limits>

namespace widestreet {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Sets: largest. Keeps what is not a number.
inline void raise(double& largest, double x) {
  if (x > largest || x != x) largest = x;
}

}  // namespace

Extremes extremes(const Variables& dual, const double* beta, const double* score) {
  Extremes found;
  found.highest.assign(dual.groups, -kInf);
  std::vector<double> highest_of_less(dual.groups, -kInf);
  dual.each([&](int64_t v, int64_t r) {
    const double f = dual.target[v] - score[r];
    if (beta[v] < dual.upper[v]) raise(found.highest[dual.group[v]], f);
    if (beta[v] > dual.lower[v]) raise(highest_of_less[dual.group[v]], -f);
  });
  for (double less : highest_of_less) found.lowest.push_back(-less);
  return found;
}

void slack(const Variables& dual, const double* beta, const double* score, const double* least,
           const double* most, double* slack) {
  std::vector<double> violation(dual.rows, -kInf);
  dual.each([&](int64_t v, int64_t r) {
    const double f = dual.target[v] - score[r];
    if (beta[v] < dual.upper[v]) raise(violation[r], f - least[dual.group[v]]);
    if (beta[v] > dual.lower[v]) raise(violation[r], most[dual.group[v]] - f);
  });
  std::transform(violation.begin(), violation.end(), slack, [](double x) { return -x; });
}

}  // namespace widestreet
