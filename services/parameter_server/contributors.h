#ifndef PACELINE_SERVICES_PARAMETER_SERVER_CONTRIBUTORS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_CONTRIBUTORS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "services/parameter_server/contributor.h"

namespace paceline {

// The incarnations that have pushed to one job, or were fenced in it. A fenced
// one is remembered for good, in a few words of memory. Thread-safe.
class Contributors {
 public:
  // `blocks` are hosted; at most `limit` incarnations may push that are not
  // fenced.
  Contributors(uint32_t blocks, size_t limit)
      : blocks_(blocks), limit_(limit) {}

  Contributors(const Contributors&) = delete;
  Contributors& operator=(const Contributors&) = delete;

  // The record of `incarnation`, made if this is its first push.
  // RESOURCE_EXHAUSTED if too many incarnations are unfenced.
  absl::StatusOr<std::shared_ptr<Contributor>> Find(uint64_t incarnation);

  // Contributor::Fence(), also for an incarnation that never pushed here.
  FencedPush Fence(uint64_t incarnation);

  bool IsFenced(uint64_t incarnation) const;

 private:
  struct Entry {
    std::shared_ptr<Contributor> contributor;
    bool fenced = false;
  };

  const uint32_t blocks_;
  const size_t limit_;

  mutable absl::Mutex mu_;
  size_t unfenced_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<uint64_t, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_CONTRIBUTORS_H_
