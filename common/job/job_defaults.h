#ifndef PACELINE_COMMON_JOB_JOB_DEFAULTS_H_
#define PACELINE_COMMON_JOB_JOB_DEFAULTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace paceline {

// These are the values of a job's fields that are left out, in the API and on
// the command line alike. docs/decisions.md says why the schedule steps.
inline constexpr absl::string_view kDefaultModel = "lenet5";
inline constexpr absl::string_view kDefaultData = "synthetic:shapes";
inline constexpr absl::string_view kDefaultParadigm = "bsp";
inline constexpr absl::string_view kDefaultOptimizer = "sgd:momentum=0.9";
inline constexpr double kDefaultLearningRate = 0.005;
inline constexpr absl::string_view kDefaultSchedule =
    "step:at=0.6|0.85,factor=0.3";
inline constexpr absl::string_view kDefaultRoundStrength = "linear";
inline constexpr absl::string_view kDefaultBatching = "even";
inline constexpr absl::string_view kDefaultDataAssignment = "dynamic";
inline constexpr absl::string_view kStaticDataAssignment = "static";
// The two values of JobSpec.durability, of which the first is the default.
inline constexpr absl::string_view kRelaxedDurability = "relaxed";
inline constexpr absl::string_view kStrictDurability = "strict";
inline constexpr uint32_t kDefaultBatchSize = 32;
inline constexpr uint32_t kDefaultEpochs = 1;
inline constexpr uint32_t kDefaultCheckpointsKept = 3;

// A member may be silent for so long, unless the coordinator says otherwise.
inline constexpr absl::Duration kDefaultLease = absl::Seconds(10);

// A member keeps what it has of a job for so long without a coordinator.
inline constexpr absl::Duration kDefaultOrphan = absl::Minutes(10);

// Returns the samples between two evaluations on data with so many samples an
// epoch: `every`, or a twentieth of an epoch if that is 0.
inline int64_t EvaluationInterval(int64_t every, int64_t train_samples) {
  return every > 0 ? every : std::max<int64_t>(1, train_samples / 20);
}

// Returns the bound of what evaluations may cost, as a share of the time that
// all workers train, of a job that names none; 0: no bound. Whoever says how
// often is to be evaluated, or waits for a target, is not contradicted.
inline double DefaultEvaluationShare(int64_t every, bool has_target) {
  return every > 0 || has_target ? 0 : 0.1;
}

// The limits of a job's fields: far above what anybody needs, far below what
// overflows or fills a disk. That of the learning rate is kRateMax
// (optimizer_spec.h).
inline constexpr int64_t kBatchMax = 65'536;
inline constexpr int64_t kEpochsMax = 1'000'000;
inline constexpr int64_t kPriorityMax = 1000;  // Either way.

}  // namespace paceline

#endif  // PACELINE_COMMON_JOB_JOB_DEFAULTS_H_
