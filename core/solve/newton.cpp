#include "solve/newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace widestreet {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kMostFree = 512;
constexpr int kCutSteps = 3;  // steps cut at a bound before it is given up
constexpr int64_t kFewFree = 200;
constexpr int kMoreCutSteps = 50;  // where steps cost next to nothing
constexpr double kRidge = 1e-13;   // of the mean diagonal: keeps a rank-deficient K_FF solvable

struct Free {
  int64_t variable;
  int64_t row;
  int group;  // number among the groups that have a free variable
};

// Solves A X = B in place; false if A is not positive definite.
bool solve_definite(std::vector<double>& A, std::vector<double>& B, int64_t n, int64_t columns) {
  if (!posv()) throw std::runtime_error("no LAPACK was provided");
  char uplo = 'L';
  int order = int(n), rhs = int(columns), info = 0;
  posv()(&uplo, &order, &rhs, A.data(), &order, B.data(), &order, &info);
  return info == 0;
}

class Newton {
 public:
  explicit Newton(const Subproblem& p) : p_(p) {}

  // Sets: the free variables. Returns their number.
  int64_t find_free() {
    free_.clear();
    std::vector<int> number(p_.groups, -1);
    members_.clear();
    for (int layer = 0; layer < p_.layers; ++layer)
      for (int64_t r = 0; r < p_.rows; ++r) {
        const int64_t v = layer * p_.layer_stride + r;
        if (!(p_.lower[v] < p_.beta[v] && p_.beta[v] < p_.upper[v])) continue;
        int& g = number[p_.group[v]];
        if (g < 0) {
          g = int(members_.size());
          members_.push_back(0);
        }
        ++members_[g];
        free_.push_back({v, r, g});
      }
    return int64_t(free_.size());
  }

  // Nobody to exchange with: all are where they must be.
  bool settled() const { return *std::max_element(members_.begin(), members_.end()) == 1; }

  // Sets: the direction to the maximiser with the others held fixed. False if there is none.
  bool find_direction() {
    const int64_t n = int64_t(free_.size()), groups = int64_t(members_.size());
    const double* K = static_cast<const double*>(p_.tile);
    double trace = 0;
    for (const Free& f : free_) trace += K[f.row * p_.ld + f.row];
    const double scale = std::max(trace / double(n), 1e-300);
    matrix_.resize(size_t(n * n));
    for (int64_t a = 0; a < n; ++a) {
      const double* k = K + free_[a].row * p_.ld;
      double* line = &matrix_[a * n];
      // The same for all of a group: changes no step that keeps the sums, but makes K definite.
      for (int64_t b = 0; b < n; ++b)
        line[b] = k[free_[b].row] + (free_[a].group == free_[b].group ? scale : 0.0);
      line[a] += kRidge * scale;
    }
    solved_.assign(size_t(n * (1 + groups)), 0.0);
    for (int64_t a = 0; a < n; ++a) {
      solved_[a] = indicator(free_[a]);
      solved_[(1 + free_[a].group) * n + a] = 1.0;
    }
    return solve_definite(matrix_, solved_, n, 1 + groups) && keep_sums();
  }

  // Moves to the end of the direction or to the first bound; returns how far. Sets: beta, score.
  double advance() {
    const int64_t n = int64_t(free_.size());
    double length = 1.0;
    for (int64_t a = 0; a < n; ++a) length = std::min(length, room(a));
    const double* K = static_cast<const double*>(p_.tile);
    for (int64_t a = 0; a < n; ++a) {
      const int64_t v = free_[a].variable;
      const double before = p_.beta[v], lower = p_.lower[v], upper = p_.upper[v];
      const double bound = solved_[a] > 0 ? upper : lower;
      const double moved = std::clamp(before + length * solved_[a], lower, upper);
      p_.beta[v] = room(a) <= length ? bound : moved;
      const double change = p_.beta[v] - before;
      const double* k = K + free_[a].row * p_.ld;
      for (int64_t r = 0; r < p_.rows; ++r) p_.score[r] += change * k[r];
    }
    return length;
  }

 private:
  double indicator(const Free& f) const { return p_.target[f.variable] - p_.score[f.row]; }

  double room(int64_t a) const {
    const double d = solved_[a];
    const int64_t v = free_[a].variable;
    return d == 0 ? kInf : ((d > 0 ? p_.upper[v] : p_.lower[v]) - p_.beta[v]) / d;
  }

  // Takes from the solution what would move the sums of the groups. Sets: the direction.
  bool keep_sums() {
    const int64_t n = int64_t(free_.size()), groups = int64_t(members_.size());
    std::vector<double> schur(size_t(groups * groups), 0.0), price(size_t(groups), 0.0);
    for (int64_t a = 0; a < n; ++a) {
      price[free_[a].group] += solved_[a];
      for (int64_t g = 0; g < groups; ++g)
        schur[g * groups + free_[a].group] += solved_[(1 + g) * n + a];
    }
    if (!solve_definite(schur, price, groups, 1)) return false;
    std::vector<double> sum(size_t(groups), 0.0);
    for (int64_t a = 0; a < n; ++a) {
      for (int64_t g = 0; g < groups; ++g) solved_[a] -= solved_[(1 + g) * n + a] * price[g];
      sum[free_[a].group] += solved_[a];
    }
    double ascent = 0;
    for (int64_t a = 0; a < n; ++a) {
      solved_[a] -= sum[free_[a].group] / double(members_[free_[a].group]);
      ascent += solved_[a] * indicator(free_[a]);
    }
    return std::isfinite(ascent) && ascent > 0;
  }

  const Subproblem& p_;
  std::vector<Free> free_;
  std::vector<int64_t> members_;  // free variables of each group that has any
  std::vector<double> matrix_;
  std::vector<double> solved_;  // columns: the direction, then one for each group
};

}  // namespace

Posv& posv() {
  static Posv given = nullptr;
  return given;
}

bool polish(const Subproblem& p) {
  Newton newton(p);
  int steps = 0;
  for (int taken = 0;; ++taken) {
    const int64_t count = newton.find_free();
    if (taken == 0) steps = count <= kFewFree ? kMoreCutSteps : kCutSteps;
    if (taken == steps || count == 0 || count > kMostFree) return false;
    if (newton.settled()) return true;
    if (!newton.find_direction()) return false;
    if (newton.advance() == 1.0) return true;
  }
}

}  // namespace widestreet
