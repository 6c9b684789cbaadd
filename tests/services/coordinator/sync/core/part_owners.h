#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_PART_OWNERS_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_PART_OWNERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "services/coordinator/sync/core/sample_dealer.h"

namespace paceline {

// Whose each sample is where workers have static parts of the data, in the
// plainest way. Only what is told to it does it know.
class PartOwners {
 public:
  explicit PartOwners(uint32_t train_samples) : size_(train_samples) {}

  // The job goes on from there, with these members.
  void GoOn(const SamplePosition& position, const std::set<WorkerId>& members);
  // Something of the epoch is dealt. If it is the first, these members have
  // parts of it. False if the range has other parts, or lies in two of them.
  bool Dealt(const SampleRange& range, const std::set<WorkerId>& members);

  // Nobody's if nullopt.
  std::optional<WorkerId> OwnerOf(uint32_t epoch, uint32_t position) const;
  // Whether a job of so many samples wants this one.
  bool Wanted(uint32_t epoch, uint32_t position, int64_t limit) const;
  // How many samples there are in epochs that have begun.
  int64_t begun() const { return int64_t{size_} * next_epoch_; }

 private:
  struct Epoch {
    uint32_t parts = 1;
    std::vector<WorkerId> owners;
  };

  uint32_t PartOf(uint32_t epoch, uint32_t position) const;

  const uint32_t size_;
  std::map<uint32_t, Epoch> epochs_;
  uint32_t next_epoch_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_PART_OWNERS_H_
