#ifndef PACELINE_GPU_DEVICE_SPAN_H_
#define PACELINE_GPU_DEVICE_SPAN_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "common/check.h"

namespace paceline {

// A run of floats in a backend's memory, to be read. Not owned. The host may
// follow `data` only where Backend::host_visible() says so; a type of its own
// keeps host spans from being passed by mistake.
struct DeviceView {
  const float* data = nullptr;
  int64_t size = 0;

  bool empty() const { return size == 0; }

  // REQUIRES: [offset, offset + count) lies inside.
  DeviceView Sub(int64_t offset, int64_t count) const {
    CHECK(offset >= 0 && count >= 0 && offset <= size - count);
    return {data + offset, count};
  }
  DeviceView First(int64_t count) const { return Sub(0, count); }
};

// A part of a device's memory that may be written as well.
struct DeviceSpan {
  float* data = nullptr;
  int64_t size = 0;

  // A view is what a reader is given, as with absl::Span.
  operator DeviceView() const { return {data, size}; }  // NOLINT

  bool empty() const { return size == 0; }

  // REQUIRES: [offset, offset + count) lies inside.
  DeviceSpan Sub(int64_t offset, int64_t count) const {
    CHECK(offset >= 0 && count >= 0 && offset <= size - count);
    return {data + offset, count};
  }
  DeviceSpan First(int64_t count) const { return Sub(0, count); }
};

// The floats of memory that the host sees.
inline absl::Span<float> HostSpan(DeviceSpan span) {
  return {span.data, static_cast<size_t>(span.size)};
}

}  // namespace paceline

#endif  // PACELINE_GPU_DEVICE_SPAN_H_
