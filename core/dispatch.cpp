#include "dispatch.hpp"

#include <stdexcept>

#ifdef WIDESTREET_X86
#  include "cpu.hpp"
#endif

namespace widestreet {

#define WIDESTREET_DECLARE(isa)                                                           \
  namespace isa {                                                                         \
  void scan(const ScanTask*, int64_t);                                                    \
  PackedRows pack(const Kernel&, const RowList&, int);                                    \
  void tile(const TileTask&);                                                             \
  LevelsReport find_levels(const LevelsTask&);                                            \
  void mark_cells(const Grid&, const RowList&, uint8_t*, int);                            \
  void interpolate(const InterpolationTask&);                                             \
  SubproblemReport solve(const Subproblem&);                                              \
  void add_scores(const ScoreTask&);                                                      \
  void exp2_array(const double*, double*, int64_t, bool);                                 \
  void add_shapley_values(const ShapleyTask&);                                            \
  void bounded_scan(const BoundedScanTask&);                                              \
  void symmetric_scan(const SymmetricScanTask&);                                          \
  void multiply(const ProductTask&);                                                      \
  double find_eta(const Tilt&, double, double);                                           \
  double tilt(const Tilt&, double, double*, double*);                                     \
  constexpr Functions table = {                                                           \
      #isa,           scan,     pack,       tile,       find_levels,        mark_cells,   \
      interpolate,    solve,    add_scores, exp2_array, add_shapley_values, bounded_scan, \
      symmetric_scan, multiply, find_eta,   tilt};                                        \
  }

WIDESTREET_DECLARE(portable)
#ifdef WIDESTREET_X86
WIDESTREET_DECLARE(avx2)
WIDESTREET_DECLARE(avx512)
#endif

namespace {

#ifdef WIDESTREET_X86
constexpr Functions renamed(Functions table, const char* name, bool vnni) {
  table.name = name;
  table.vnni = vnni;
  return table;
}
constexpr Functions avx512_with_vnni = renamed(avx512::table, "avx512", true);
constexpr Functions avx512_without = renamed(avx512::table, "avx512bw", false);
#endif

std::vector<const Functions*> usable() {
  std::vector<const Functions*> found;
#ifdef WIDESTREET_X86
  const Cpu cpu;
  if (cpu.vnni) found = {&avx512_with_vnni, &avx512_without};
  if (cpu.avx512 && !cpu.vnni) found.push_back(&avx512::table);
  if (cpu.avx2) found.push_back(&avx2::table);
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
