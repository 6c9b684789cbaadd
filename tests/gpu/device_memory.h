#ifndef PACELINE_TESTS_GPU_DEVICE_MEMORY_H_
#define PACELINE_TESTS_GPU_DEVICE_MEMORY_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/rng.h"
#include "gpu/backend.h"

namespace paceline {

// Uniform in [-1, 1), from a seed.
inline std::vector<float> RandomFloats(int64_t size, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = static_cast<float>(2 * rng.Unit() - 1);
  return values;
}

// A test's array in a backend's memory.
class DeviceArray {
 public:
  DeviceArray(Backend& backend, const std::vector<float>& values)
      : backend_(backend) {
    auto buffer = backend.Allocate(static_cast<int64_t>(values.size()));
    CHECK(buffer.ok());
    buffer_ = *std::move(buffer);
    backend.Upload(Lane::kCompute, values, span());
    CHECK(backend.Synchronize().ok());
  }
  DeviceArray(Backend& backend, int64_t size, float value = 0)
      : DeviceArray(backend,
                    std::vector<float>(static_cast<size_t>(size), value)) {}

  DeviceSpan span() const { return buffer_->span(); }

  // What it holds when everything queued has been done.
  std::vector<float> Host() const {
    std::vector<float> values(static_cast<size_t>(span().size));
    backend_.Download(Lane::kCompute, span(), absl::MakeSpan(values));
    CHECK(backend_.Synchronize().ok());
    return values;
  }

 private:
  Backend& backend_;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_GPU_DEVICE_MEMORY_H_
