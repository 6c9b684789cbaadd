#ifndef PACELINE_SERVICES_PARAMETER_SERVER_FLOAT_BUFFER_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_FLOAT_BUFFER_H_

#include <cstddef>
#include <memory>
#include <new>

namespace paceline {

// A cache line, and the widest vector.
inline constexpr std::align_val_t kFloatBufferAlignment{64};

struct FreeFloatBuffer {
  void operator()(float* floats) const {
    ::operator delete[](floats, kFloatBufferAlignment);
  }
};

// An owned array of floats that begins on a cache line. Unlike a vector it
// starts uninitialized: whoever fills it does so in the pass that computes.
using FloatBuffer = std::unique_ptr<float[], FreeFloatBuffer>;

inline FloatBuffer MakeFloatBuffer(size_t count) {
  return FloatBuffer(static_cast<float*>(
      ::operator new[](count * sizeof(float), kFloatBufferAlignment)));
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_FLOAT_BUFFER_H_
