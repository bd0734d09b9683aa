// The kernel tile of a working set: rows that come and go, and sums over it.
#include <type_traits>

#include "bindings/arrays.hpp"
#include "dispatch.hpp"
#include "solve/slots.hpp"

namespace widestreet {
namespace {

// Calls f with the values of a tile, without the interpreter lock.
template <class F>
void with_values(const Any& tile, F&& f) {
  nb::gil_scoped_release release;
  if (is<float>(tile.dtype()))
    f(static_cast<float*>(tile.data()));
  else
    f(static_cast<double*>(tile.data()));
}

void require_slots(const Any& tile, int64_t size, const Index& slots) {
  require_tile(tile, kNoTile);
  require(int64_t(tile.shape(0)) >= size && int64_t(tile.shape(1)) >= size, "tile is too small");
  for (size_t i = 0; i < slots.shape(0); ++i)
    require(slots.data()[i] >= 0 && slots.data()[i] < size, "slot out of range");
}

void add_scores(Any tile, int64_t size, Index slots, Array1<const double> change,
                Array1<double> score, int threads) {
  require_threads(threads);
  require_slots(tile, size, slots);
  require(slots.shape(0) == change.shape(0), "one change per slot is needed");
  require(int64_t(score.shape(0)) >= size, "one score per row is needed");
  const ScoreTask task = {
      size,          is<double>(tile.dtype()), tile.data(),  tile.stride(0), slots.data(),
      change.data(), int64_t(slots.shape(0)),  score.data(), threads};
  nb::gil_scoped_release release;
  functions().add_scores(task);
}

void gather_slots(Any out, Any tile, int64_t size, Index slots, int threads) {
  require_threads(threads);
  require_slots(tile, size, slots);
  const int64_t count = int64_t(slots.shape(0));
  require(out.ndim() == 2 && int64_t(out.shape(0)) >= count && int64_t(out.shape(1)) >= count,
          "out is too small");
  require_tile(out, kNoOut);
  auto copy = [&](auto* from, auto* to) {
    gather(to, out.stride(0), from, tile.stride(0), slots.data(), count, threads);
  };
  with_values(tile, [&](auto* from) {
    if (is<float>(out.dtype()))
      copy(from, static_cast<float*>(out.data()));
    else
      copy(from, static_cast<double*>(out.data()));
  });
}

void relocate_slots(Any tile, int64_t size, Index from, Index to, int threads) {
  require_threads(threads);
  require(from.shape(0) == to.shape(0), "from and to must have the same length");
  require_slots(tile, size, from);
  require_slots(tile, size, to);
  with_values(tile, [&](auto* t) {
    relocate(t, tile.stride(0), size, from.data(), to.data(), int64_t(from.shape(0)), threads);
  });
}

void copy_tile_rows(Any to, Any from, int64_t begin, int64_t end, int64_t size, int threads) {
  require_threads(threads);
  require(to.dtype() == from.dtype(), "tiles must have the same type");
  for (const Any& tile : {to, from}) {
    require_tile(tile, kNoTile);
    require(0 <= begin && begin <= end && end <= size && size <= int64_t(tile.shape(0)) &&
                size <= int64_t(tile.shape(1)),
            "rows leave a tile");
  }
  with_values(to, [&](auto* t) {
    copy_rows(t, to.stride(0), static_cast<const std::decay_t<decltype(*t)>*>(from.data()),
              from.stride(0), begin, end, size, threads);
  });
}

void mirror_slots(Any tile, int64_t size, Index slots, int threads) {
  require_threads(threads);
  require_slots(tile, size, slots);
  with_values(tile, [&](auto* t) {
    mirror(t, tile.stride(0), size, slots.data(), int64_t(slots.shape(0)), threads);
  });
}

}  // namespace

void bind_tile(nb::module_& m) {
  m.def("add_scores", &add_scores, "tile"_a.noconvert(), "size"_a, "slots"_a.noconvert(),
        "change"_a.noconvert(), "score"_a.noconvert(), "threads"_a);
  m.def("gather", &gather_slots, "out"_a.noconvert(), "tile"_a.noconvert(), "size"_a,
        "slots"_a.noconvert(), "threads"_a);
  m.def("relocate", &relocate_slots, "tile"_a.noconvert(), "size"_a, "from_slots"_a.noconvert(),
        "to_slots"_a.noconvert(), "threads"_a);
  m.def("copy_rows", &copy_tile_rows, "to"_a.noconvert(), "source"_a.noconvert(), "begin"_a,
        "end"_a, "size"_a, "threads"_a);
  m.def("mirror", &mirror_slots, "tile"_a.noconvert(), "size"_a, "slots"_a.noconvert(),
        "threads"_a);
}

}  // namespace widestreet
