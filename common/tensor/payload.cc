#include "common/tensor/payload.h"

#include "common/tensor/square_sum.h"

namespace paceline {

void Payload::CopyTo(DType dtype, float* out) const {
  VisitRuns(dtype, [&](size_t first, const char* bytes, size_t count) {
    ConvertToF32(dtype, bytes, count, out + first);
    return true;
  });
}

bool Payload::AllFinite(DType dtype) const {
  return VisitRuns(dtype, [&](size_t, const char* bytes, size_t count) {
    return paceline::AllFinite(dtype, bytes, count);
  });
}

std::optional<double> Payload::SquareSum(DType dtype) const {
  double sum = 0;
  const auto add = [&](size_t, const char* bytes, size_t count) {
    const std::optional<double> part = paceline::SquareSum(dtype, bytes, count);
    sum += part.value_or(0);
    return part.has_value();
  };
  if (!VisitRuns(dtype, add)) return std::nullopt;
  return sum;
}

}  // namespace paceline
