#include "kernels/bounded_rows.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "parallel.hpp"

namespace widestreet {
namespace {

constexpr int64_t kRange = 512;            // rows of a task
constexpr double kUnit = 1.0 / (1 << 24);  // of rounding in float

// The lesser of two bounds; no number if one of them is none.
double lesser(double a, double b) {
  if (a <= b) return a;
  return b < a ? b : std::numeric_limits<double>::quiet_NaN();
}

// The bound of one group of ranges for a row. Sets: products, which has room for all features.
double bound_of(const FeatureRanges& ranges, int64_t group, const float* x, double V,
                double* products) {
  const int64_t first = ranges.begin[group], from = group ? ranges.last[group - 1] : 0;
  const int64_t to = ranges.last[group], behind = ranges.end[to - 1], d = ranges.d;
  if (ranges.moments) {
    for (int64_t k = first; k < behind; ++k) products[k] = 0;
    for (int64_t l = first; l < behind; ++l)  // parts below the diagonal are zero
      for (int64_t k = l; k < behind; ++k)
        products[k] += double(x[l]) * double(ranges.moments[l * d + k]);
  }
  const double root = std::sqrt(V), terms = double(behind - first + 8);
  double square = 0, form = 0, by_longest = 0, by_trace = 0, by_form = 0;
  int64_t k = first;
  for (int64_t r = from; r < to; ++r) {
    for (; k < ranges.end[r]; ++k) {
      square += double(x[k]) * double(x[k]);
      if (ranges.moments) form += double(x[k]) * products[k];
    }
    const double norm = std::sqrt(square), trace = ranges.trace[r];
    by_longest += norm * ranges.longest[r];
    by_trace += norm * std::sqrt(trace);
    // |x_k M_kl x_l| add up to at most |x|^2 trace(M)
    by_form += std::sqrt(form + 2 * kUnit * terms * trace * square);
  }
  const double bound = lesser(V * by_longest, root * by_trace);
  return ranges.moments ? lesser(bound, root * by_form) : bound;
}

}  // namespace

void round_rows(const RowList& rows, double scale, double grid, const RoundedRows& rounded,
                int threads) {
  const int64_t d = rows.rows->d;
  for_ranges(rows.size, kRange, threads, [&](int64_t begin, int64_t end) {
    std::vector<double> x(d);
    for (int64_t p = begin; p < end; ++p) {
      load_row(*rows.rows, rows.at(p), x.data());
      float* features = rounded.features + p * d;
      double lost = 0, square = 0;
      for (int64_t k = 0; k < d; ++k) {
        const double exact = x[k] * scale;
        features[k] = float(exact);
        const double rest = exact - double(features[k]);
        lost += rest * rest;
        square += double(features[k]) * double(features[k]);
      }
      const double half = -0.5 * square, start = std::nearbyint(half / grid) * grid;
      rounded.start[p] = float(start);
      rounded.factor[p] = std::exp2(half - start);
      rounded.error[p] = std::sqrt(lost);
    }
  });
}

void bound_ranges(const float* features, int64_t rows, const FeatureRanges& ranges, const double* V,
                  double* out, int threads) {
  for_ranges(rows, kRange, threads, [&](int64_t begin, int64_t end) {
    std::vector<double> products(ranges.d);
    for (int64_t i = begin; i < end; ++i) {
      out[i] = 0;
      for (int64_t group = 0; group < ranges.groups; ++group)
        out[i] += bound_of(ranges, group, features + i * ranges.d, V[i], products.data());
    }
  });
}

}  // namespace widestreet
