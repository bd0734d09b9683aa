// Arrays that cross the border to Python, and the objects that hold them.
//
// Only the files of this folder know Python: arrays in, arrays out, the interpreter lock released
// around every computation that may take long. Array arguments are never converted: a wrong type is
// an error, not a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "fresh.hpp"
#include "kernels/rows.hpp"
#include "variables.hpp"

namespace widestreet {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Array1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Index = Array1<const int64_t>;
using MaybeIndex = std::optional<Index>;
using Any = nb::ndarray<nb::device::cpu>;
using ReadOnly = nb::ndarray<nb::ro, nb::device::cpu>;

// -- checks ---------------------------------------------------------------------------------------

inline void require(bool ok, const char* message) {
  if (!ok) throw std::invalid_argument(message);
}

inline void require_threads(int threads) {
  require(threads >= 1, "threads must be at least 1");
}

// Numbers of rows, of which there are n.
inline void require_rows(const Index& rows, int64_t n, const char* message) {
  uint64_t outside = 0;  // its first bit is set by a number below zero, or above n - 1
  for (size_t p = 0; p < rows.shape(0); ++p) {
    const uint64_t row = uint64_t(rows.data()[p]);
    outside |= row | (uint64_t(n) - 1 - row);
  }
  require(outside >> 63 == 0, message);
}

// The parts of a list of rows: each has at least one row, and together they cover the list.
inline void require_ends(const Index& end, int64_t rows) {
  int64_t last = 0;
  for (size_t p = 0; p < end.shape(0); ++p) {
    require(end.data()[p] > last, "a part must have rows");
    last = end.data()[p];
  }
  require(last == rows, "the parts must cover the rows");
}

template <class T>
bool is(const nb::dlpack::dtype& t) {
  return t == nb::dtype<T>();
}

// A matrix of kernel values.
inline void require_tile(const Any& tile, const char* message) {
  require(tile.ndim() == 2 && tile.stride(1) == 1 &&
              (is<float>(tile.dtype()) || is<double>(tile.dtype())),
          message);
}
constexpr const char* kNoTile = "tile must be a row-major matrix of float32 or float64";
constexpr const char* kNoOut = "out must be a row-major matrix of float32 or float64";

// -- results --------------------------------------------------------------------------------------

template <class T>
nb::capsule keep(std::vector<T>* owned) {
  return nb::capsule(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
}

// A vector handed to NumPy without a copy.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> give(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  return {owned->data(), {owned->size()}, keep(owned)};
}

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> give(Fresh<T>&& values) {
  T* data = values.values.release();
  return {data, {values.size}, nb::capsule(data, [](void* p) noexcept {
            delete[] static_cast<T*>(p);
          })};
}

// A matrix handed to NumPy without a copy.
inline nb::ndarray<nb::numpy, double, nb::ndim<2>> give_matrix(std::vector<double>&& values,
                                                               size_t columns) {
  auto* owned = new std::vector<double>(std::move(values));
  return {owned->data(), {owned->size() / columns, columns}, keep(owned)};
}

// -- objects that keep the arrays they look at alive ----------------------------------------------

struct HeldRows {
  Rows view;
  std::vector<ReadOnly> held;

  static HeldRows dense(ReadOnly values, std::optional<Array1<const double>> centre,
                        bool skip_zeros);
  static HeldRows csr(ReadOnly values, ReadOnly indices, ReadOnly indptr, int64_t n, int64_t d);

  // The same rows with the levels of their values on a grid.
  HeldRows with_levels(double step, double origin, bool binary, bool precise,
                       std::optional<Array2<const uint8_t>> levels) const;

  // Some of the rows, or all of them.
  RowList list(const MaybeIndex& index) const;
};

struct HeldVariables {
  Variables view;
  std::vector<ReadOnly> held;

  // The leading `rows` of the arrays count.
  HeldVariables(Array2<const double> target, Array2<const double> lower, Array2<const double> upper,
                Array2<const uint8_t> group, int groups, std::optional<int64_t> rows);

  // Whether coefficients and scores have a value for each variable and row.
  template <class T>
  void require_point(const Array2<T>& beta, const Array1<T>& score) const {
    require(int64_t(beta.shape(0)) == view.layers && int64_t(beta.shape(1)) == view.stride,
            "beta must have the shape of the variables");
    require(int64_t(score.shape(0)) == view.stride, "one score per row is needed");
  }
};

// -- the functions that the other files define --------------------------------------------------

void bind_explain(nb::module_& m);
void bind_kernels(nb::module_& m);
void bind_path(nb::module_& m);
void bind_rows(nb::module_& m);
void bind_shard(nb::module_& m);
void bind_solve(nb::module_& m);
void bind_tile(nb::module_& m);
void bind_variables(nb::module_& m);

}  // namespace widestreet
