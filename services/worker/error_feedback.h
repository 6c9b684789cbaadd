#ifndef PACELINE_SERVICES_WORKER_ERROR_FEEDBACK_H_
#define PACELINE_SERVICES_WORKER_ERROR_FEEDBACK_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paceline {

// Gradients on their way into int8. What the bytes of a push say too little, or
// too much, is the block's residual, and part of its next push (Seide et al.,
// "1-Bit Stochastic Gradient Descent", 2014; Karimireddy et al., "Error
// Feedback Fixes SignSGD", 2019): what the servers were told adds up to the
// gradients, but for one residual, and no error stays.
//
// A residual counts from the moment on at which the servers have taken the
// push: of one that they refused, or whose acknowledgement never came, the
// block keeps the residual that it had before. That takes two fp32 arrays.
// Thread-compatible.
class ErrorFeedback {
 public:
  // Forgets what was encoded since the last Taken().
  void BeginPush() { encoded_.clear(); }

  // The block's gradient and residual, as they go over the wire (DType::kInt8).
  // The bytes stay as they are until the next call for the block, and are what
  // a push that is sent again sends again.  REQUIRES: once between BeginPush()
  // and Taken(); a block always has the same number of elements.
  absl::string_view Encode(uint32_t block, absl::Span<const float> gradient);

  // The servers have all of the push, and have refused these blocks.
  void Taken(absl::Span<const uint32_t> refused);

  // What the next push of the block will make good; empty before its first.
  absl::Span<const float> residual(uint32_t block) const;

 private:
  struct Block {
    std::vector<float> residual;
    std::vector<float> next;  // The residual, once the push is taken.
    std::vector<char> bytes;
  };

  absl::flat_hash_map<uint32_t, Block> blocks_;
  std::vector<uint32_t> encoded_;  // In this push.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_ERROR_FEEDBACK_H_
