#include "common/tensor/payload.h"

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

}  // namespace paceline
