// The core without Python, for the sanitizers: every function on buffers of exact size, with each
// instruction set, against plain loops; then its threads (threads.cpp). No output and status 0 mean
// that all is well. Argument: "values", "threads" or nothing for both.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>

#include "check.hpp"
#include "dispatch.hpp"
#include "kernels/bounded_rows.hpp"
#include "kernels/equal_rows.hpp"
#include "kernels/many_short_scans.hpp"
#include "kernels/row_figures.hpp"
#include "lapack.hpp"
#include "path/cholesky_factor.hpp"
#include "path/next_breakpoint.hpp"
#include "solve/changes.hpp"
#include "solve/examine.hpp"
#include "solve/held_out.hpp"
#include "solve/last_scores.hpp"
#include "solve/newton.hpp"
#include "solve/rows_that_matter.hpp"
#include "solve/skipping_and_violators.hpp"
#include "solve/slots.hpp"
#include "solve/small.hpp"
#include "solve/standing.hpp"

namespace widestreet {

void check_scores();   // scores.cpp
void check_threads();  // threads.cpp

namespace {

// dposv for the lower triangle by columns, without pivots or blocks.
void plain_posv(char*, int* n, int* columns, double* A, int* lda, double* B, int* ldb, int* info) {
  const int size = *n;
  auto a = [&](int i, int j) -> double& { return A[size_t(j) * *lda + i]; };
  *info = 0;
  for (int j = 0; j < size; ++j) {
    for (int i = j; i < size; ++i)
      for (int k = 0; k < j; ++k) a(i, j) -= a(i, k) * a(j, k);
    if (!(a(j, j) > 0)) {
      *info = j + 1;
      return;
    }
    a(j, j) = std::sqrt(a(j, j));
    for (int i = j + 1; i < size; ++i) a(i, j) /= a(j, j);
  }
  for (int c = 0; c < *columns; ++c) {
    double* b = B + size_t(c) * *ldb;
    for (int i = 0; i < size; ++i) {
      for (int k = 0; k < i; ++k) b[i] -= a(i, k) * b[k];
      b[i] /= a(i, i);
    }
    for (int i = size; i-- > 0;) {
      for (int k = i + 1; k < size; ++k) b[i] -= a(k, i) * b[k];
      b[i] /= a(i, i);
    }
  }
}

// dtrsv for a lower triangle by columns.
void plain_trsv(char*, char* transposed, char*, int* n, double* A, int* lda, double* x, int*) {
  const int size = *n;
  auto a = [&](int i, int j) { return A[size_t(j) * *lda + i]; };
  if (*transposed == 'N') {
    for (int i = 0; i < size; ++i) {
      for (int k = 0; k < i; ++k) x[i] -= a(i, k) * x[k];
      x[i] /= a(i, i);
    }
  } else {
    for (int i = size; i-- > 0;) {
      for (int k = i + 1; k < size; ++k) x[i] -= a(k, i) * x[k];
      x[i] /= a(i, i);
    }
  }
}

constexpr KernelKind kKinds[] = {KernelKind::linear,  KernelKind::rbf,       KernelKind::poly,
                                 KernelKind::sigmoid, KernelKind::laplacian, KernelKind::far_rbf};

bool near(double found, double exact, bool in_double, double scale) {
  return std::fabs(found - exact) <= (in_double ? 1e-12 : 2e-4) * std::max(1.0, scale);
}

void check_values(const Kernel& kernel, const Data& left, const Data& right, bool in_double) {
  const int64_t m = left.n, n = right.n;
  std::vector<double> wide(in_double ? size_t(m * n) : 0);
  std::vector<float> narrow(in_double ? 0 : size_t(m * n));
  TileTask tile;
  tile.kernel = kernel;
  tile.left = {&left.rows, nullptr, m};
  tile.right = {&right.rows, nullptr, n};
  tile.out = in_double ? static_cast<void*>(wide.data()) : narrow.data();
  tile.ld = n;
  tile.in_double = in_double;
  tile.threads = 2;
  functions().tile(tile);
  std::vector<double> coef(size_t(2 * n)), sums(size_t(2 * m), 1.0);
  for (size_t j = 0; j < coef.size(); ++j) coef[j] = double(j % 7) - 3.0;
  ScanTask scan;
  scan.kernel = kernel;
  scan.left = tile.left;
  scan.right = tile.right;
  scan.sets = 2;
  scan.coef = coef.data();
  scan.out = sums.data();
  scan.out_ld = m;
  scan.in_double = in_double;
  scan.threads = 2;
  functions().scan(&scan, 1);
  for (int64_t i = 0; i < m; ++i) {
    double expected[2] = {1, 1}, scale = 1;
    for (int64_t j = 0; j < n; ++j) {
      const double exact = kernel_value(kernel, left, i, right, j);
      EXPECT(near(in_double ? wide[i * n + j] : narrow[i * n + j], exact, in_double,
                  std::fabs(exact)));
      for (int s = 0; s < 2; ++s) expected[s] += coef[s * n + j] * exact;
      scale += 3 * std::max(1.0, std::fabs(exact));
    }
    for (int s = 0; s < 2; ++s) EXPECT(near(sums[s * m + i], expected[s], in_double, scale));
  }
}

void check_all_values() {
  const int64_t shapes[][3] = {{3, 2, 0},   {1, 1, 1},   {5, 3, 2},
                               {17, 33, 7}, {70, 9, 40}, {131, 67, 130}};
  unsigned seed = 0;
  for (const auto& shape : shapes)
    for (int l = 0; l < Data::layouts; ++l)
      for (bool stored_double : {false, true})
        for (KernelKind kind : kKinds) {
          const double gamma = 1.0 / double(std::max<int64_t>(1, shape[2]));
          const Kernel kernel{kind, gamma, 0.5, 3};
          const auto layout = Data::Layout(l), other = Data::Layout((l + 1) % Data::layouts);
          const auto beside = seed % 8 < 4 ? layout : other;
          const Data left(shape[0], shape[2], layout, stored_double, ++seed);
          const Data right(shape[1], shape[2], beside, stored_double, ++seed);
          check_values(kernel, left, right, seed % 4 < 2);
        }
}

// Newton steps on a float tile, in scratch memory of exact size, keep the constraints.
void check_newton_steps(Subproblem p) {
  const int64_t n = p.dual.rows, free = count_free(p);
  if (free == 0) return;
  const double* K = static_cast<const double*>(p.tile);
  const std::vector<float> narrow(K, K + n * n);
  std::vector<double> beta(p.beta, p.beta + p.dual.layers * n), score(p.score, p.score + n);
  std::vector<double> matrix(size_t(free * free));
  p.in_double = false;
  p.tile = narrow.data();
  p.beta = beta.data();
  p.score = score.data();
  p.scratch = matrix.data();
  p.scratch_bytes = int64_t(matrix.size() * sizeof(double));
  newton_steps(p);
  double sum = 0;
  p.dual.each([&](int64_t v, int64_t) {
    EXPECT(p.dual.lower[v] <= beta[v] && beta[v] <= p.dual.upper[v]);
    sum += beta[v];
  });
  EXPECT(std::fabs(sum) <= 1e-9 * double(n));
}

// Everything that is done to one problem: the solver of small ones, blocks on a tile, Newton steps,
// the certificate.
void check_solvers(int64_t n, bool regression, Data::Layout layout) {
  const Data data(n, 5, layout, true, unsigned(n));
  const Kernel kernel{KernelKind::rbf, 1.0, 0.0, 3};
  Dual dual(data, regression);
  std::vector<int64_t> index(n), end = {n / 2, n}, limits = {100000, 100000};
  for (int64_t i = 0; i < n; ++i) index[i] = n - 1 - i;  // another order than that of the rows
  SmallTask small;
  small.kernel = kernel;
  small.rows = &data.rows;
  small.problems = 2;
  small.end = end.data();
  small.max_steps = limits.data();
  small.index = index.data();
  small.dual = dual.variables();
  small.beta = dual.beta.data();
  small.score = dual.score.data();
  small.threads = 2;
  std::vector<SmallReport> report(2);
  std::vector<double> bias(size_t(2 * dual.groups)), total(size_t(2 * dual.groups), 0.0);
  for (int64_t p = 0; p < 2; ++p)
    for (int layer = 0; layer < dual.layers; ++layer)
      for (int64_t i = p * end[0]; i < end[p]; ++i)
        total[p * dual.groups + dual.group[layer * n + i]] += dual.beta[layer * n + i];
  solve_small(small, report.data(), bias.data());
  for (const SmallReport& r : report) EXPECT(r.violation <= 1e-3);

  std::vector<double> coef(size_t(n), 0.0), score(size_t(n), 0.0);
  for (int64_t i = 0; i < n; ++i)
    for (int layer = 0; layer < dual.layers; ++layer) coef[i] += dual.beta[layer * n + i];
  PartsTask parts;
  parts.kernel = kernel;
  parts.rows = &data.rows;
  parts.parts = 2;
  parts.end = end.data();
  parts.index = index.data();
  parts.coef = coef.data();
  parts.out = score.data();
  parts.threads = 2;
  scan_parts(parts);
  ExamineTask examined;
  examined.points = 2;
  examined.end = end.data();
  examined.dual = dual.variables();
  examined.total = total.data();
  examined.beta = dual.beta.data();
  examined.score = score.data();
  std::vector<Examination> found(2);
  examine(examined, found.data(), bias.data());
  for (const Examination& e : found) {
    EXPECT(e.violation <= 1e-3 + 1e-9);
    EXPECT(e.infeasibility <= 1e-10 && e.primal >= e.dual - 1e-9);
  }

  Dual again(data, regression);
  std::vector<double> tile(size_t(n * n));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) tile[i * n + j] = kernel_value(kernel, data, i, data, j);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n && regression; ++j)
      again.score[i] += tile[i * n + j] * (again.beta[j] + again.beta[n + j]);
  std::vector<uint8_t> scratch(1 << 12);
  Subproblem p;
  p.dual = again.variables();
  p.in_double = true;
  p.tile = tile.data();
  p.ld = n;
  p.beta = again.beta.data();
  p.score = again.score.data();
  p.max_steps = 100000;
  p.direct_steps = 10;
  p.block = 8;
  p.threads = 2;
  p.scratch = scratch.data();
  p.scratch_bytes = int64_t(scratch.size());
  EXPECT(functions().solve(p).violation <= 1e-3);
  newton_steps(p);
  check_newton_steps(p);

  std::vector<int32_t> version(size_t(n), 0);
  version[0] = kUnknown, version[size_t(n) - 1] = kInWorkingSet;
  ShardView shard{again.variables(), again.beta.data(), again.score.data(), version.data(),
                  nullptr};
  const double drift = 0.1;
  const Triage stale = triage(shard, {1, 1, 0, n}, bias.data(), &drift, 1, 2);
  EXPECT(int64_t(stale.stale.size) + stale.skipped <= n);
  judge(shard, index.data(), n, bias.data(), 1e-3, 2);
}

// Folds of two problems: rows on the wrong side of their fold, others that become near, a fold
// without one of the classes. Models of all rows are zero: all else is left to the folds.
void check_held_out(int64_t n, Data::Layout layout, bool in_double) {
  const Data data(n, 5, layout, in_double, unsigned(n + 1));
  const Dual dual(data, false);
  const int64_t folds = 4;
  std::vector<int64_t> index(n), end = {n / 3, n};
  std::vector<uint8_t> role(size_t(folds * n));
  std::vector<double> score(size_t(n), NAN);
  for (int64_t i = 0; i < n; ++i) {
    index[i] = n - 1 - i;
    for (int64_t k = 0; k + 1 < folds; ++k) role[k * n + i] = i % 3 == k ? 2 : 1;
    role[(folds - 1) * n + index[i]] = dual.target[i] > 0 ? 1 : 0;
  }
  HeldOutTask task;
  task.kernel = {KernelKind::rbf, 1.0, 0.0, 3};
  task.rows = &data.rows;
  task.problems = 2;
  task.end = end.data();
  task.index = index.data();
  task.dual = dual.variables();
  task.beta = dual.beta.data();
  task.folds = folds;
  task.role = role.data();
  task.tol = 1e-2;
  task.in_double = in_double;
  task.most_near = n;
  task.score = score.data();
  for (int threads : {1, 3}) {
    task.threads = threads;
    std::vector<HeldOutReport> report(2);
    EXPECT(!hold_out(task, report.data()));
    for (const HeldOutReport& r : report) EXPECT(r.violation <= task.tol && r.near <= n);
    for (double value : score) EXPECT(std::isfinite(value));
  }
  task.problems = 1;  // folds side by side
  end = {n};
  HeldOutReport whole;
  EXPECT(!hold_out(task, &whole) && whole.violation <= task.tol);
  task.most_near = 10;
  HeldOutReport few;
  EXPECT(!hold_out(task, &few) && std::isinf(few.violation));
  task.most_near = n;
  std::atomic<int> calls{0};
  task.stop = [&] { return ++calls > 3; };
  HeldOutReport stopped;
  EXPECT(hold_out(task, &stopped) && std::isinf(stopped.violation));
}

// Passes over many rows, of which each thread takes several parts.
void check_passes(int64_t n) {
  std::vector<int64_t> every(n), sorted(n);
  std::vector<int32_t> version(n);
  std::vector<double> score(n, 1.0), read(n), twice(n, 2.0);
  std::vector<uint8_t> odd(n);
  for (int64_t i = 0; i < n; ++i) every[i] = i, version[i] = int32_t(i % 5) - 2, odd[i] = i % 2;
  const std::vector<int64_t> count =
      by_version(version.data(), every.data(), n, 2, sorted.data(), 2);
  EXPECT(std::accumulate(count.begin(), count.end(), int64_t(0)) == n - n / 5);
  store_scores(every.data(), n, twice.data(), 3, score.data(), version.data(), 2);
  read_scores(score.data(), every.data(), n, read.data(), 2);
  EXPECT(read == twice && version[n - 1] == 3);
  const Fresh<int64_t> found = places(odd.data(), n, 2);
  EXPECT(int64_t(found.size) == n / 2 && (n < 2 || found.values[n / 2 - 1] % 2 == 1));
  const ChangedRows all = changes({every.data(), score.data(), n}, {}, 2);
  const ChangedRows none =
      changes({every.data(), score.data(), n}, {every.data(), score.data(), n}, 2);
  EXPECT(int64_t(all.ids.size) == n && none.ids.size == 0);
}

// Variables that may only grow, all with F = 1.
void check_standing(int64_t n) {
  const std::vector<double> zero(n, 0.0), one(n, 1.0), two(n, 2.0), bias(1, 0.5);
  const std::vector<uint8_t> group(n, 0);
  const Variables dual{n, 1, 1, n, two.data(), zero.data(), one.data(), group.data()};
  const Extremes found = extremes(dual, zero.data(), one.data());
  EXPECT(found.highest[0] == 1 && std::isinf(found.lowest[0]));
  std::vector<double> distance(n);
  slack(dual, zero.data(), one.data(), bias.data(), bias.data(), distance.data());
  EXPECT(distance == std::vector<double>(n, -0.5));
}

void check_bounded_rows(int64_t n) {
  const Data data(n, 5, Data::Layout(0), false, 7);
  std::vector<float> features(n * 5), start(n);
  std::vector<double> factor(n), error(n), bound(n), one(n, 1.0);
  round_rows({&data.rows, nullptr, n}, 2.0, 1.0 / 64,
             {features.data(), start.data(), factor.data(), error.data()}, 2);
  const int64_t begin[] = {0, 2}, last[] = {2, 3}, end[] = {1, 5, 4};
  const double longest[] = {1, 1, 1};
  bound_ranges(features.data(), n, {5, 2, begin, last, end, longest, longest}, one.data(),
               bound.data(), 2);
  for (int64_t i = 0; i < n; ++i) EXPECT(bound[i] >= 0 && error[i] < 1e-5 && factor[i] < 1.1);
}

void check_rows() {
  for (int l = 0; l < Data::layouts; ++l) {
    const Data data(300, 6, Data::Layout(l), l % 2 == 0, 5);
    std::vector<double> label(300, 1.0);
    std::vector<int64_t> first(300), order(300);
    const int64_t distinct = first_equal(data.rows, {label.data()}, first.data(), 2);
    for (int64_t i = 0; i < 300; ++i)
      for (int64_t k = 0; k < 6; ++k) EXPECT(data.full[i * 6 + k] == data.full[first[i] * 6 + k]);
    EXPECT(distinct >= 1 && distinct <= 300);
    if (data.rows.few_nonzeros()) similar_together(data.rows, order.data(), 2);
    EXPECT(largest_square(data.rows, 2) <= 6.0);
    std::vector<double> square(300), total(6), low(6), high(6);
    squares({&data.rows, nullptr, 300}, square.data(), 2);
    EXPECT(*std::max_element(square.begin(), square.end()) == largest_square(data.rows, 2));
    if (data.rows.storage != Rows::Storage::dense) continue;
    column_figures(data.rows, total.data(), low.data(), high.data(), 2);
    for (int64_t k = 0; k < 6; ++k) EXPECT(300 * low[k] <= total[k] && total[k] <= 300 * high[k]);
  }
}

void check_factor() {
  Factor factor;
  const Data data(40, 4, Data::row_major, true, 3);
  const Kernel kernel{KernelKind::rbf, 1.0, 0.0, 3};
  std::vector<int64_t> there;
  for (int64_t i = 0; i < data.n; ++i) {
    std::vector<double> row;
    for (int64_t j : there) row.push_back(kernel_value(kernel, data, i, data, j) + 1.0);
    if (factor.append(row.data(), 2.0, 1e-12) > 0) there.push_back(i);
    if (i % 3 == 2) {
      factor.remove(int64_t(there.size()) / 2);
      there.erase(there.begin() + int64_t(there.size()) / 2);
    }
    const size_t k = there.size();
    EXPECT(factor.size() == int64_t(k));
    std::vector<double> first(k, 1.0), x(k), m(1), second = {0.0};
    const std::vector<uint8_t> group(k, 0);
    factor.solve_bordered(first.data(), second.data(), group.data(), 1, 1.0, x.data(), m.data());
    double sum = 0;
    for (double value : x) sum += value;
    EXPECT(std::fabs(sum) <= 1e-8);
  }
  std::vector<double> L(size_t(factor.size() * factor.size()));
  factor.store(L.data());
  factor.load(L.data(), factor.size());
  while (factor.size() > 0) factor.remove(factor.size() - 1);
}

void check_tables() {
  const int64_t n = 700, size = 600;
  std::vector<float> tile(size_t(n * n)), copy(size_t(n * n));
  for (size_t i = 0; i < tile.size(); ++i) tile[i] = float(i % 1009);
  std::vector<int64_t> from, to;
  for (int64_t i = 0; i < 100; ++i) from.push_back(size - 1 - i), to.push_back(3 * i);
  relocate(tile.data(), n, size, from.data(), to.data(), 100, 2);
  mirror(tile.data(), n, size, to.data(), 100, 2);
  for (int64_t r = 0; r < size; ++r) EXPECT(tile[r * n + to[7]] == tile[to[7] * n + r]);
  copy_rows(copy.data(), n, tile.data(), n, 0, size, size, 2);
  EXPECT(std::memcmp(copy.data(), tile.data(), size_t(size) * sizeof(float)) == 0);
  std::vector<double> picked(100 * 100), change(100, 0.5), score(size_t(size), 0.0);
  gather(picked.data(), 100, tile.data(), n, to.data(), 100, 2);
  functions().add_scores(
      {size, false, tile.data(), n, to.data(), change.data(), 100, score.data(), 2});
  std::vector<double> x(size_t(n), 1.0), out(n), A(tile.begin(), tile.end());
  for (bool transposed : {false, true})
    functions().multiply({{A.data(), n, n}, transposed, x.data(), 1, out.data(), 2});
  std::vector<double> z(37), powers(37);
  for (size_t i = 0; i < z.size(); ++i) z[i] = (double(i) - 36.0) * 40.0;
  for (bool in_double : {false, true}) {
    functions().exp2_array(z.data(), powers.data(), 37, in_double);
    EXPECT(powers[36] == 1.0);
  }
  for (int64_t rows : {1, 2, 9, 37}) {
    std::vector<double> log(rows, 0.0), margin(rows), weight(rows);
    for (int64_t i = 0; i < rows; ++i) margin[i] = 1.0 + double(i);
    const Tilt t{rows, log.data(), margin.data()};
    const double edge = 1.25 + 0.125 * double(rows);  // below the mean of the margins
    if (rows > 2) EXPECT(functions().find_eta(t, edge, 1.0) > 0);
    functions().tilt(t, 0.5, log.data(), weight.data());
    double sum = 0;
    for (double w : weight) sum += w;
    EXPECT(std::fabs(sum - 1) < 1e-12);
  }
}

void check_homotopy() {
  const int64_t n = 9;
  std::vector<double> target(n, 1.0), lower(n, 0.0), upper(n, 2.0), beta(n, 1.0), score(n, 0.0);
  std::vector<double> zero(n, 0.0), rate(n), bias(1, 0.5);
  std::vector<uint8_t> group(n, 0);
  std::vector<int8_t> bound_state(n, kFree);
  for (int64_t i = 0; i < n; ++i) rate[i] = double(i) - 4.0;
  bound_state[0] = kLower, beta[0] = 0.0, rate[0] = 0.0;
  HomotopyStep w{n,
                 1,
                 target.data(),
                 lower.data(),
                 upper.data(),
                 beta.data(),
                 group.data(),
                 bound_state.data(),
                 score.data(),
                 bias.data(),
                 zero.data(),
                 zero.data(),
                 zero.data(),
                 rate.data(),
                 zero.data(),
                 zero.data()};
  const Breakpoint next = nearest(w, 1e-13, 1e-13, false, nullptr, 0);
  EXPECT(next.variable == n - 1 && next.to == kUpper && std::fabs(next.length - 0.25) < 1e-12);
  advance(w, next.length);
  EXPECT(beta[n - 1] == 2.0);
}

}  // namespace

void provide_solvers() {
  use_lapack({plain_posv, plain_trsv});
}

}  // namespace widestreet

int main(int count, char** arguments) {
  using namespace widestreet;
  const char* part = count > 1 ? arguments[1] : "";
  provide_solvers();
  if (std::strcmp(part, "threads") != 0) {
    for (const std::string& name : available()) {
      force(name);
      check_all_values();
      check_tables();
      check_scores();
      for (int64_t n : {20, 150})
        for (bool regression : {false, true})
          for (Data::Layout layout : {Data::row_major, Data::strided, Data::csr32})
            check_solvers(n, regression, layout);
      for (int64_t n : {40, 300, 700})
        for (bool in_double : {false, true})
          for (Data::Layout layout : {Data::row_major, Data::csr32})
            check_held_out(n, layout, in_double);
    }
    check_rows();
    for (const int64_t n : {1, 40, 300000})
      check_passes(n), check_standing(n), check_bounded_rows(n);
    check_factor();
    check_homotopy();
  }
  if (std::strcmp(part, "values") != 0) check_threads();
  return 0;
}
