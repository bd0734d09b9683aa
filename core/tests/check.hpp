// Data and checks of the native driver. Buffers are as long as the core may read or write and not
// one value longer, so that AddressSanitizer sees every access beyond them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "kernels/kernel.hpp"
#include "kernels/rows.hpp"
#include "variables.hpp"

namespace widestreet {

inline void expect(bool ok, const char* what, int line) {
  if (ok) return;
  std::fprintf(stderr, "line %d: %s\n", line, what);
  std::exit(1);
}
#define EXPECT(condition) ::widestreet::expect(condition, #condition, __LINE__)

// A full matrix in one of the storages that the core reads.
struct Data {
  enum Layout { row_major, column_major, strided, mostly_zero, csr32, csr64, layouts };

  int64_t n, d;
  std::vector<double> full;  // row major
  std::vector<double> doubles;
  std::vector<float> floats;
  std::vector<int32_t> indices32, indptr32;
  std::vector<int64_t> indices64, indptr64;
  Rows rows;

  Data(int64_t n, int64_t d, Layout layout, bool in_double, unsigned seed) : n(n), d(d) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const bool few = layout >= mostly_zero;
    full.resize(size_t(n * d));
    for (double& x : full) x = few && uniform(random) < 0.8f ? 0.0 : uniform(random);
    rows.n = n;
    rows.d = d;
    rows.is_double = in_double;
    layout >= csr32 ? store_csr(layout == csr64) : store_dense(layout);
    floats.assign(doubles.begin(), doubles.end());
    if (!in_double) doubles = {};
    rows.values = in_double ? static_cast<const void*>(doubles.data())
                            : static_cast<const void*>(floats.data());
  }
  Data(const Data&) = delete;

 private:
  void store_dense(Layout layout) {
    rows.row_stride = layout == column_major ? 1 : layout == strided ? 2 * d : d;
    rows.col_stride = layout == column_major ? n : layout == strided ? 2 : 1;
    rows.skip_zeros = layout == mostly_zero;
    const int64_t last = (n - 1) * rows.row_stride + (d - 1) * rows.col_stride;
    doubles.assign(size_t(std::max<int64_t>(0, last + 1)), NAN);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < d; ++k)
        doubles[i * rows.row_stride + k * rows.col_stride] = full[i * d + k];
  }
  void store_csr(bool wide) {
    rows.storage = Rows::Storage::csr;
    rows.wide = wide;
    indptr64.push_back(0);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < d; ++k)
        if (full[i * d + k] != 0) {
          doubles.push_back(full[i * d + k]);
          indices64.push_back(k);
        }
      indptr64.push_back(int64_t(indices64.size()));
    }
    indices32.assign(indices64.begin(), indices64.end());
    indptr32.assign(indptr64.begin(), indptr64.end());
    rows.indices = wide ? static_cast<const void*>(indices64.data()) : indices32.data();
    rows.indptr = wide ? static_cast<const void*>(indptr64.data()) : indptr32.data();
  }
};

inline double kernel_value(const Kernel& k, const Data& a, int64_t i, const Data& b, int64_t j) {
  double dot = 0, square = 0, absolute = 0;
  for (int64_t f = 0; f < a.d; ++f) {
    const double x = a.full[i * a.d + f], s = b.full[j * b.d + f];
    dot += x * s;
    square += (x - s) * (x - s);
    absolute += std::fabs(x - s);
  }
  switch (k.kind) {
    case KernelKind::linear:
      return dot;
    case KernelKind::poly:
      return std::pow(k.gamma * dot + k.coef0, k.degree);
    case KernelKind::sigmoid:
      return std::tanh(k.gamma * dot + k.coef0);
    case KernelKind::laplacian:
      return std::exp(-k.gamma * absolute);
    default:
      return std::exp(-k.gamma * square);
  }
}

// C-SVC (one layer, one group) or nu-SVR (two layers, two groups) over the rows of a full matrix.
struct Dual {
  int64_t n;
  int layers, groups;
  std::vector<double> target, lower, upper, beta, score;
  std::vector<uint8_t> group;

  Dual(const Data& data, bool regression) : n(data.n) {
    layers = groups = regression ? 2 : 1;
    const size_t size = size_t(layers * n);
    target.resize(size), lower.resize(size), upper.resize(size), group.resize(size);
    beta.assign(size, 0.0), score.assign(size_t(n), 0.0);
    for (int64_t i = 0; i < n; ++i) {
      const double y = data.full[i * data.d] > 0 ? 1.0 : -1.0;
      for (int layer = 0; layer < layers; ++layer) {
        const double sign = regression ? 1.0 - 2 * layer : y;
        const size_t v = size_t(layer * n + i);
        target[v] = regression ? data.full[i * data.d] : y;
        upper[v] = sign > 0 ? 3.0 : 0.0;
        lower[v] = sign > 0 ? 0.0 : -3.0;
        group[v] = uint8_t(layer);
        if (regression) beta[v] = 0.4 * sign;
      }
    }
  }

  Variables variables() const {
    return {n, layers, groups, n, target.data(), lower.data(), upper.data(), group.data()};
  }
};

// LAPACK and BLAS as the core needs them. Sets: what the core calls.
void provide_solvers();

}  // namespace widestreet
