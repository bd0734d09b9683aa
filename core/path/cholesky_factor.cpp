#include "path/cholesky_factor.hpp"

#include <algorithm>
#include <cmath>

#include "lapack.hpp"

namespace widestreet {

namespace {
constexpr int64_t kFew = 8;  // rows that are cheaper one by one
}

void Factor::solve(char transposed, double* b) const {
  if (size_ == 0) return;
  char uplo = 'L', diagonal = 'N';
  int size = int(size_), lda = int(room_), stride = 1;
  double* A = const_cast<double*>(values_.data());  // which BLAS does not change
  lapack().dtrsv(&uplo, &transposed, &diagonal, &size, A, &lda, b, &stride);
}

void Factor::find_border(const uint8_t* group, int groups) {
  if (int(border_.size()) != groups || !std::equal(group_.begin(), group_.end(), group)) {
    group_.clear();
    border_.assign(groups, {});
  }
  const int64_t known = int64_t(group_.size());
  group_.assign(group, group + size_);
  for (int g = 0; g < groups; ++g) {
    std::vector<double>& y = border_[g];
    y.resize(size_);
    for (int64_t i = known; i < size_; ++i) y[i] = group[i] == g ? 1.0 : 0.0;
    if (size_ - known > kFew) {
      for (int64_t i = 0; i < known; ++i) y[i] = group[i] == g ? 1.0 : 0.0;
      solve('N', y.data());
      continue;
    }
    for (int64_t i = known; i < size_; ++i) {
      for (int64_t j = 0; j < i; ++j) y[i] -= column(j)[i] * y[j];
      y[i] /= column(i)[i];
    }
  }
}

void Factor::solve_bordered(const double* first, const double* second, const uint8_t* group,
                            int groups, double sigma, double* x, double* m) {
  // (K + sigma A'A) x + A'm = first + sigma A' second =: r and A x = second, so that with
  // Y = L^-1 A' and z = L^-1 r:  Y'Y m = Y'z - second  and  x = L'^-1 (z - Y m).
  find_border(group, groups);
  const std::vector<std::vector<double>>& Y = border_;
  std::vector<double> square(groups * groups), right(groups);
  std::vector<char> present(groups);
  for (int64_t i = 0; i < size_; ++i) {
    x[i] = first[i] + sigma * second[group[i]];
    present[group[i]] = 1;
  }
  solve('N', x);
  for (int g = 0; g < groups; ++g) {
    const std::vector<double>& y = Y[g];
    right[g] = -second[g];
    for (int64_t i = 0; i < size_; ++i) right[g] += y[i] * x[i];
    for (int h = 0; h <= g; ++h) {
      double sum = 0;
      for (int64_t i = 0; i < size_; ++i) sum += y[i] * Y[h][i];
      square[g * groups + h] = square[h * groups + g] = sum;
    }
  }
  // Elimination, in order: the matrix is positive definite over the groups that are present.
  for (int g = 0; g < groups; ++g) {
    if (!present[g]) continue;
    for (int h = g + 1; h < groups; ++h) {
      const double part = square[h * groups + g] / square[g * groups + g];
      for (int j = g; j < groups; ++j) square[h * groups + j] -= part * square[g * groups + j];
      right[h] -= part * right[g];
    }
  }
  for (int g = groups - 1; g >= 0; --g) {
    m[g] = 0;
    if (!present[g]) continue;
    for (int h = g + 1; h < groups; ++h) right[g] -= square[g * groups + h] * m[h];
    m[g] = right[g] / square[g * groups + g];
  }
  for (int g = 0; g < groups; ++g)
    for (int64_t i = 0; i < size_; ++i) x[i] -= m[g] * Y[g][i];
  solve('T', x);
}

void Factor::reserve(int64_t room) {
  if (room <= room_) return;
  room = std::max(room, room_ + room_ / 2 + 16);
  std::vector<double> bigger(room * room);
  for (int64_t j = 0; j < size_; ++j)
    std::copy(column(j) + j, column(j) + size_, bigger.data() + j * room + j);
  values_ = std::move(bigger);
  room_ = room;
}

double Factor::append(const double* row, double own, double least) {
  std::vector<double> explained(row, row + size_);
  solve('N', explained.data());
  double pivot = own;
  for (double value : explained) pivot -= value * value;
  if (!(pivot > least * own)) return pivot;
  reserve(size_ + 1);
  for (int64_t j = 0; j < size_; ++j) column(j)[size_] = explained[j];
  column(size_)[size_] = std::sqrt(pivot);
  ++size_;
  return pivot;
}

void Factor::remove(int64_t i) {
  // Without column i, the part of L below it needs a rank-one update.
  // The border is another row of L for each group.
  const bool known = i < int64_t(group_.size());
  std::vector<double> border_back(border_.size());
  if (known) {
    group_.erase(group_.begin() + i);
    for (size_t g = 0; g < border_.size(); ++g) {
      border_back[g] = border_[g][i];
      border_[g].erase(border_[g].begin() + i);
    }
  }
  std::vector<double> x(size_t(size_ - 1));  // column i without row i; its beginning is not used
  std::copy(column(i) + i + 1, column(i) + size_, x.begin() + i);
  for (int64_t j = 0; j < i; ++j) std::copy(column(j) + i + 1, column(j) + size_, column(j) + i);
  for (int64_t j = i + 1; j < size_; ++j)
    std::copy(column(j) + j, column(j) + size_, column(j - 1) + j - 1);
  --size_;
  for (int64_t j = i; j < size_; ++j) {
    double* l = column(j);
    const double length = std::hypot(l[j], x[j]);
    const double c = length / l[j], s = x[j] / l[j], inverse = l[j] / length;
    l[j] = length;
    for (int64_t r = j + 1; r < size_; ++r) {
      l[r] = (l[r] + s * x[r]) * inverse;
      x[r] = c * x[r] - s * l[r];
    }
    if (j >= int64_t(group_.size())) continue;
    for (size_t g = 0; g < border_.size(); ++g) {
      double& y = border_[g][j];
      y = (y + s * border_back[g]) * inverse;
      border_back[g] = c * border_back[g] - s * y;
    }
  }
}

void Factor::load(const double* L, int64_t size) {
  group_.clear();
  size_ = 0;
  reserve(size);
  size_ = size;
  for (int64_t j = 0; j < size; ++j) std::copy(L + j * size + j, L + (j + 1) * size, column(j) + j);
}

void Factor::store(double* L) const {
  for (int64_t j = 0; j < size_; ++j) {
    std::fill(L + j * size_, L + j * size_ + j, 0.0);
    std::copy(column(j) + j, column(j) + size_, L + j * size_ + j);
  }
}

}  // namespace widestreet
