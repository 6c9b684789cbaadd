#ifndef PACELINE_SERVICES_COORDINATOR_RUN_ITERATION_LOG_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_ITERATION_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "protos/paceline/v1/jobs.pb.h"

namespace paceline {

// The latest iterations of a job's workers, over all of its runs in this life
// of the coordinator: what people draw, and play other paradigms on. All
// workers share the room, so that what is known of each is of the same time.
//
// Thread-safe; its lock is held for no other one.
class IterationLog {
 public:
  // Some 120 bytes each, so 2 MB of a job.
  static constexpr size_t kKept = 16'384;

  // It was reported so many seconds of training after the job's begin. Who
  // reports before the one that was reported last belongs to a course that goes
  // on from earlier: what came later is forgotten. Times that are none,
  // negative ones or more than a day, say nothing and are left out.
  void Add(absl::string_view worker, double seconds,
           const v1::PushDone& report);

  // The first `count` of those with higher numbers than `sequence`.
  std::vector<v1::Iteration> After(int64_t sequence, size_t count) const;

 private:
  struct Entry {
    int64_t sequence = 0;
    double seconds = 0;
    std::string worker;
    int64_t iteration = 0;
    // Those of PhaseSeconds, which as a message would be twice as large.
    double load = 0;
    double compute = 0;
    double push = 0;
    double wait = 0;
    double pull = 0;
    double parked = 0;
    uint32_t samples = 0;
    bool discarded = false;
  };

  static v1::Iteration ToMessage(const Entry& entry);

  mutable absl::Mutex mu_;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mu_);
  int64_t next_ ABSL_GUARDED_BY(mu_) = 1;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_ITERATION_LOG_H_
