#include "tests/gpu/step_check.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace paceline {
namespace {

constexpr int64_t kSide = 64;
constexpr int64_t kSize = kSide * kSide;
constexpr int kRuns = 20;

std::unique_ptr<Mark> MarkOf(Backend& backend) {
  auto mark = backend.MakeMark();
  CHECK(mark.ok());
  return *std::move(mark);
}

std::unique_ptr<Buffer> HostMemory(Backend& backend) {
  auto memory = backend.AllocateHost(kSize);
  CHECK(memory.ok());
  return *std::move(memory);
}

std::unique_ptr<Buffer> Memory(Backend& backend) {
  auto memory = backend.Allocate(kSize);
  CHECK(memory.ok());
  return *std::move(memory);
}

}  // namespace

// x holds one number, i, everywhere: x x^T is 64 i^2, and twice that with x
// added is 128 i^2 + i. All of them are exact in every precision.
std::string StepDiffers(Backend& backend) {
  const auto x_host = HostMemory(backend), half_host = HostMemory(backend);
  const auto whole_host = HostMemory(backend);
  const auto x = Memory(backend), half = Memory(backend);
  const auto whole = Memory(backend);
  const auto filled = MarkOf(backend), read = MarkOf(backend);
  const auto computed = MarkOf(backend), arrived = MarkOf(backend);
  const auto step = backend.MakeRepeatedStep();
  const auto fetch = [&](const Buffer& from, const Buffer& to) {
    backend.Set(*computed, Lane::kCompute);
    backend.Follow(Lane::kDownload, *computed);
    backend.Download(Lane::kDownload, from.span(), HostSpan(to.span()));
    backend.Set(*arrived, Lane::kDownload);
  };
  for (int i = 1; i <= kRuns; ++i) {
    const auto number = static_cast<float>(i);
    for (float& value : HostSpan(x_host->span())) value = number;
    backend.Follow(Lane::kUpload, *read);
    backend.Upload(Lane::kUpload, HostSpan(x_host->span()), x->span());
    backend.Set(*filled, Lane::kUpload);
    backend.Follow(Lane::kCompute, *filled);
    step->Run([&] {
      backend.Gemm({.transpose_b = true, .m = kSide, .n = kSide, .k = kSide}, 1,
                   x->span(), x->span(), 0, half->span());
      step->Between([&] { fetch(*half, *half_host); });
      backend.Copy(half->span(), whole->span());
      backend.Axpy(1, half->span(), whole->span());
      backend.Axpy(1, x->span(), whole->span());
      step->Between([&] { fetch(*whole, *whole_host); });
    });
    backend.Set(*read, Lane::kCompute);
    const absl::Status status = backend.Await(*arrived);
    if (!status.ok()) return std::string(status.message());
    for (int64_t k = 0; k < kSize; ++k) {
      const float got_half = half_host->span().data[k];
      const float got_whole = whole_host->span().data[k];
      if (got_half == 64 * number * number &&
          got_whole == 128 * number * number + number) {
        continue;
      }
      return absl::StrCat("run ", i, ", element ", k, ": ", got_half, " and ",
                          got_whole);
    }
  }
  if (!backend.host_visible() && !step->repeated()) {
    return absl::StrCat("after ", kRuns, " runs nothing is repeated");
  }
  const absl::Status status = backend.Synchronize();
  return status.ok() ? "" : std::string(status.message());
}

}  // namespace paceline
