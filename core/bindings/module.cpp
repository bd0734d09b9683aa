// The module: the bindings of the other files, and the settings of the process.
#include "bindings/arrays.hpp"
#include "dispatch.hpp"
#include "lapack.hpp"

using namespace widestreet;

NB_MODULE(_core, m) {
  // Objects may outlive the interpreter, in a callback's thread for instance: that is no leak.
  nb::set_leak_warnings(false);
  bind_rows(m);
  bind_kernels(m);
  bind_explain(m);
  bind_variables(m);
  bind_shard(m);
  bind_tile(m);
  bind_solve(m);
  bind_path(m);

  m.def(
      "use_lapack",
      [](nb::capsule dposv, nb::capsule dtrsv) {
        use_lapack({reinterpret_cast<decltype(Lapack::dposv)>(dposv.data()),
                    reinterpret_cast<decltype(Lapack::dtrsv)>(dtrsv.data())});
      },
      "dposv"_a, "dtrsv"_a);
  m.def("instruction_sets", &available);
  m.def("instruction_set", [] { return std::string(functions().name); });
  m.def("force_instruction_set", &force, "name"_a);
}
