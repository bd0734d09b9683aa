// Kernel values from exact sums of integers: what is left after the products of levels.
#pragma once

#include "kernels/panel.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {

typedef Simd<float>::Int Sums;  // 32-bit sums of as many right rows as a vector of floats holds

inline Sums load_sums(const int32_t* p) {
  Sums v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// A kernel as a function of p = sum of products of levels, for two rows with the sums of squared
// levels n and m: RBF kernels depend on the squared distance n + m - 2 p, which is an integer too.
template <KernelKind kind, class T>
struct OfProducts {
  static constexpr bool distance = kind == KernelKind::rbf;
  static constexpr int parts = sizeof(T) / sizeof(float);  // vectors of T for a vector of sums
  typedef int32_t Ints __attribute__((vector_size(WIDESTREET_VECTOR_BYTES / parts)));
  T scale, start;
  int degree;

  OfProducts(const Kernel& kernel, double step) : degree(kernel.degree) {
    const Folding<double> fold(kernel);
    scale = T((distance ? fold.norm : fold.right_scale) * step * step);
    start = T(fold.start);
  }

  Vec<T> value(Ints p) const {
    const Vec<T> z = __builtin_convertvector(p, Vec<T>) * scale + start;
    if constexpr (distance)
      return exp2_of(z);  // squared distances are exact, so that z is at most zero
    else
      return value_of<kind, T>(z, degree);
  }

  // Hands the values of two vectors of sums to emit(part, low half, high half), one part for each
  // tile of T. `square` and `squares` are those of the left row and of the right rows.
  template <class Emit>
  [[gnu::always_inline]] void values(Sums low, Sums high, int32_t square, const int32_t* squares,
                                     Emit&& emit) const {
    if constexpr (distance) {
      low = square + load_sums(squares) - 2 * low;
      high = square + load_sums(squares + Simd<float>::lanes) - 2 * high;
    }
    if constexpr (parts == 1) {
      emit(0, value(low), value(high));
    } else {
      Ints half[4];
      std::memcpy(half, &low, sizeof low);
      std::memcpy(half + 2, &high, sizeof high);
      emit(0, value(half[0]), value(half[1]));
      emit(1, value(half[2]), value(half[3]));
    }
  }
};

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
