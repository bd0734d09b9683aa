// The five native kernels, each as "accumulate over features, then apply a scalar function".
//
//   kernel      accumulate z                                      value
//   linear      x.s                                               z
//   rbf         2g x.s - g|x|^2 - g|s|^2          (times log2 e)  2^min(z, 0), in sums 2^z
//   poly        g x.s + c0                                        z^degree
//   sigmoid     2 (g x.s + c0)                    (times log2 e)  (2^z - 1) / (2^z + 1)
//   laplacian   -g |x - s|_1                      (times log2 e)  2^z
//   far_rbf     -g |x - s|^2                      (times log2 e)  2^z
//
// The factors are folded into the packed vectors s and into start values, so that the inner
// loop is one multiply-add per feature (two operations for the last two).
//
// far_rbf is rbf for rows so long that the difference of their norms would have no digits left.
#pragma once

#include <cstdint>
#include <type_traits>

namespace widestreet {

enum class KernelKind { linear, rbf, poly, sigmoid, laplacian, far_rbf };

struct Kernel {
  KernelKind kind = KernelKind::rbf;
  double gamma = 1.0;
  double coef0 = 0.0;
  int degree = 3;
};

// Calls f with the kernel kind as a compile-time constant.
template <class F>
void with_kind(KernelKind kind, F&& f) {
  switch (kind) {
    case KernelKind::linear:
      return f(std::integral_constant<KernelKind, KernelKind::linear>{});
    case KernelKind::rbf:
      return f(std::integral_constant<KernelKind, KernelKind::rbf>{});
    case KernelKind::poly:
      return f(std::integral_constant<KernelKind, KernelKind::poly>{});
    case KernelKind::sigmoid:
      return f(std::integral_constant<KernelKind, KernelKind::sigmoid>{});
    case KernelKind::laplacian:
      return f(std::integral_constant<KernelKind, KernelKind::laplacian>{});
    case KernelKind::far_rbf:
      return f(std::integral_constant<KernelKind, KernelKind::far_rbf>{});
  }
}

}  // namespace widestreet
