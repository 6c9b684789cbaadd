#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_COPY_BOOK_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_COPY_BOOK_H_

#include <cstdint>
#include <map>
#include <optional>

#include "absl/types/span.h"
#include "services/coordinator/sync/core/sync_messages.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// Which updates are in the weights that each worker has pulled last, should
// nobody else have them any more. A worker is known to have pulled what a grant
// names once the push of that iteration is counted; before that its copy is the
// one of the iteration before. Thread-compatible.
class CopyBook {
 public:
  // So many pushes, and their samples.
  struct Pushes {
    int64_t pushes = 0;
    int64_t samples = 0;
  };

  void Granted(const Grant& grant);
  void Planned(const PlanCommand& plan);
  void Extended(const ExtendCommand& extend);
  void Counted(const PushCounted& push);
  void Closed(absl::Span<const RoundId> rounds);
  void Gone(WorkerId worker) { workers_.erase(worker); }
  // It says which weights it has: perhaps those of its open iteration already.
  void Has(WorkerId worker, Version base_version);

  // Who has the copy with most in it; nobody: none has pushed yet.
  std::optional<WorkerId> Freshest() const;
  // REQUIRES: it was Freshest() since it came. The same below.
  Version VersionOf(WorkerId worker) const;
  // What is on its way and may have arrived.
  Pushes OnTheWay() const;
  // Everything that servers may have taken since the run began.
  Pushes All() const;
  // What its copy lacks at most of all that servers may have taken.
  Pushes MissingIn(WorkerId worker) const;

 private:
  struct Worker {
    std::optional<Pushes> copy;  // In it; nothing: it has none.
    Version copy_version = 0;
    // Of the open iteration; no samples: there is none.
    Pushes base;
    Version base_version = 0;
    int64_t samples = 0;
    PushPlan plan;
  };

  std::map<WorkerId, Worker> workers_;
  Pushes applied_;
  std::map<RoundId, Pushes> rounds_;  // Open ones.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_COPY_BOOK_H_
