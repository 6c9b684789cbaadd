#include "services/coordinator/run/course/checkpoint_writing.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/status.h"

namespace paceline {

void CheckpointWriting::Begin(const Order& order, size_t shards,
                              uint64_t sequence) {
  CHECK(idle());
  order_ = order;
  order_->files.resize(shards);
  written_.assign(shards, false);
  sequence_ = sequence;
  manifest_ = false;
  failure_ = absl::OkStatus();
}

void CheckpointWriting::CommandDone(uint64_t sequence, int64_t version) {
  if (!order_.has_value() || sequence != sequence_) return;
  // The last of the servers says how far the others may have been by then.
  order_->version_at_completion =
      std::max(order_->version_at_completion, version);
}

void CheckpointWriting::Written(int shard, absl::string_view name,
                                int64_t snapshot, const absl::Status& status,
                                const WrittenShard& file) {
  if (!order_.has_value() || snapshot != order_->point.snapshot) return;
  written_[shard] = true;
  order_->files[shard] = file;
  if (!status.ok() && failure_.ok()) failure_ = Annotate(status, name);
}

bool CheckpointWriting::AllWritten() const {
  // Also when one has failed: until then the others write into the folder.
  return order_.has_value() &&
         std::all_of(written_.begin(), written_.end(),
                     [](bool written) { return written; });
}

std::vector<int> CheckpointWriting::StillWriting() const {
  std::vector<int> writing;
  for (size_t i = 0; i < written_.size(); ++i) {
    if (!written_[i]) writing.push_back(static_cast<int>(i));
  }
  return writing;
}

CheckpointWriting::Order CheckpointWriting::End(const absl::Status& status) {
  CHECK(!idle());
  if (status.ok()) last_written_ = order_;
  Order order = *std::move(order_);
  order_.reset();
  return order;
}

}  // namespace paceline
