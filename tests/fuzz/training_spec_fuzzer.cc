// The other texts of a job's spec: rate schedule, optimizer, rounds, data,
// model, element type.

#include "common/job/names.h"
#include "common/job/optimizer_spec.h"
#include "services/coordinator/sync/core/rate_schedule.h"
#include "services/parameter_server/update_rule.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

void FuzzSchedule(absl::string_view text) {
  const auto spec = ParseRateSpec(text);
  ExpectInvalidArgument(spec.status());
  if (!spec.ok()) return;
  for (const int64_t total : {int64_t{0}, int64_t{1000}, int64_t{1} << 50}) {
    const RateSchedule schedule(0.1, *spec, total, 32);
    for (const int64_t samples : {int64_t{0}, total / 2, total}) {
      const double rate = schedule.RateAt(samples, samples / 64);
      CHECK(rate >= 0 && rate <= 0.1);
    }
  }
}

void FuzzOptimizer(absl::string_view text) {
  const auto spec = ParseOptimizerSpec(text);
  ExpectInvalidArgument(spec.status());
  if (!spec.ok()) return;
  CHECK(ValidateOptimizerSpec(*spec).ok());
  const auto again = ParseOptimizerSpec(FormatOptimizerSpec(*spec));
  CHECK(again.ok() && *again == *spec);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {"constant:warmup=0.05",
          "step:at=0.5|0.75,factor=0.1,warmup=0.01",
          "step:at=0.5,count=updates",
          "sgd:momentum=0.9,nesterov=true,weight_decay=5e-4",
          "adam:beta1=0.9,beta2=0.999,epsilon=1e-8,weight_decay=0",
          "adamw:weight_decay=0.01",
          "linear",
          "sqrt",
          "constant",
          "mnist:/data/mnist",
          "cifar10:x",
          "cifar100:x,augment=crop_flip",
          "cifar10:x,augment=crop28_flip",
          "synthetic:color-shapes",
          "resnet20"};
}

void FuzzOne(absl::string_view input) {
  FuzzSchedule(input);
  FuzzOptimizer(input);
  ExpectInvalidArgument(ParseRoundStrength(input).status());
  ExpectInvalidArgument(CheckDataSpec(input));
  ExpectInvalidArgument(CheckModelName(input));
}

}  // namespace paceline
