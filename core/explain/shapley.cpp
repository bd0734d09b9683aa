// Lanes are vectors of the expansion: all features of a few vectors fit into the cache, and the
// factors of the background are computed once for a block of rows.
#include "explain/shapley.hpp"

#include <algorithm>
#include <vector>

#include "kernels/simd.hpp"
#include "parallel.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {
namespace {

using V = Vec<double>;
constexpr int kLanes = Simd<double>::lanes;
constexpr double kLog2e = 1.4426950408889634074;
constexpr double kVanishes = -1000.0;  // exponent of 2 below which products would be subnormal
constexpr int64_t kRowsAtOnce = 16;
constexpr int64_t kVectorsAtOnce = 256;               // of a task, a multiple of all widths
constexpr int64_t kFactorBytes = int64_t(1) << 18;    // factors of background rows kept at a time
constexpr int64_t kPartialValues = int64_t(1) << 22;  // sums of tasks that wait to be added

// Features of `kLanes` vectors, and what is computed with them.
struct Lanes {
  const ShapleyTask& task;
  int64_t d;
  std::vector<double> row;  // one row of the data
  std::vector<V> s, a, b, change, suffix, phi;
  int64_t held = 0;  // background rows whose factors are in b

  explicit Lanes(const ShapleyTask& t)
      : task(t), d(t.rows.rows->d), row(d), s(d), a(d), change(d), suffix(4 * d), phi(d) {
    const int64_t bytes = std::max<int64_t>(1, d * int64_t(sizeof(V)));
    held = std::clamp<int64_t>(kFactorBytes / bytes, 1, std::max<int64_t>(1, t.background.size));
    b.resize(held * d);
  }

  // Sets: s. Lanes beyond the last vector repeat it; their coefficients are zero.
  void read_vectors(int64_t from, int64_t to) {
    for (int l = 0; l < kLanes; ++l) {
      load_row(*task.vectors.rows, task.vectors.at(std::min(from + l, to - 1)), row.data());
      for (int64_t j = 0; j < d; ++j) s[j][l] = row[j];
    }
  }

  // Sets: out[0..d) to the factors of a row.
  void factors(const RowList& list, int64_t i, V* out) {
    load_row(*list.rows, list.at(i), row.data());
    const V scale = splat(-task.kernel.gamma * kLog2e);
    const bool squared = task.kernel.kind != KernelKind::laplacian;
    for (int64_t j = 0; j < d; ++j) {
      const V x = row[j] - s[j];
      const V z = scale * (squared ? x * x : larger(x, -x));
      out[j] = z < splat(kVanishes) ? V{} : exp2_of(z);
    }
  }

  // Adds the values of the row whose factors are in a against one background row. Sets: phi.
  void add(const V* other) {
    for (int64_t j = 0; j < d; ++j) change[j] = a[j] - other[j];
    int64_t q = 0;
    for (; q + 4 <= task.nodes; q += 4) add_nodes<4>(other, q);
    for (; q + 2 <= task.nodes; q += 2) add_nodes<2>(other, q);
    if (q < task.nodes) add_nodes<1>(other, q);
  }

  // The part of N nodes from q on. Their products are independent of each other, which hides the
  // time that one multiplication takes.
  template <int N>
  void add_nodes(const V* other, int64_t q) {
    V t[N], product[N];
    for (int k = 0; k < N; ++k) {
      t[k] = splat(task.node[q + k]);
      product[k] = splat(task.weight[q + k]);
    }
    for (int64_t j = d; j-- > 0;) {
      const V from = other[j], by = change[j];
      for (int k = 0; k < N; ++k) {
        suffix[j * N + k] = product[k];
        product[k] *= from + t[k] * by;
      }
    }
    for (int k = 0; k < N; ++k) product[k] = splat(1.0);
    for (int64_t j = 0; j < d; ++j) {
      const V from = other[j], by = change[j];
      V sum = {};
      for (int k = 0; k < N; ++k) {
        sum += product[k] * suffix[j * N + k];
        product[k] *= from + t[k] * by;
      }
      phi[j] += sum * by;
    }
  }

  // Adds phi times the coefficients of vectors [from, to). Sets: out.
  void spread(int64_t from, int64_t to, double* out) const {
    const int64_t count = std::min<int64_t>(kLanes, to - from);
    for (int64_t line = 0; line < task.lines; ++line) {
      V coef = {};
      const double* given = task.coef + line * task.vectors.size + from;
      for (int64_t l = 0; l < count; ++l) coef[l] = given[l];
      for (int64_t j = 0; j < d; ++j) {
        const V part = coef * phi[j];
        double sum = 0;
        for (int l = 0; l < kLanes; ++l) sum += part[l];
        out[j * task.lines + line] += sum;
      }
    }
  }
};

// Adds the values of rows [r0, r1) against vectors [v0, v1). Sets: out, from row r0 on.
void add_block(Lanes& lanes, int64_t r0, int64_t r1, int64_t v0, int64_t v1, double* out) {
  const ShapleyTask& task = lanes.task;
  const int64_t d = lanes.d, others = task.background.size;
  for (int64_t v = v0; v < v1; v += kLanes) {
    lanes.read_vectors(v, v1);
    for (int64_t z0 = 0; z0 < others; z0 += lanes.held) {
      const int64_t z1 = std::min(z0 + lanes.held, others);
      for (int64_t z = z0; z < z1; ++z) lanes.factors(task.background, z, &lanes.b[(z - z0) * d]);
      for (int64_t r = r0; r < r1; ++r) {
        lanes.factors(task.rows, r, lanes.a.data());
        std::fill(lanes.phi.begin(), lanes.phi.end(), V{});
        for (int64_t z = z0; z < z1; ++z) lanes.add(&lanes.b[(z - z0) * d]);
        lanes.spread(v, v1, out + (r - r0) * d * task.lines);
      }
    }
  }
}

}  // namespace

// The division into tasks depends on the problem only, and their sums are added in order, so that
// the result does not depend on the number of threads.
void add_shapley_values(const ShapleyTask& task) {
  const int64_t n = task.rows.size, m = task.vectors.size, values = task.rows.rows->d * task.lines;
  if (n == 0 || m == 0 || values == 0) return;
  const int64_t blocks = (n + kRowsAtOnce - 1) / kRowsAtOnce;
  const int64_t most = std::max<int64_t>(1, kPartialValues / (n * values));
  const int64_t chunks = std::min((m + kVectorsAtOnce - 1) / kVectorsAtOnce, most);
  const int64_t step = ((m + chunks - 1) / chunks + kLanes - 1) / kLanes * kLanes;
  std::vector<double> sums(chunks * n * values, 0.0);
  share(blocks * chunks, task.threads, [&](Tasks& tasks) {
    Lanes lanes(task);
    for (int64_t t; tasks.draw(t);) {
      const int64_t r0 = t % blocks * kRowsAtOnce, chunk = t / blocks;
      add_block(lanes, r0, std::min(r0 + kRowsAtOnce, n), std::min(chunk * step, m),
                std::min((chunk + 1) * step, m), &sums[(chunk * n + r0) * values]);
    }
  });
  for (int64_t c = 0; c < chunks; ++c)
    for (int64_t p = 0; p < n * values; ++p) task.out[p] += sums[c * n * values + p];
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
