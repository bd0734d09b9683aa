// The last scores of rows, and the versions of the expansion that they were computed from.
#pragma once

#include <cstdint>
#include <vector>

namespace widestreet {

// Divides rows by the versions of their scores, in their order within each version. The rows of
// version `present` are left out; those of unknown versions come first. Sets: sorted, which has room
// for all rows. Returns the number of rows of unknown versions, then of versions 0 to the last one met.
std::vector<int64_t> by_version(const int32_t* version, const int64_t* rows, int64_t count,
                                int32_t present, int64_t* sorted, int threads);

// Sets: out[p] to the score of row rows[p].
void read_scores(const double* score, const int64_t* rows, int64_t count, double* out, int threads);

// Sets: score and version of the rows, each of which stands in the list once.
void store_scores(const int64_t* rows, int64_t count, const double* value, int32_t present,
                  double* score, int32_t* version, int threads);

}  // namespace widestreet
