#include "factor.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace widestreet {

Trsv& trsv() {
  static Trsv given = nullptr;
  return given;
}

void Factor::solve(char transposed, double* B, int64_t columns) const {
  if (size_ == 0 || columns == 0) return;
  if (!trsv()) throw std::runtime_error("no BLAS was provided");
  char uplo = 'L', diagonal = 'N';
  int size = int(size_), lda = int(room_), stride = 1;
  double* A = const_cast<double*>(values_.data());  // which BLAS does not change
  for (int64_t j = 0; j < columns; ++j)
    trsv()(&uplo, &transposed, &diagonal, &size, A, &lda, B + j * size_, &stride);
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
  forward(explained.data(), 1);
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
  // What row i explained of those behind it goes back to them: a rank-one update of their part.
  std::vector<double> back(column(i) + i + 1, column(i) + size_);
  for (int64_t j = 0; j < i; ++j) std::copy(column(j) + i + 1, column(j) + size_, column(j) + i);
  for (int64_t j = i + 1; j < size_; ++j)
    std::copy(column(j) + j, column(j) + size_, column(j - 1) + j - 1);
  --size_;
  double* x = back.data() - i;  // aligned with the rows that are left
  for (int64_t j = i; j < size_; ++j) {
    double* l = column(j);
    const double length = std::hypot(l[j], x[j]);
    const double c = length / l[j], s = x[j] / l[j], inverse = l[j] / length;
    l[j] = length;
    for (int64_t r = j + 1; r < size_; ++r) {
      l[r] = (l[r] + s * x[r]) * inverse;
      x[r] = c * x[r] - s * l[r];
    }
  }
}

void Factor::load(const double* L, int64_t size) {
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
