#include "dispatch.hpp"

#include <stdexcept>

namespace widestreet {

#define WIDESTREET_DECLARE(isa)                                                  \
  namespace isa {                                                                \
  void scan(const ScanTask&);                                                    \
  void tile(const TileTask&);                                                    \
  SubproblemReport solve(const Subproblem&);                                     \
  void add_scores(const ScoreTask&);                                             \
  void exp2_array(const double*, double*, int64_t, bool);                        \
  constexpr Functions table = {#isa, scan, tile, solve, add_scores, exp2_array}; \
  }

WIDESTREET_DECLARE(portable)
#ifdef WIDESTREET_X86
WIDESTREET_DECLARE(avx2)
WIDESTREET_DECLARE(avx512)
#endif

namespace {

std::vector<const Functions*> usable() {
  std::vector<const Functions*> found;
#ifdef WIDESTREET_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    found.push_back(&avx512::table);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    found.push_back(&avx2::table);
#endif
  found.push_back(&portable::table);
  return found;
}

const Functions*& current() {
  static const Functions* chosen = usable().front();
  return chosen;
}

}  // namespace

std::vector<std::string> available() {
  std::vector<std::string> names;
  for (const Functions* f : usable()) names.push_back(f->name);
  return names;
}

const Functions& functions() {
  return *current();
}

void force(const std::string& name) {
  for (const Functions* f : usable())
    if (name == f->name) {
      current() = f;
      return;
    }
  throw std::invalid_argument("instruction set '" + name + "' is not available here");
}

}  // namespace widestreet
