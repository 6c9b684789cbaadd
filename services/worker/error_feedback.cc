#include "services/worker/error_feedback.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/tensor/int8_groups.h"

namespace paceline {

absl::string_view ErrorFeedback::Encode(uint32_t block,
                                        absl::Span<const float> gradient) {
  Block& to = blocks_[block];
  if (to.residual.empty()) {
    to.residual.resize(gradient.size());
    to.next.resize(gradient.size());
    to.bytes.resize(Int8Size(gradient.size()));
  }
  CHECK(gradient.size() == to.residual.size());
  EncodeInt8(gradient.data(), to.residual.data(), gradient.size(),
             to.bytes.data(), to.next.data());
  encoded_.push_back(block);
  return {to.bytes.data(), to.bytes.size()};
}

void ErrorFeedback::Taken(absl::Span<const uint32_t> refused) {
  for (const uint32_t block : std::exchange(encoded_, {})) {
    if (std::ranges::find(refused, block) != refused.end()) continue;
    Block& taken = blocks_.at(block);
    taken.residual.swap(taken.next);
  }
}

absl::Span<const float> ErrorFeedback::residual(uint32_t block) const {
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) return {};
  return found->second.residual;
}

}  // namespace paceline
