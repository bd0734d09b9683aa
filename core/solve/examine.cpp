#include "solve/examine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace widestreet {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kFlat = 1e-12;  // of the boxes: a slope that is rounding
constexpr double kLeast = 1e-300;

// Neumaier's sum: the rounding errors of the total are added up separately.
class Sum {
 public:
  void add(double x) {
    const double next = total_ + x;
    lost_ += std::abs(total_) >= std::abs(x) ? (total_ - next) + x : (x - next) + total_;
    total_ = next;
  }
  double value() const { return std::isfinite(lost_) ? total_ + lost_ : total_; }

 private:
  double total_ = 0, lost_ = 0;
};

// A variable of one group.
struct Variable {
  double f, lower, upper;
};

// Minimises b total + sum max(upper (f - b), lower (f - b)) over b; the variables are sorted by f.
// The slope in b is total - sum of upper over f > b - sum of lower over f < b, which grows by
// upper - lower at each kink f. Returns the middle where the minimisers are an interval.
double best_bias(const std::vector<Variable>& sorted, double total) {
  Sum slope, width;
  slope.add(total);
  for (const Variable& v : sorted) {
    slope.add(-v.upper);
    width.add(v.upper - v.lower);
  }
  const double slack = kFlat * width.value();
  const size_t count = sorted.size();
  for (size_t k = 0; k < count; ++k) {
    slope.add(sorted[k].upper - sorted[k].lower);
    if (slope.value() < -slack) continue;
    size_t end = k;  // where the minimisers end: the first kink with ascent to its right
    while (slope.value() <= slack && end + 1 < count) {
      ++end;
      slope.add(sorted[end].upper - sorted[end].lower);
    }
    return end == k ? sorted[k].f : 0.5 * (sorted[k].f + sorted[end].f);
  }
  return sorted.back().f;
}

// Examines one group of one point and adds its contribution to the loss. Without `known` scores,
// some of which are not finite, only the constraints are examined.
// Sets: bias, found.
void examine_group(const ExamineTask& task, int64_t begin, int64_t end, int g, double total,
                   bool known, double& bias, Sum& loss, Examination& found) {
  std::vector<Variable> variables;
  variables.reserve(size_t((end - begin) * task.dual.layers));
  double high = -kInf, low = kInf;
  Sum betas, widths;
  for (int layer = 0; layer < task.dual.layers; ++layer)
    for (int64_t r = begin; r < end; ++r) {
      const int64_t v = task.dual.at(layer, r);
      if (task.dual.group[v] != g) continue;
      const double beta = task.beta[v], lower = task.dual.lower[v], upper = task.dual.upper[v];
      const double f = task.dual.target[v] - task.score[r], width = upper - lower;
      if (beta < upper) high = std::max(high, f);
      if (beta > lower) low = std::min(low, f);
      const double outside = std::max(beta - upper, lower - beta);
      found.infeasibility = std::max(found.infeasibility, outside / (width > 0 ? width : 1.0));
      betas.add(beta);
      widths.add(width);
      variables.push_back({f, lower, upper});
    }
  const double missing = std::abs(betas.value() - total) / std::max(widths.value(), kLeast);
  found.infeasibility = std::max(found.infeasibility, missing);
  if (!known || variables.empty()) return;
  found.violation = std::max(found.violation, high - low);
  std::sort(variables.begin(), variables.end(),
            [](const Variable& a, const Variable& b) { return a.f < b.f; });
  bias = best_bias(variables, total);
  loss.add(bias * total);
  for (const Variable& v : variables) {
    const double excess = v.f - bias;
    loss.add(std::max(v.upper * excess, v.lower * excess));
  }
}

}  // namespace

void examine(const ExamineTask& task, Examination* found, double* bias) {
  for (int64_t p = 0; p < task.points; ++p) {
    const int64_t begin = p ? task.end[p - 1] : 0, end = task.end[p];
    found[p] = Examination();
    Sum norm, linear, loss;
    bool known = true;
    for (int64_t r = begin; r < end; ++r) {
      known = known && std::isfinite(task.score[r]);
      double coef = 0;
      for (int layer = 0; layer < task.dual.layers; ++layer) {
        const int64_t v = task.dual.at(layer, r);
        coef += task.beta[v];
        linear.add(task.dual.target[v] * task.beta[v]);
      }
      norm.add(coef * task.score[r]);
    }
    for (int g = 0; g < task.dual.groups; ++g) {
      const int64_t at = p * task.dual.groups + g;
      bias[at] = 0;
      examine_group(task, begin, end, g, task.total[at], known, bias[at], loss, found[p]);
    }
    found[p].primal = known ? 0.5 * norm.value() + loss.value() : kInf;
    found[p].dual = known ? linear.value() - 0.5 * norm.value() : -kInf;
    if (!known) found[p].violation = kInf;
  }
}

}  // namespace widestreet
