#include "solve/newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "dispatch.hpp"
#include "lapack.hpp"
#include "parallel.hpp"

namespace widestreet {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int kCutSteps = 3;  // steps cut at a bound before pair steps go on
constexpr int64_t kFewFree = 200;
constexpr int kCutStepsOfFew = 50;  // where steps cost next to nothing
constexpr double kRidge = 1e-13;    // of the mean diagonal: keeps a rank-deficient K_FF solvable

bool is_free(const Subproblem& p, int64_t v) {
  return p.dual.lower[v] < p.beta[v] && p.beta[v] < p.dual.upper[v];
}

// Solves A X = B in place; false if A is not positive definite.
bool solve_definite(double* A, double* B, int64_t n, int64_t columns) {
  char uplo = 'L';
  int order = int(n), rhs = int(columns), info = 0;
  lapack().dposv(&uplo, &order, &rhs, A, &order, B, &order, &info);
  return info == 0;
}

// T is the type of the tile.
template <class T>
class Newton {
 public:
  explicit Newton(const Subproblem& p) : p_(p), tile_(static_cast<const T*>(p.tile)) {}

  // Sets: the free variables. Returns their number.
  int64_t find_free() {
    variable_.clear(), row_.clear(), group_.clear(), members_.clear();
    std::vector<int> number(p_.dual.groups, -1);
    p_.dual.each([&](int64_t v, int64_t row) {
      if (!is_free(p_, v)) return;
      int& g = number[p_.dual.group[v]];
      if (g < 0) {
        g = int(members_.size());
        members_.push_back(0);
      }
      ++members_[g];
      variable_.push_back(v);
      row_.push_back(row);
      group_.push_back(g);
    });
    return size();
  }

  // Whether no two free variables share a group: then the sums of the groups leave no choice.
  bool settled() const { return *std::max_element(members_.begin(), members_.end()) == 1; }

  // Sets: the direction to the maximiser with the others held fixed. False if there is none.
  bool find_direction() {
    const int64_t n = size(), groups = int64_t(members_.size());
    double* matrix = room_for(n * n);
    fill(matrix);
    solved_.assign(size_t(n * (1 + groups)), 0.0);
    for (int64_t a = 0; a < n; ++a) {
      solved_[a] = indicator(a);
      solved_[(1 + group_[a]) * n + a] = 1.0;
    }
    return solve_definite(matrix, solved_.data(), n, 1 + groups) && keep_sums();
  }

  // Moves to the end of the direction or to the first bound; returns how far. Sets: beta, score.
  double advance() {
    const int64_t n = size();
    double length = 1.0;
    for (int64_t a = 0; a < n; ++a) length = std::min(length, room(a));
    std::vector<double> change(n);
    for (int64_t a = 0; a < n; ++a) {
      const int64_t v = variable_[a];
      const double before = p_.beta[v], lower = p_.dual.lower[v], upper = p_.dual.upper[v];
      const double bound = solved_[a] > 0 ? upper : lower;
      const double moved = std::clamp(before + length * solved_[a], lower, upper);
      p_.beta[v] = room(a) <= length ? bound : moved;
      change[a] = p_.beta[v] - before;
    }
    functions().add_scores({p_.dual.rows, p_.in_double, p_.tile, p_.ld, row_.data(), change.data(),
                            n, p_.score, p_.threads});
    return length;
  }

 private:
  int64_t size() const { return int64_t(variable_.size()); }

  double indicator(int64_t a) const { return p_.dual.target[variable_[a]] - p_.score[row_[a]]; }

  double room(int64_t a) const {
    const double d = solved_[a];
    const int64_t v = variable_[a];
    return d == 0 ? kInf : ((d > 0 ? p_.dual.upper[v] : p_.dual.lower[v]) - p_.beta[v]) / d;
  }

  double* room_for(int64_t values) {
    void* begin = p_.scratch;
    size_t bytes = size_t(p_.scratch_bytes);
    if (begin && std::align(alignof(double), size_t(values) * sizeof(double), begin, bytes))
      return static_cast<double*>(begin);
    if (int64_t(matrix_.size()) < values) matrix_.resize(values);
    return matrix_.data();
  }

  // Sets: K_FF with a constant added for each group, which changes no step that keeps the sums but
  // makes the matrix definite.
  void fill(double* matrix) const {
    const int64_t n = size();
    double trace = 0;
    for (int64_t row : row_) trace += double(tile_[row * p_.ld + row]);
    const double scale = std::max(trace / double(n), 1e-300);
    for_ranges(n, 64, n * n > kWorthSharing ? p_.threads : 1, [&](int64_t begin, int64_t end) {
      for (int64_t a = begin; a < end; ++a) {
        const T* k = tile_ + row_[a] * p_.ld;
        double* line = matrix + a * n;
        for (int64_t b = 0; b < n; ++b)
          line[b] = double(k[row_[b]]) + (group_[a] == group_[b] ? scale : 0.0);
        line[a] += kRidge * scale;
      }
    });
  }

  // Removes from the solution the part that would change the sums of the groups. Sets: the
  // direction. Returns whether it is one of ascent.
  bool keep_sums() {
    const int64_t n = size(), groups = int64_t(members_.size());
    std::vector<double> schur(size_t(groups * groups), 0.0), price(size_t(groups), 0.0);
    for (int64_t a = 0; a < n; ++a) {
      price[group_[a]] += solved_[a];
      for (int64_t g = 0; g < groups; ++g)
        schur[g * groups + group_[a]] += solved_[(1 + g) * n + a];
    }
    if (!solve_definite(schur.data(), price.data(), groups, 1)) return false;
    std::vector<double> sum(size_t(groups), 0.0);
    for (int64_t a = 0; a < n; ++a) {
      for (int64_t g = 0; g < groups; ++g) solved_[a] -= solved_[(1 + g) * n + a] * price[g];
      sum[group_[a]] += solved_[a];
    }
    double ascent = 0;
    for (int64_t a = 0; a < n; ++a) {
      solved_[a] -= sum[group_[a]] / double(members_[group_[a]]);
      ascent += solved_[a] * indicator(a);
    }
    return std::isfinite(ascent) && ascent > 0;
  }

  const Subproblem& p_;
  const T* tile_;
  // the free variables: their number in the subproblem, their row, and their group's number among
  // the groups that have a free variable
  std::vector<int64_t> variable_, row_;
  std::vector<int> group_;
  std::vector<int64_t> members_;  // free variables of each of those groups
  std::vector<double> matrix_;    // where the scratch memory does not hold it
  std::vector<double> solved_;    // columns: the direction, then one for each group
};

template <class T>
bool take_steps(const Subproblem& p) {
  Newton<T> newton(p);
  int64_t count = newton.find_free();
  const int steps = count <= kFewFree ? kCutStepsOfFew : kCutSteps;
  for (int taken = 0; taken < steps && count > 0; ++taken) {
    if (p.stop && p.stop()) return false;
    if (newton.settled()) return true;
    if (!newton.find_direction()) return false;
    if (newton.advance() == 1.0) return true;
    count = newton.find_free();
  }
  return false;
}

}  // namespace

int64_t count_free(const Subproblem& p) {
  int64_t count = 0;
  p.dual.each([&](int64_t v, int64_t) { count += is_free(p, v); });
  return count;
}

bool newton_steps(const Subproblem& p) {
  return p.in_double ? take_steps<double>(p) : take_steps<float>(p);
}

}  // namespace widestreet
