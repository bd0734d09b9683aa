// Lanes are vectors of the expansion. Features are taken in groups of four: the product of the
// factors of a group is a polynomial of degree 4 in t, sum_k c_k t^k (1 - t)^(4 - k), whose
// coefficients are sums of products of a and b. What is multiplied at every node is one value of
// each group. The group itself needs the moments of the product of all others,
//
//   M_k = integral prod_{other groups}(t) t^k (1 - t)^(3 - k) dt,  k = 0 .. 3,
//
// from which the values of its four features follow without further nodes. Nodes come as pairs t,
// 1 - t: sums and differences of c_k and c_(4 - k) serve both.
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
constexpr int64_t kRowsAtOnce = 32;
constexpr int64_t kVectorsAtOnce = 16;                // of a task, a multiple of all widths
constexpr int64_t kFactorBytes = int64_t(1) << 18;    // factors of background rows kept at a time
constexpr int64_t kPartialValues = int64_t(1) << 22;  // sums of tasks that wait to be added
constexpr int kGroup = 4;                             // features of a group
constexpr int kPairs = 2;                             // pairs of nodes at a time

// f(0), ..., f(N - 1), without a loop, so that arrays stay in registers.
template <int N, class F>
inline __attribute__((always_inline)) void unrolled(F&& f) {
  if constexpr (N > 0) {
    unrolled<N - 1>(f);
    f(N - 1);
  }
}

// Factors of one row in a group, and their products.
struct Factors {
  V one[kGroup], two[2], all;
};

// What a row and a background row give together: a_0 b_1 + b_0 a_1 and a_2 b_3 + b_2 a_3, and of
// the polynomial of the group c_0 + c_4, c_1 + c_3, c_2 and c_0 - c_4, c_1 - c_3.
struct Mixed {
  V two[2], even[3], odd[2];
};

// The nodes t and 1 - t: what multiplies the sums and differences above to the even and the odd
// part of a polynomial, and what multiplies those of the other groups to moments.
struct NodePair {
  double weight, even[3], odd[2], sum[2], difference[2];

  NodePair(double t, double w) : weight(w) {
    const double s = 1 - t, t2 = t * t, s2 = s * s;
    even[0] = (s2 * s2 + t2 * t2) / 2;
    even[1] = (t * s2 * s + t2 * t * s) / 2;
    even[2] = t2 * s2;
    odd[0] = (s2 * s2 - t2 * t2) / 2;
    odd[1] = (t * s2 * s - t2 * t * s) / 2;
    sum[0] = (s2 * s + t2 * t) / 2;
    sum[1] = (t * s2 + t2 * s) / 2;
    difference[0] = (s2 * s - t2 * t) / 2;
    difference[1] = (t * s2 - t2 * s) / 2;
  }
};

// Features of `kLanes` vectors, and what is computed with them.
struct Lanes {
  const ShapleyTask& task;
  int64_t d, groups;
  std::vector<double> row;  // one row of the data
  std::vector<V> s, value, suffix, moment, phi;
  std::vector<Factors> a, b;
  std::vector<Mixed> mixed;
  std::vector<NodePair> pairs;
  int64_t held = 0;  // background rows whose factors are in b

  explicit Lanes(const ShapleyTask& t)
      : task(t),
        d(t.rows.rows->d),
        groups((d + kGroup - 1) / kGroup),
        row(d),
        s(d),
        value(2 * kPairs * groups),
        suffix(2 * kPairs * groups),
        moment(4 * groups),
        phi(kGroup * groups),
        a(groups),
        mixed(groups) {
    const int64_t bytes = groups * int64_t(sizeof(Factors));
    held = std::clamp<int64_t>(kFactorBytes / bytes, 1, std::max<int64_t>(1, t.background.size));
    b.resize(held * groups);
    for (int64_t q = 0; 2 * q < t.nodes; ++q) {
      const bool middle = 2 * q + 1 == t.nodes;  // a pair of equal nodes
      pairs.emplace_back(middle ? 0.5 : t.node[q], middle ? t.weight[q] / 2 : t.weight[q]);
    }
  }

  // Sets: s. Lanes beyond the last vector repeat it; their coefficients are zero.
  void read_vectors(int64_t from, int64_t to) {
    for (int l = 0; l < kLanes; ++l) {
      load_row(*task.vectors.rows, task.vectors.at(std::min(from + l, to - 1)), row.data());
      for (int64_t j = 0; j < d; ++j) s[j][l] = row[j];
    }
  }

  // Sets: out[0..groups) to the factors of a row. Those beyond the last feature are 1.
  void factors(const RowList& list, int64_t i, Factors* out) {
    load_row(*list.rows, list.at(i), row.data());
    const V scale = splat(-task.kernel.gamma * kLog2e);
    const bool squared = task.kernel.kind != KernelKind::laplacian;
    for (int64_t j = 0; j < groups * kGroup; ++j) {
      V& to = out[j / kGroup].one[j % kGroup];
      if (j >= d) {
        to = splat(1.0);
        continue;
      }
      const V x = row[j] - s[j];
      const V z = scale * (squared ? x * x : larger(x, -x));
      to = z < splat(kVanishes) ? V{} : exp2_of(z);
    }
    for (int64_t g = 0; g < groups; ++g) {
      Factors& f = out[g];
      for (int p = 0; p < 2; ++p) f.two[p] = f.one[2 * p] * f.one[2 * p + 1];
      f.all = f.two[0] * f.two[1];
    }
  }

  // Adds the values of the row whose factors are in a against one background row. Sets: phi.
  void add(const Factors* other) {
    for (int64_t g = 0; g < groups; ++g) mix(a[g], other[g], mixed[g]);
    const int64_t count = int64_t(pairs.size());
    int64_t q = 0;
    for (; q + kPairs <= count; q += kPairs) add_moments<kPairs>(q);
    if (q < count) add_moments<1>(q);
    for (int64_t g = 0; g < groups; ++g)
      add_features(a[g], other[g], mixed[g], &moment[4 * g], &phi[kGroup * g]);
  }

  static void mix(const Factors& x, const Factors& z, Mixed& out) {
    V m[2];
    for (int p = 0; p < 2; ++p)
      out.two[p] = m[p] = x.one[2 * p] * z.one[2 * p + 1] + z.one[2 * p] * x.one[2 * p + 1];
    const V c1 = z.two[0] * m[1] + m[0] * z.two[1];
    const V c3 = x.two[0] * m[1] + m[0] * x.two[1];
    out.even[0] = z.all + x.all;
    out.even[1] = c1 + c3;
    out.even[2] = z.two[0] * x.two[1] + m[0] * m[1] + x.two[0] * z.two[1];
    out.odd[0] = z.all - x.all;
    out.odd[1] = c1 - c3;
  }

  // Adds the part of N pairs of nodes, from q on, to the moments, or begins them with it. All that
  // a loop over groups uses of the nodes stays in registers. Sets: value, suffix, moment.
  template <int N>
  void add_moments(int64_t q) {
    V low[N], high[N], c[N][5];
    unrolled<N>([&](int k) {
      const NodePair& n = pairs[q + k];
      low[k] = high[k] = splat(n.weight);
      for (int i = 0; i < 3; ++i) c[k][i] = splat(n.even[i]);
      for (int i = 0; i < 2; ++i) c[k][3 + i] = splat(n.odd[i]);
    });
    for (int64_t g = groups; g-- > 0;) {
      const Mixed& m = mixed[g];
      const V even0 = m.even[0], even1 = m.even[1], even2 = m.even[2];
      const V odd0 = m.odd[0], odd1 = m.odd[1];
      V *at = &value[2 * N * g], *after = &suffix[2 * N * g];
      unrolled<N>([&](int k) {
        const V even = even0 * c[k][0] + even1 * c[k][1] + even2 * c[k][2];
        const V odd = odd0 * c[k][3] + odd1 * c[k][4];
        after[2 * k] = low[k];
        after[2 * k + 1] = high[k];
        low[k] *= at[2 * k] = even + odd;
        high[k] *= at[2 * k + 1] = even - odd;
      });
    }
    unrolled<N>([&](int k) {
      const NodePair& n = pairs[q + k];
      low[k] = high[k] = splat(1.0);
      for (int i = 0; i < 2; ++i) c[k][i] = splat(n.sum[i]);
      for (int i = 0; i < 2; ++i) c[k][2 + i] = splat(n.difference[i]);
    });
    for (int64_t g = 0; g < groups; ++g) {
      const V *at = &value[2 * N * g], *after = &suffix[2 * N * g];
      V* out = &moment[4 * g];
      V sum0 = {}, sum1 = {}, difference0 = {}, difference1 = {};
      if (q > 0) sum0 = out[0], sum1 = out[1], difference0 = out[2], difference1 = out[3];
      unrolled<N>([&](int k) {
        const V one = low[k] * after[2 * k], other = high[k] * after[2 * k + 1];
        const V even = one + other, odd = one - other;
        sum0 += even * c[k][0];
        sum1 += even * c[k][1];
        difference0 += odd * c[k][2];
        difference1 += odd * c[k][3];
        low[k] *= at[2 * k];
        high[k] *= at[2 * k + 1];
      });
      out[0] = sum0, out[1] = sum1, out[2] = difference0, out[3] = difference1;
    }
  }

  // The features of one group, from the moments (M_0 + M_3, M_1 + M_2, M_0 - M_3, M_1 - M_2) / 2.
  static void add_features(const Factors& x, const Factors& z, const Mixed& m, const V* half,
                           V* out) {
    const V m0 = half[0] + half[2], m1 = half[1] + half[3];
    const V m2 = half[1] - half[3], m3 = half[0] - half[2];
    for (int p = 0; p < 2; ++p) {
      const V none = z.two[1 - p], some = m.two[1 - p], both = x.two[1 - p];
      const V without = none * m0 + some * m1 + both * m2;  // times 1 - t
      const V with = none * m1 + some * m2 + both * m3;     // times t
      for (int i = 0; i < 2; ++i) {
        const int j = 2 * p + i, l = 2 * p + 1 - i;
        out[j] += (x.one[j] - z.one[j]) * (z.one[l] * without + x.one[l] * with);
      }
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
      for (int64_t z = z0; z < z1; ++z)
        lanes.factors(task.background, z, &lanes.b[(z - z0) * lanes.groups]);
      for (int64_t r = r0; r < r1; ++r) {
        lanes.factors(task.rows, r, lanes.a.data());
        std::fill(lanes.phi.begin(), lanes.phi.end(), V{});
        for (int64_t z = z0; z < z1; ++z) lanes.add(&lanes.b[(z - z0) * lanes.groups]);
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
