// The Cholesky factor of a symmetric positive definite matrix that gains and loses rows.
#pragma once

#include <cstdint>
#include <vector>

namespace widestreet {

// L with L L' = A, kept in the order in which rows came.
class Factor {
 public:
  int64_t size() const { return size_; }

  // Solves [K A'; A 0] [x; m] = [first; second] where L L' = K + sigma A'A and A_gi = 1 if row i
  // belongs to group g. Groups without a row get m = 0. Sets: x (size() values), m (`groups`).
  void solve_bordered(const double* first, const double* second, const uint8_t* group, int groups,
                      double sigma, double* x, double* m);

  // Adds a row to A, given its values against the present rows and its diagonal value `own`. Its
  // pivot is the Schur complement of the diagonal value; the row is not added if the pivot is at
  // most `least` times `own`. Returns the pivot.
  double append(const double* row, double own, double least);

  // Takes row i out of A. O((size - i)^2).
  void remove(int64_t i);

  // Replaces everything by a lower triangle, column by column.
  void load(const double* L, int64_t size);

  // Copies L out, column by column; zeros above.
  void store(double* L) const;

 private:
  double* column(int64_t j) { return values_.data() + j * room_; }
  const double* column(int64_t j) const { return values_.data() + j * room_; }
  void reserve(int64_t room);
  void solve(char transposed, double* b) const;  // b <- L^-1 b (N) or L'^-1 b (T)
  void find_border(const uint8_t* group, int groups);

  // L^-1 A' as of the latest bordered solve, a line per group. Rows that come are added to it by
  // the next one, those that go are taken out at once.
  std::vector<std::vector<double>> border_;
  std::vector<uint8_t> group_;  // of the rows that the border knows

  std::vector<double> values_;  // room_ x room_, column by column
  int64_t size_ = 0, room_ = 0;
};

}  // namespace widestreet
