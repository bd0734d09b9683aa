// Vectors of the width this translation unit is compiled for, by the vector extensions of GCC
// and Clang: the same source gives AVX-512, AVX2 and portable code.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#if defined(__AVX2__)
#  include <immintrin.h>
#endif

#if defined(__AVX512F__)
#  define WIDESTREET_VECTOR_BYTES 64
#elif defined(__AVX2__)
#  define WIDESTREET_VECTOR_BYTES 32
#else
#  define WIDESTREET_VECTOR_BYTES 16
#endif

namespace widestreet {
namespace WIDESTREET_ISA {

template <class T>
struct Simd;

template <>
struct Simd<float> {
  typedef float Vec __attribute__((vector_size(WIDESTREET_VECTOR_BYTES)));
  typedef int32_t Int __attribute__((vector_size(WIDESTREET_VECTOR_BYTES)));
  static constexpr int lanes = WIDESTREET_VECTOR_BYTES / 4;
};

template <>
struct Simd<double> {
  typedef double Vec __attribute__((vector_size(WIDESTREET_VECTOR_BYTES)));
  typedef int64_t Int __attribute__((vector_size(WIDESTREET_VECTOR_BYTES)));
  static constexpr int lanes = WIDESTREET_VECTOR_BYTES / 8;
};

template <class T>
using Vec = typename Simd<T>::Vec;

// Arrays that begin at the start of a cache line, so that no load of a vector crosses one.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t size) {
    return static_cast<T*>(::operator new(size * sizeof(T), alignment));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, alignment); }
  template <class U>
  bool operator==(const AlignedAllocator<U>&) const {
    return true;
  }
  template <class U>
  bool operator!=(const AlignedAllocator<U>&) const {
    return false;
  }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

// Memory whose values are set later: by the threads that use them.
template <class T>
class AlignedMemory {
 public:
  void reserve(int64_t size) { values_.reset(AlignedAllocator<T>().allocate(std::size_t(size))); }
  T* data() { return values_.get(); }
  const T* data() const { return values_.get(); }

 private:
  struct Free {
    void operator()(T* p) const { AlignedAllocator<T>().deallocate(p, 0); }
  };
  std::unique_ptr<T, Free> values_;
};

template <class T>
inline Vec<T> load(const T* p) {
  Vec<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class T>
inline void store(T* p, Vec<T> v) {
  std::memcpy(p, &v, sizeof v);
}

template <class T>
inline Vec<T> splat(T x) {
  return x - Vec<T>{};
}

// As many values as a vector of G holds, of the same type or widened.
template <class G, class T>
inline Vec<G> load_as(const T* p) {
  if constexpr (sizeof(G) == sizeof(T)) {
    return load(p);
  } else {
    typedef T Half __attribute__((vector_size(WIDESTREET_VECTOR_BYTES / 2)));
    Half h;
    std::memcpy(&h, p, sizeof h);
    return __builtin_convertvector(h, Vec<G>);
  }
}

// Lane by lane; where a lane of `a` is not a number, the result is that of `b`. The generic form
// compiles to a compare and a blend, hence the instructions by name where they exist.
#if defined(__AVX512F__)
inline Vec<float> smaller(Vec<float> a, Vec<float> b) {
  return _mm512_min_ps(a, b);
}
inline Vec<float> larger(Vec<float> a, Vec<float> b) {
  return _mm512_max_ps(a, b);
}
inline Vec<double> smaller(Vec<double> a, Vec<double> b) {
  return _mm512_min_pd(a, b);
}
inline Vec<double> larger(Vec<double> a, Vec<double> b) {
  return _mm512_max_pd(a, b);
}
#elif defined(__AVX2__)
inline Vec<float> smaller(Vec<float> a, Vec<float> b) {
  return _mm256_min_ps(a, b);
}
inline Vec<float> larger(Vec<float> a, Vec<float> b) {
  return _mm256_max_ps(a, b);
}
inline Vec<double> smaller(Vec<double> a, Vec<double> b) {
  return _mm256_min_pd(a, b);
}
inline Vec<double> larger(Vec<double> a, Vec<double> b) {
  return _mm256_max_pd(a, b);
}
#else
template <class V>
inline V smaller(V a, V b) {
  return a < b ? a : b;
}
template <class V>
inline V larger(V a, V b) {
  return a > b ? a : b;
}
#endif

// The largest and the smallest lane, none of which is not a number.
#if defined(__AVX512F__)
inline float largest_lane(Vec<float> v) {
  return _mm512_reduce_max_ps(v);
}
inline double largest_lane(Vec<double> v) {
  return _mm512_reduce_max_pd(v);
}
inline float smallest_lane(Vec<float> v) {
  return _mm512_reduce_min_ps(v);
}
inline double smallest_lane(Vec<double> v) {
  return _mm512_reduce_min_pd(v);
}
inline int32_t smallest_lane(Simd<float>::Int v) {
  return _mm512_reduce_min_epi32((__m512i)v);
}
inline int64_t smallest_lane(Simd<double>::Int v) {
  return _mm512_reduce_min_epi64((__m512i)v);
}
#else
template <class V>
inline auto largest_lane(V v) {
  std::decay_t<decltype(v[0])> found = v[0];
  for (size_t l = 1; l < sizeof v / sizeof found; ++l) found = v[l] > found ? v[l] : found;
  return found;
}
template <class V>
inline auto smallest_lane(V v) {
  std::decay_t<decltype(v[0])> found = v[0];
  for (size_t l = 1; l < sizeof v / sizeof found; ++l) found = v[l] < found ? v[l] : found;
  return found;
}
#endif

// The smallest of the indices in the lanes that have a value.
template <class T>
inline int64_t first_index(Vec<T> v, T value, typename Simd<T>::Int index) {
  typedef std::decay_t<decltype(index[0])> Index;
  const auto none = typename Simd<T>::Int{} + std::numeric_limits<Index>::max();
  return smallest_lane(v == splat(value) ? index : none);
}

// Half a vector of floats, and the same as doubles. GCC 12 converts it in two quarters, with more
// instructions and a wait for the previous result, hence the instruction by name where it exists.
typedef float HalfVec __attribute__((vector_size(WIDESTREET_VECTOR_BYTES / 2)));

inline Vec<double> widen(HalfVec h) {
#if defined(__AVX512F__)
  return _mm512_cvtps_pd(h);
#elif defined(__AVX2__)
  return _mm256_cvtps_pd(h);
#else
  return __builtin_convertvector(h, Vec<double>);
#endif
}

inline HalfVec low_half(Vec<float> v) {
  HalfVec h;
  std::memcpy(&h, &v, sizeof h);
  return h;
}

inline HalfVec high_half(Vec<float> v) {
#if defined(__AVX512F__)
  return _mm512_extractf32x8_ps(v, 1);
#elif defined(__AVX2__)
  return _mm256_extractf128_ps(v, 1);
#else
  HalfVec h;
  std::memcpy(&h, reinterpret_cast<const char*>(&v) + sizeof h, sizeof h);
  return h;
#endif
}

// A sum kept in doubles, to which vectors of either precision are added.
struct WideSum {
  Vec<double> sum = {};

  void add(Vec<double> v) { sum += v; }
  void add(Vec<float> v) {  // one addition in float, of the two halves
    sum += widen(low_half(v) + high_half(v));
  }
  double total() const {
    double s = 0;
    for (int l = 0; l < Simd<double>::lanes; ++l) s += sum[l];
    return s;
  }
};

// The smallest exponent of a normal number.
template <class T>
constexpr T kLowest = T(std::numeric_limits<T>::min_exponent - 1);

// z = k + r with k whole and |r| <= 1/2, and 2^r = 1 + r q(r) by a minimax polynomial.
template <class T>
struct Exp2Parts {
  Vec<T> r, q;
  typename Simd<T>::Int exponent;  // k, shifted to where a number keeps its exponent
};

inline Exp2Parts<float> exp2_parts(Vec<float> z) {
  typedef Simd<float>::Int Int;
  const Vec<float> shifted = z + 12582912.0f;  // 1.5 * 2^23: the low bits now hold round(z)
  const Vec<float> r = z - (shifted - 12582912.0f);
  Vec<float> q = splat(1.3320612246636712e-3f);
  q = q * r + 9.671451628901562e-3f;
  q = q * r + 5.550556943726935e-2f;
  q = q * r + 2.4022248592427775e-1f;
  q = q * r + 6.931470786193918e-1f;
  return {r, q, (Int)shifted << 23};
}

inline Exp2Parts<double> exp2_parts(Vec<double> z) {
  typedef Simd<double>::Int Int;
  const Vec<double> shifted = z + 6755399441055744.0;  // 1.5 * 2^52
  const Vec<double> r = z - (shifted - 6755399441055744.0);
  Vec<double> q = splat(4.4352827069572771511e-10);
  q = q * r + 7.0741056135081427963e-9;
  q = q * r + 1.0178198021671930844e-7;
  q = q * r + 1.321543308967639918e-6;
  q = q * r + 0.000015252733489988525649;
  q = q * r + 0.00015403530462514432062;
  q = q * r + 0.0013333558146789921722;
  q = q * r + 0.0096181291075883352443;
  q = q * r + 0.055504108664819921605;
  q = q * r + 0.24022650695910156204;
  q = q * r + 0.69314718055994533046;
  return {r, q, (Int)shifted << 52};
}

// 2^z where that is a normal number. Relative error against exact arithmetic below 2.2e-7 (float)
// and 4.5e-16 (double).
template <class V>
inline V exp2_in_range(V z) {
  const auto e = exp2_parts(z);
  return (V)((decltype(e.exponent))(e.q * e.r + 1) + e.exponent);
}

// The same, where arguments below the smallest normal exponent are taken to be there.
template <class V>
inline V exp2_of(V z) {
  return exp2_in_range(larger(z, V{} + kLowest<std::decay_t<decltype(z[0])>>));
}

// 2^z - 1 without cancellation near zero.
template <class V>
inline V exp2_minus_one(V z) {
  const auto e = exp2_parts(larger(z, V{} + kLowest<std::decay_t<decltype(z[0])>>));
  const V one = V{} + 1;
  const V power = (V)((decltype(e.exponent))one + e.exponent);
  return power * (e.r * e.q) + (power - one);
}

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
