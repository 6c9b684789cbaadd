#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "gpu/cpu/activate.h"
#include "gpu/cpu/cpu_backend.h"

// What a backend is made of: its memory, and operations on one element each.

namespace paceline {
namespace {

constexpr std::align_val_t kAlignment{64};

class CpuBuffer final : public Buffer {
 public:
  CpuBuffer(float* data, int64_t size) : data_(data), size_(size) {}
  ~CpuBuffer() override { ::operator delete[](data_, kAlignment); }
  CpuBuffer(const CpuBuffer&) = delete;
  CpuBuffer& operator=(const CpuBuffer&) = delete;

  DeviceSpan span() const override { return {data_, size_}; }

 private:
  float* const data_;
  const int64_t size_;
};

}  // namespace

absl::string_view CpuBackend::name() const { return "cpu"; }

bool CpuBackend::host_visible() const { return true; }

absl::StatusOr<std::unique_ptr<Buffer>> CpuBackend::Allocate(int64_t size) {
  CHECK(size >= 0);
  const auto bytes = static_cast<size_t>(size) * sizeof(float);
  void* data = nullptr;
  if (size < std::numeric_limits<int64_t>::max() / 8) {
    data = ::operator new[](bytes, kAlignment, std::nothrow);
  }
  if (data == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory for ", bytes >> 20, " MiB; use a smaller micro-batch"));
  }
  std::memset(data, 0, bytes);
  return std::make_unique<CpuBuffer>(static_cast<float*>(data), size);
}

absl::StatusOr<std::unique_ptr<Buffer>> CpuBackend::AllocateHost(int64_t size) {
  return Allocate(size);
}

void CpuBackend::Upload(Lane /*lane*/, absl::Span<const float> from,
                        DeviceSpan to) {
  Copy({from.data(), static_cast<int64_t>(from.size())}, to);
}

void CpuBackend::Download(Lane /*lane*/, DeviceView from,
                          absl::Span<float> to) {
  Copy(from, {to.data(), static_cast<int64_t>(to.size())});
}

// Everything has been done when its call returned.
absl::StatusOr<std::unique_ptr<Mark>> CpuBackend::MakeMark() {
  return std::make_unique<Mark>();
}

void CpuBackend::Set(Mark& /*mark*/, Lane /*lane*/) {}

void CpuBackend::Follow(Lane /*lane*/, const Mark& /*mark*/) {}

absl::Status CpuBackend::Await(const Mark& /*mark*/) {
  return absl::OkStatus();
}

absl::Status CpuBackend::Synchronize() { return absl::OkStatus(); }

std::unique_ptr<RepeatedStep> CpuBackend::MakeRepeatedStep() {
  return std::make_unique<PlainStep>();
}

void CpuBackend::Fill(float value, DeviceSpan y) {
  std::fill_n(y.data, y.size, value);
}

void CpuBackend::Copy(DeviceView x, DeviceSpan y) {
  CHECK(x.size == y.size);
  std::copy_n(x.data, x.size, y.data);
}

void CpuBackend::Scale(float alpha, DeviceSpan y) {
  for (int64_t i = 0; i < y.size; ++i) y.data[i] *= alpha;
}

void CpuBackend::Axpy(float alpha, DeviceView x, DeviceSpan y) {
  CHECK(x.size == y.size);
  for (int64_t i = 0; i < x.size; ++i) y.data[i] += alpha * x.data[i];
}

void CpuBackend::Pack(DType dtype, DeviceView x, DeviceSpan packed) {
  CHECK(dtype != DType::kInt8 && packed.size == PackedSize(dtype, x.size));
  ConvertFromF32(dtype, x.data, static_cast<size_t>(x.size),
                 reinterpret_cast<char*>(packed.data));
}

void CpuBackend::ReluForward(DeviceView x, DeviceSpan y) {
  CHECK(x.size == y.size);
  for (int64_t i = 0; i < x.size; ++i) {
    y.data[i] = Activate<Activation::kRelu>(x.data[i]);
  }
}

void CpuBackend::ReluBackward(DeviceView y, DeviceView dy, DeviceSpan dx) {
  CHECK(y.size == dy.size && y.size == dx.size);
  for (int64_t i = 0; i < y.size; ++i) {
    dx.data[i] = Passed<Activation::kRelu>(y.data[i], dy.data[i]);
  }
}

}  // namespace paceline
