#include "services/coordinator/policy/barrier_specs.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status.h"
#include "services/coordinator/policy/abs_sgd.h"
#include "services/coordinator/policy/elastic_bsp.h"
#include "services/coordinator/policy/k_async.h"
#include "services/coordinator/policy/k_sync.h"
#include "services/coordinator/policy/policy_spec.h"
#include "services/coordinator/policy/psp.h"
#include "services/coordinator/policy/sync_switch.h"

namespace paceline {
namespace {

using PolicyOr = absl::StatusOr<std::unique_ptr<SyncPolicy>>;

// More workers, or iterations ahead, than any job has.
constexpr int64_t kMaxNumber = 1'000'000'000;
// A push may take time in proportion to the sample.
constexpr int64_t kMaxSample = 1'000;
// The paper looks 240 iterations ahead at most. A barrier takes time in
// proportion.
constexpr int64_t kMaxAhead = 1'000;
constexpr int64_t kMaxPieces = 1'024;

PolicyOr MakeOf(KSyncMode mode, const SpecParameters& parameters) {
  PACELINE_ASSIGN_OR_RETURN(const int64_t k,
                            parameters.Positive("k", 2, kMaxNumber));
  return std::make_unique<KSync>(mode, k);
}

PolicyOr MakeOf(KAsyncMode mode, const SpecParameters& parameters) {
  PACELINE_ASSIGN_OR_RETURN(const int64_t k,
                            parameters.Positive("k", 2, kMaxNumber));
  return std::make_unique<KAsync>(mode, k);
}

// A spec within the spec.
absl::StatusOr<std::string> InnerSpec(const SpecParameters& parameters,
                                      absl::string_view key,
                                      absl::string_view fallback) {
  const absl::string_view spec = parameters.Text(key, fallback);
  if (SpecName(spec) == "syncswitch") {
    return absl::InvalidArgumentError(absl::StrCat(
        key, "=", spec, " is made of two itself; it must be another paradigm"));
  }
  const PolicyOr policy = MakePolicy(spec);
  if (!policy.ok()) return Annotate(policy.status(), key);
  return std::string(spec);
}

}  // namespace

PolicyOr MakeKSync(const SpecParameters& parameters) {
  return MakeOf(KSyncMode::kWorkers, parameters);
}

PolicyOr MakeKBatchSync(const SpecParameters& parameters) {
  return MakeOf(KSyncMode::kBatches, parameters);
}

PolicyOr MakeBackup(const SpecParameters& parameters) {
  PACELINE_ASSIGN_OR_RETURN(const int64_t b,
                            parameters.Number("b", 1, kMaxNumber));
  return std::make_unique<KSync>(KSyncMode::kBackup, b);
}

PolicyOr MakeKAsync(const SpecParameters& parameters) {
  return MakeOf(KAsyncMode::kWorkers, parameters);
}

PolicyOr MakeKBatchAsync(const SpecParameters& parameters) {
  return MakeOf(KAsyncMode::kBatches, parameters);
}

PolicyOr MakePsp(const SpecParameters& parameters) {
  PspOptions options;
  PACELINE_ASSIGN_OR_RETURN(
      options.beta, parameters.Number("beta", options.beta, kMaxSample));
  PACELINE_ASSIGN_OR_RETURN(options.s,
                            parameters.Number("s", options.s, kMaxNumber));
  PACELINE_ASSIGN_OR_RETURN(
      const int64_t seed,
      parameters.Number("seed", 1, std::numeric_limits<int64_t>::max()));
  options.seed = static_cast<uint64_t>(seed);
  return std::make_unique<Psp>(options);
}

PolicyOr MakeElasticBsp(const SpecParameters& parameters) {
  PACELINE_ASSIGN_OR_RETURN(const int64_t r,
                            parameters.Positive("r", 15, kMaxAhead));
  return std::make_unique<ElasticBsp>(r);
}

PolicyOr MakeAbsSgd(const SpecParameters& parameters) {
  PACELINE_ASSIGN_OR_RETURN(const int64_t pieces,
                            parameters.Positive("pieces", 8, kMaxPieces));
  return std::make_unique<AbsSgd>(static_cast<int>(pieces));
}

PolicyOr MakeSyncSwitch(const SpecParameters& parameters) {
  SyncSwitchOptions options;
  PACELINE_ASSIGN_OR_RETURN(options.first,
                            InnerSpec(parameters, "first", options.first));
  PACELINE_ASSIGN_OR_RETURN(options.then,
                            InnerSpec(parameters, "then", options.then));
  PACELINE_ASSIGN_OR_RETURN(const double at,
                            parameters.Decimal("at", 0.05, 0, 1));
  PACELINE_ASSIGN_OR_RETURN(const size_t straggler,
                            parameters.Choice("straggler", {"leave", "stay"}));
  options.at_millionths = std::llround(at * 1e6);
  options.leaves_for_stragglers = straggler == 0;
  return std::make_unique<SyncSwitch>(std::move(options));
}

}  // namespace paceline
