#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TRAINING_CLOCK_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TRAINING_CLOCK_H_

#include <vector>

#include "absl/time/time.h"
#include "protos/paceline/v1/jobs.pb.h"

namespace paceline {

// When it was that a job had trained for so many seconds. A job's seconds stand
// still while it is paused, and jump back where it goes on from an earlier
// checkpoint; its decisions say both its seconds and the time. Pure.
class TrainingClock {
 public:
  // `decisions` are all of the job's, oldest first.
  TrainingClock(const v1::Job& job, const std::vector<v1::Decision>& decisions);

  // Of the course that the job has kept. At the very second of a pause it is
  // the time before the pause.
  absl::Time At(double seconds) const;

 private:
  struct Known {
    double seconds;
    absl::Time time;
  };

  absl::Time start_;
  std::vector<Known> known_;  // By seconds.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TRAINING_CLOCK_H_
