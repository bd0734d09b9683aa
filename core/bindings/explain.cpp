// Shapley values of features.
#include "bindings/arrays.hpp"
#include "dispatch.hpp"

namespace widestreet {
namespace {

using Array3 = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void add_shapley_values(const Kernel& kernel, const HeldRows& rows, const HeldRows& background,
                        const HeldRows& vectors, Index vector_index, Array1<const double> node,
                        Array1<const double> weight, Array2<const double> coef, Array3 out,
                        int threads) {
  require_threads(threads);
  require(kernel.kind == KernelKind::rbf || kernel.kind == KernelKind::laplacian,
          "the kernel must be a product over the features");
  const int64_t d = rows.view.d;
  require(background.view.d == d && vectors.view.d == d,
          "rows must have the same number of columns");
  require(node.shape(0) == weight.shape(0), "one weight per node is needed");
  ShapleyTask task;
  task.kernel = kernel;
  task.rows = rows.list({});
  task.background = background.list({});
  task.vectors = vectors.list(vector_index);
  task.nodes = int64_t(node.shape(0));
  task.node = node.data();
  task.weight = weight.data();
  task.lines = int64_t(coef.shape(0));
  task.coef = coef.data();
  task.out = out.data();
  task.threads = threads;
  require(int64_t(coef.shape(1)) == task.vectors.size, "coef must have one value per vector");
  require(int64_t(out.shape(0)) == task.rows.size && int64_t(out.shape(1)) == d &&
              out.shape(2) == coef.shape(0),
          "out must have a value for each row, feature and line of coef");
  nb::gil_scoped_release release;
  functions().add_shapley_values(task);
}

}  // namespace

void bind_explain(nb::module_& m) {
  m.def("add_shapley_values", &add_shapley_values, "kernel"_a, "rows"_a, "background"_a,
        "vectors"_a, "vector_index"_a.noconvert(), "node"_a.noconvert(), "weight"_a.noconvert(),
        "coef"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
}

}  // namespace widestreet
