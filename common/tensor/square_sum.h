#ifndef PACELINE_COMMON_TENSOR_SQUARE_SUM_H_
#define PACELINE_COMMON_TENSOR_SQUARE_SUM_H_

#include <cstddef>
#include <optional>

#include "common/tensor/dtype.h"

namespace paceline {

// The sum of the squares of an array of `count` elements at `bytes`, which need
// no alignment; nothing if one of them is an infinity or a NaN. So it says what
// AllFinite() says, in one pass that from cache takes hardly longer. Exact to
// about six digits.
std::optional<double> SquareSum(DType dtype, const char* bytes, size_t count);

}  // namespace paceline

#endif  // PACELINE_COMMON_TENSOR_SQUARE_SUM_H_
