#include "services/parameter_server/round_sums.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "services/parameter_server/update_kernels.h"

namespace paceline {

absl::Status OpenRounds::Open(uint64_t round) {
  absl::MutexLock lock(&mu_);
  const auto found = blocks_.find(round);
  if (found != blocks_.end()) {
    ++found->second;
    return absl::OkStatus();
  }
  if (blocks_.size() >= limit_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("round ", round, " would be open beside ", blocks_.size(),
                     " others, the most allowed; close one first, or push "
                     "immediately"));
  }
  blocks_.emplace(round, 1);
  return absl::OkStatus();
}

void OpenRounds::Close(uint64_t round) {
  absl::MutexLock lock(&mu_);
  const auto found = blocks_.find(round);
  CHECK(found != blocks_.end());
  if (--found->second == 0) blocks_.erase(found);
}

size_t OpenRounds::size() const {
  absl::MutexLock lock(&mu_);
  return blocks_.size();
}

absl::Status RoundSums::Add(uint64_t round, uint32_t samples, float factor,
                            const Payload& gradient, DType dtype) {
  CHECK(gradient.size() == EncodedSize(dtype, size_));
  absl::MutexLock lock(&mu_);
  for (Accumulator& known : accumulators_) {
    if (known.round != round) continue;
    float* sum = known.gathered.sum.get();
    gradient.VisitF32(dtype, [&](size_t first, const char* g, size_t count) {
      AddToSum(factor, g, count, sum + first);
    });
    known.gathered.samples += samples;
    ++known.gathered.gradients;
    return absl::OkStatus();
  }
  PACELINE_RETURN_IF_ERROR(open_->Open(round));
  RoundSum gathered{
      .samples = samples, .sum = std::move(spare_), .gradients = 1};
  if (gathered.sum == nullptr) gathered.sum = MakeFloatBuffer(size_);
  float* sum = gathered.sum.get();
  gradient.VisitF32(dtype, [&](size_t first, const char* g, size_t count) {
    BeginSum(factor, g, count, sum + first);
  });
  accumulators_.push_back({round, std::move(gathered)});
  return absl::OkStatus();
}

uint32_t RoundSums::GradientsOf(uint64_t round) const {
  absl::MutexLock lock(&mu_);
  for (const Accumulator& known : accumulators_) {
    if (known.round == round) return known.gathered.gradients;
  }
  return 0;
}

std::optional<RoundSum> RoundSums::Take(uint64_t round) {
  absl::MutexLock lock(&mu_);
  for (auto it = accumulators_.begin(); it != accumulators_.end(); ++it) {
    if (it->round != round) continue;
    RoundSum gathered = std::move(it->gathered);
    accumulators_.erase(it);
    open_->Close(round);
    return gathered;
  }
  return std::nullopt;
}

std::optional<RoundSum> RoundSums::Drain(absl::Span<const uint64_t> rounds) {
  std::optional<RoundSum> total;
  for (const uint64_t round : rounds) {
    std::optional<RoundSum> gathered = Take(round);
    if (!gathered.has_value()) continue;
    if (!total.has_value()) {
      total = std::move(gathered);
      continue;
    }
    AddToSum(1.0f, reinterpret_cast<const char*>(gathered->sum.get()), size_,
             total->sum.get());
    total->samples += gathered->samples;
  }
  return total;
}

std::vector<std::pair<uint64_t, RoundSum>> RoundSums::Copy() const {
  std::vector<std::pair<uint64_t, RoundSum>> copies;
  absl::MutexLock lock(&mu_);
  for (const Accumulator& open : accumulators_) {
    RoundSum copy{.samples = open.gathered.samples,
                  .sum = MakeFloatBuffer(size_)};
    std::copy_n(open.gathered.sum.get(), size_, copy.sum.get());
    copies.emplace_back(open.round, std::move(copy));
  }
  return copies;
}

absl::Status RoundSums::Put(uint64_t round, RoundSum gathered) {
  absl::MutexLock lock(&mu_);
  PACELINE_RETURN_IF_ERROR(open_->Open(round));
  accumulators_.push_back({round, std::move(gathered)});
  return absl::OkStatus();
}

void RoundSums::Recycle(FloatBuffer buffer) {
  absl::MutexLock lock(&mu_);
  if (spare_ == nullptr) spare_.swap(buffer);
}

}  // namespace paceline
