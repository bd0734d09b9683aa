#include "solve/tilt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/simd.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {
namespace {

typedef Vec<double> Doubles;
constexpr int kLanes = Simd<double>::lanes;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kBits = 1.4426950408889634;  // 1 / ln 2
constexpr double kSmallestLogarithm = -600;   // of weights, relative to the largest
constexpr double kEdgeTol = 1e-13;            // relative accuracy of the mean of the margins
constexpr double kLeastVariance = 1e-12;      // of the mean square: a smaller one is rounding
constexpr int kMostSteps = 200;               // of a search, which usually takes a handful

double largest(const Doubles& v) {
  double found = v[0];
  for (int l = 1; l < kLanes; ++l) found = std::max(found, v[l]);
  return found;
}

double total(const Doubles& v) {
  double sum = 0;
  for (int l = 0; l < kLanes; ++l) sum += v[l];
  return sum;
}

// The weight of a logarithm that is less than the largest by -x.
Doubles weight_of(Doubles x) {
  return exp2_in_range(larger(x, splat(kSmallestLogarithm)) * kBits);
}

// Logarithms and margins in whole vectors; the rows that are added have no weight.
struct Padded {
  AlignedVector<double> log, above, power;

  Padded(const Tilt& t, double edge) {
    const int64_t size = (t.size + kLanes - 1) / kLanes * kLanes;
    log.assign(size, -kInfinity), above.assign(size, 0.0), power.resize(size);
    std::copy(t.log, t.log + t.size, log.begin());
    for (int64_t i = 0; i < t.size; ++i) above[i] = t.margin[i] - edge;
  }
};

struct Moments {
  double mean = 0, square = 0;  // of what exceeds the edge, under the tilted weights
};

// Sets: power.
Moments moments_at(Padded& p, double eta) {
  const int64_t size = int64_t(p.log.size());
  Doubles high = splat(-kInfinity), sum = {}, first = {}, second = {};
  for (int64_t i = 0; i < size; i += kLanes) {
    const Doubles x = load(&p.log[i]) - eta * load(&p.above[i]);
    store(&p.power[i], x);
    high = larger(high, x);
  }
  const double top = largest(high);
  for (int64_t i = 0; i < size; i += kLanes) {
    const Doubles above = load(&p.above[i]), w = weight_of(load(&p.power[i]) - top);
    const Doubles term = w * above;
    sum += w;
    first += term;
    second += term * above;
  }
  return {total(first) / total(sum), total(second) / total(sum)};
}

}  // namespace

double find_eta(const Tilt& t, double edge, double start) {
  Padded p(t, edge);
  double farthest = 0, low = 0, high = kInfinity, eta = start;
  for (double above : p.above) farthest = std::max(farthest, std::fabs(above));
  for (int step = 0; step < kMostSteps; ++step) {
    const Moments m = moments_at(p, eta);
    if (std::fabs(m.mean) <= kEdgeTol * edge) break;
    (m.mean > 0 ? low : high) = eta;
    const double variance = m.square - m.mean * m.mean;
    double newton = variance > kLeastVariance * m.square ? eta + m.mean / variance : kInfinity;
    if (std::isinf(high)) newton = std::min(newton, 4 * eta);
    const bool within = low < newton && newton < high;
    const double next = within ? newton : 0.5 * (low + high);
    if (next == eta) break;
    eta = next;
    // Newton's step leaves an error of half the left side divided by the variance.
    if (within && farthest * m.mean * m.mean <= kEdgeTol * edge * variance) break;
  }
  return eta;
}

double tilt(const Tilt& t, double eta, double* log, double* weight) {
  double top = -kInfinity, sum = 0;
  for (int64_t i = 0; i < t.size; ++i) {
    log[i] = t.log[i] - eta * t.margin[i];
    top = std::max(top, log[i]);
  }
  int64_t i = 0;
  Doubles sums = {};
  for (; i + kLanes <= t.size; i += kLanes) {
    const Doubles w = weight_of(load(log + i) - top);
    store(weight + i, w);
    sums += w;
  }
  if (i < t.size) {  // the last vector is not whole
    double rest[kLanes];
    std::fill(rest, rest + kLanes, -kInfinity);
    std::copy(log + i, log + t.size, rest);
    store(rest, weight_of(load(rest) - top));
    std::copy(rest, rest + (t.size - i), weight + i);
    for (int64_t l = 0; l < t.size - i; ++l) sum += rest[l];
  }
  sum += total(sums);
  const double logarithm = top + std::log(sum);
  for (int64_t j = 0; j < t.size; ++j) {
    weight[j] /= sum;
    log[j] -= logarithm;
  }
  return logarithm;
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
