#include "tests/services/coordinator/sync/core/part_owners.h"

#include <algorithm>

#include "common/permutation.h"

namespace paceline {

void PartOwners::GoOn(const SamplePosition& position,
                      const std::set<WorkerId>& members) {
  next_epoch_ = position.next_epoch;
  for (const SampleRange& open : position.open) {
    epochs_[open.epoch] = {open.parts, {members.begin(), members.end()}};
  }
}

bool PartOwners::Dealt(const SampleRange& range,
                       const std::set<WorkerId>& members) {
  if (range.epoch == next_epoch_) {
    const auto parts =
        static_cast<uint32_t>(std::min<size_t>(members.size(), size_));
    epochs_[next_epoch_++] = {parts, {members.begin(), members.end()}};
  }
  const auto epoch = epochs_.find(range.epoch);
  return epoch != epochs_.end() && range.parts == epoch->second.parts &&
         PartOf(range.epoch, range.begin) == PartOf(range.epoch, range.end - 1);
}

std::optional<WorkerId> PartOwners::OwnerOf(uint32_t epoch,
                                            uint32_t position) const {
  const std::vector<WorkerId>& owners = epochs_.at(epoch).owners;
  const uint32_t part = PartOf(epoch, position);
  if (part >= owners.size()) return std::nullopt;
  return owners[part];
}

bool PartOwners::Wanted(uint32_t epoch, uint32_t position,
                        int64_t limit) const {
  const int64_t left = limit - int64_t{size_} * epoch;
  if (left >= size_) return true;
  if (left <= 0) return false;
  const uint32_t parts = epochs_.at(epoch).parts;
  const uint32_t part = PartOf(epoch, position);
  const auto share = static_cast<uint32_t>(left);
  return position - PartBegin(size_, parts, part) <
         PartBegin(share, parts, part + 1) - PartBegin(share, parts, part);
}

uint32_t PartOwners::PartOf(uint32_t epoch, uint32_t position) const {
  const uint32_t parts = epochs_.at(epoch).parts;
  uint32_t part = 0;
  while (PartBegin(size_, parts, part + 1) <= position) ++part;
  return part;
}

}  // namespace paceline
