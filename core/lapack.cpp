#include "lapack.hpp"

#include <stdexcept>

namespace widestreet {
namespace {

Lapack routines;

}  // namespace

void use_lapack(const Lapack& given) {
  routines = given;
}

const Lapack& lapack() {
  if (!routines.dposv || !routines.dtrsv) throw std::runtime_error("no LAPACK was provided");
  return routines;
}

}  // namespace widestreet
