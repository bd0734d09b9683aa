// Which vector instructions the processor and the system support.
//
// __builtin_cpu_supports would say the same, but Clang on Windows links it from a library that is
// not always there.
#pragma once

#include <cpuid.h>

namespace widestreet {

struct Cpu {
  bool avx2 = false;    // with FMA
  bool avx512 = false;  // F, DQ, BW and VL
  bool vnni = false;    // of AVX-512

  Cpu() {
    constexpr unsigned fma = 1u << 12, osxsave = 1u << 27;                 // leaf 1, ecx
    constexpr unsigned wide = 1u << 5;                                     // leaf 7, ebx: AVX2
    constexpr unsigned wider = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // F, DQ, BW, VL
    constexpr unsigned neural = 1u << 11;                                  // leaf 7, ecx: VNNI
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & osxsave)) return;
    const bool fused = c & fma;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
    const unsigned saved = saved_registers();
    avx2 = fused && (b & wide) && (saved & 0x06) == 0x06;
#if defined(__APPLE__)
    const unsigned needed = 0x06;  // macOS saves the other registers from their first use on
#else
    const unsigned needed = 0xe6;
#endif
    avx512 = avx2 && (b & wider) == wider && (saved & needed) == needed;
    vnni = avx512 && (c & neural);
  }

 private:
  // XCR0: the registers that the system keeps for each thread.
  static unsigned saved_registers() {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
  }
};

}  // namespace widestreet
