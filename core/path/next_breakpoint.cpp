#include "path/next_breakpoint.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace widestreet {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

inline double slope_of(const HomotopyStep& w, int64_t r, int64_t v) {
  return w.d_target[v] - w.d_score[r] - w.d_bias[w.group[v]];
}

inline double slack_of(const HomotopyStep& w, int64_t r, int64_t v) {
  return w.target[v] - w.score[r] - w.bias[w.group[v]];
}

// Calls visit(row) for each row that is looked at.
template <class Visit>
void each_row(const HomotopyStep& w, Visit&& visit) {
  const int64_t count = w.rows ? w.count : w.variables / w.layers;
  for (int64_t i = 0; i < count; ++i) visit(w.rows ? w.rows[i] : i);
}

// Calls visit(row, variable) for each variable of these, in the order of their numbers.
template <class Visit>
void each(const HomotopyStep& w, Visit&& visit) {
  each_row(w, [&](int64_t r) {
    for (int64_t v = r * w.layers; v < (r + 1) * w.layers; ++v) visit(r, v);
  });
}

struct Scale {
  double slope = 1, rate = 1, rest = 0;
};

Scale scale_of(const HomotopyStep& w) {
  Scale s;
  each(w, [&](int64_t r, int64_t v) {
    const double slope = std::fabs(slope_of(w, r, v));
    s.slope = std::max(s.slope, slope);
    s.rate = std::max(s.rate, std::fabs(w.d_beta[v]));  // also of variables at moving bounds
    if (w.bound_state[v] == kFree) s.rest = std::max(s.rest, slope);
  });
  return s;
}

struct Reach {
  double length = kInf;
  int8_t to = kFree;
  double speed = 0;  // at which it goes there: parts of its box, or of its target, per theta
};

inline Reach reach_of(const HomotopyStep& w, int64_t r, int64_t v, double small, double tiny) {
  Reach reach;
  if (w.bound_state[v] == kFree) {
    const double below = w.d_beta[v] - w.d_lower[v], above = w.d_beta[v] - w.d_upper[v];
    const double width = w.upper[v] - w.lower[v];
    if (below < -tiny)
      reach = {std::max(0.0, w.beta[v] - w.lower[v]) / -below, kLower, -below / width};
    if (above > tiny) {
      const double length = std::max(0.0, w.upper[v] - w.beta[v]) / above;
      if (length < reach.length) reach = {length, kUpper, above / width};
    }
    return reach;
  }
  if (!(w.upper[v] > w.lower[v] || w.d_upper[v] > w.d_lower[v])) return reach;
  const double sign = w.bound_state[v] == kLower ? 1.0 : -1.0;
  const double slope = sign * slope_of(w, r, v);
  if (slope > small) {
    reach.length = std::max(0.0, -sign * slack_of(w, r, v)) / slope;
    reach.speed = slope / std::max(1.0, std::fabs(w.target[v]));
  }
  return reach;
}

}  // namespace

Breakpoint nearest(const HomotopyStep& w, double negligible, double zero_length, bool by_index,
                   const int64_t* passed_over, int64_t count) {
  const Scale scale = scale_of(w);
  const double small = negligible * scale.slope, tiny = negligible * scale.rate;
  Breakpoint found;
  found.length = kInf;
  found.rest = scale.rest;
  const auto allowed = [&](int64_t v) {
    return std::find(passed_over, passed_over + count, v) == passed_over + count;
  };
  each(w, [&](int64_t r, int64_t v) {
    const Reach reach = reach_of(w, r, v, small, tiny);
    if (reach.length < found.length && allowed(v)) {
      found.length = reach.length;
      found.variable = v;
      found.to = reach.to;
    }
  });
  if (found.variable < 0) return found;
  if (by_index) {
    each(w, [&](int64_t r, int64_t v) {
      if (v >= found.variable) return;
      const Reach reach = reach_of(w, r, v, small, tiny);
      const double farther = (reach.length - found.length) * std::max(1.0, reach.speed);
      if ((reach.length <= found.length || farther <= zero_length) && allowed(v)) {
        found.variable = v;
        found.to = reach.to;
      }
    });
  }
  found.slope = slope_of(w, found.variable / w.layers, found.variable);
  return found;
}

void advance(const HomotopyStep& w, double length) {
  each(w, [&](int64_t, int64_t v) {
    w.beta[v] += length * w.d_beta[v];
    w.target[v] += length * w.d_target[v];
    w.lower[v] += length * w.d_lower[v];
    w.upper[v] += length * w.d_upper[v];
  });
  each_row(w, [&](int64_t r) { w.score[r] += length * w.d_score[r]; });
}

}  // namespace widestreet
