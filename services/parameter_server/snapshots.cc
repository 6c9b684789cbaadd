#include "services/parameter_server/snapshots.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace paceline {
namespace {

uint64_t Bytes(const BlockState& state) {
  return uint64_t{state.size()} * sizeof(float) * (1 + state.slots());
}

}  // namespace

absl::Status Snapshots::Add(uint64_t id, PulledBlocks blocks) {
  if (snapshots_.contains(id)) {
    return absl::AlreadyExistsError(
        absl::StrCat("snapshot ", id, " exists; use another id"));
  }
  if (snapshots_.size() >= max_count_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(snapshots_.size(),
                     " snapshots are held, the most allowed; release some"));
  }
  uint64_t added = 0;
  for (const PulledBlock& block : blocks.blocks) {
    if (!references_.contains(block.state.get())) added += Bytes(*block.state);
  }
  if (!budget_->Take(added)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "snapshot ", id, " would add ", added, " bytes to the ",
        budget_->taken(), " held by this server; ", budget_->max(),
        " are allowed: evaluate less often, or raise --max-snapshot-bytes"));
  }
  bytes_ += added;
  for (const PulledBlock& block : blocks.blocks) {
    ++references_[block.state.get()];
  }
  snapshots_.emplace(id, std::move(blocks));
  return absl::OkStatus();
}

const PulledBlocks* Snapshots::Find(uint64_t id) const {
  const auto found = snapshots_.find(id);
  return found == snapshots_.end() ? nullptr : &found->second;
}

PulledBlocks Snapshots::Release(uint64_t id) {
  const auto found = snapshots_.find(id);
  if (found == snapshots_.end()) return {};
  for (const PulledBlock& block : found->second.blocks) {
    const auto reference = references_.find(block.state.get());
    CHECK(reference != references_.end());
    if (--reference->second > 0) continue;
    references_.erase(reference);
    bytes_ -= Bytes(*block.state);
    budget_->GiveBack(Bytes(*block.state));
  }
  PulledBlocks released = std::move(found->second);
  snapshots_.erase(found);
  return released;
}

}  // namespace paceline
