// Read-only rows, dense or CSR, in the precision and layout of the caller.
//
// The data set is never copied: a row is converted to the precision of the computation
// when it is loaded into a small buffer, which costs d operations against d times the number
// of vectors it is then compared with.
#pragma once

#include <cstdint>

namespace widestreet {

// Levels of rows whose values all lie on a grid: value = origin + step * level (levels.hpp).
struct Levels {
  double step = 0;  // zero: the rows are not on a grid
  double origin = 0;
  bool binary = false;              // all levels are 0 or 1
  bool precise = false;             // values are on the grid up to the rounding of double
  const uint8_t* values = nullptr;  // n x stride; null for binary CSR rows
  int64_t stride = 0;               // d and zeros that fill the last word

  bool same_grid(const Levels& other) const {
    return step != 0 && step == other.step && origin == other.origin;
  }
};

struct Rows {
  enum class Storage { dense, csr };
  Storage storage = Storage::dense;
  int64_t n = 0;
  int64_t d = 0;
  bool is_double = true;  // type of the values: double or float
  const void* values = nullptr;

  // Dense: element (i, k) is values[i * row_stride + k * col_stride], less centre[k].
  int64_t row_stride = 0;
  int64_t col_stride = 0;
  const double* centre = nullptr;  // d values or null
  bool skip_zeros = false;         // most values are zero: only the others are read

  // CSR: indices and row pointers are both int64 when wide, both int32 otherwise.
  bool wide = false;
  const void* indices = nullptr;
  const void* indptr = nullptr;

  Levels levels;  // beside the values

  int64_t begin_of(int64_t i) const {
    return wide ? static_cast<const int64_t*>(indptr)[i] : static_cast<const int32_t*>(indptr)[i];
  }
  int64_t column_at(int64_t p) const {
    return wide ? static_cast<const int64_t*>(indices)[p] : static_cast<const int32_t*>(indices)[p];
  }
  double value_at(int64_t p) const {
    return is_double ? static_cast<const double*>(values)[p] : static_cast<const float*>(values)[p];
  }
  // Whether work should be proportional to the nonzeros of a row.
  bool few_nonzeros() const { return storage == Storage::csr || skip_zeros; }
  int64_t nonzeros(int64_t i) const {
    return storage == Storage::csr ? begin_of(i + 1) - begin_of(i) : d;
  }
  // Values stored for a row: the mean of CSR rows, rounded up.
  int64_t values_per_row() const {
    return storage == Storage::csr && n > 0 ? (begin_of(n) - begin_of(0) + n - 1) / n : d;
  }
};

namespace detail {

template <class Stored, class T>
inline void load_dense(const Rows& rows, int64_t i, T* out) {
  const Stored* x = static_cast<const Stored*>(rows.values) + i * rows.row_stride;
  const int64_t step = rows.col_stride;
  if (rows.centre) {
    for (int64_t k = 0; k < rows.d; ++k)
      out[k] = static_cast<T>(static_cast<double>(x[k * step]) - rows.centre[k]);
  } else {
    for (int64_t k = 0; k < rows.d; ++k) out[k] = static_cast<T>(x[k * step]);
  }
}

}  // namespace detail

// Row i as d dense values. Sets: out[0..d).
template <class T>
inline void load_row(const Rows& rows, int64_t i, T* out) {
  if (rows.storage == Rows::Storage::dense) {
    if (rows.is_double)
      detail::load_dense<double>(rows, i, out);
    else
      detail::load_dense<float>(rows, i, out);
    return;
  }
  for (int64_t k = 0; k < rows.d; ++k) out[k] = T(0);
  const int64_t end = rows.begin_of(i + 1);
  for (int64_t p = rows.begin_of(i); p < end; ++p)
    out[rows.column_at(p)] += static_cast<T>(rows.value_at(p));
}

// A list of rows: either the given indices or all rows in order.
struct RowList {
  const Rows* rows = nullptr;
  const int64_t* index = nullptr;  // null: row p is row p
  int64_t size = 0;
  int64_t at(int64_t p) const { return index ? index[p] : p; }
};

}  // namespace widestreet
