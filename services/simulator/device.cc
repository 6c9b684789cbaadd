#include "services/simulator/device.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/time/time.h"
#include "common/check.h"

namespace paceline {
namespace {

// The jitter as a distribution of whole times around `mean`.
DelaySpec DistributionOf(const Jitter& jitter, Nanos mean) {
  DelaySpec spec{.mean = absl::Nanoseconds(mean)};
  double deviation = jitter.spread;
  switch (jitter.kind) {
    case Jitter::Kind::kNone:
      break;
    case Jitter::Kind::kNormal:
      spec.kind = DelayKind::kNormal;
      break;
    case Jitter::Kind::kLognormal:
      spec.kind = DelayKind::kLognormal;
      deviation = std::sqrt(std::expm1(deviation * deviation));
      break;
    case Jitter::Kind::kExponential:
      spec.kind = DelayKind::kExponential;
      break;
  }
  spec.sd =
      absl::Nanoseconds(std::llround(static_cast<double>(mean) * deviation));
  return spec;
}

}  // namespace

Nanos Share(Nanos work, uint32_t samples, uint32_t of) {
  if (samples == of) return work;
  const absl::int128 share =
      (absl::int128(work) * samples + of / 2) / absl::int128(of);
  return std::max<Nanos>(1, static_cast<Nanos>(share));
}

Device::Device(const DeviceSpec* spec, uint32_t batch_size, uint64_t seed)
    : spec_(*spec),
      batch_size_(batch_size),
      distribution_(DistributionOf(spec->jitter, spec->iteration)),
      rng_(seed) {
  CHECK(batch_size > 0 && spec->iteration > 0);
  if (spec_.jitter.bursts.has_value()) {
    const Bursts& bursts = *spec_.jitter.bursts;
    CHECK(bursts.length > 0 && bursts.length < bursts.every);
    first_burst_ = bursts.first.has_value()
                       ? *bursts.first
                       : static_cast<Nanos>(
                             rng_.Below(static_cast<uint64_t>(bursts.every)));
  }
  if (spec_.recorded != nullptr) {
    CHECK(!spec_.recorded->empty());
    next_recorded_ = spec_.offset % spec_.recorded->size();
  }
}

Device::Iteration Device::Next(uint32_t samples) {
  Iteration iteration;
  const uint32_t before = std::exchange(before_, samples);
  if (spec_.recorded == nullptr && samples == batch_size_ &&
      before == batch_size_) {
    left_ = 0;
  }
  while (samples > 0) {
    if (left_ == 0) DrawBatch();
    const uint32_t part = std::min(left_, samples);
    iteration.work += Share(batch_.compute, part, batch_.samples);
    left_ -= part;
    samples -= part;
  }
  iteration.push = batch_.push;
  iteration.pull = batch_.pull;
  return iteration;
}

void Device::DrawBatch() {
  if (spec_.recorded == nullptr) {
    batch_ = {.compute = Draw(), .samples = batch_size_};
  } else {
    batch_ = (*spec_.recorded)[next_recorded_];
    next_recorded_ = (next_recorded_ + 1) % spec_.recorded->size();
  }
  left_ = batch_.samples;
}

Nanos Device::Draw() {
  if (spec_.jitter.kind == Jitter::Kind::kNone) return spec_.iteration;
  const absl::Duration drawn = SampleDelay(distribution_, rng_);
  // A normal value can be negative; a hundredth of the mean is the least.
  return std::max(
      {absl::ToInt64Nanoseconds(drawn), spec_.iteration / 100, Nanos{1}});
}

Nanos Device::Finish(Nanos begin, Nanos work,
                     int64_t costly_micro_batches) const {
  work += spec_.micro_batch * costly_micro_batches;
  if (!spec_.jitter.bursts.has_value()) return begin + work;
  const Bursts& bursts = *spec_.jitter.bursts;
  Nanos now = begin;
  while (true) {
    // Until when the speed stays as it is.
    bool slow = false;
    Nanos until = first_burst_;
    if (now >= first_burst_) {
      const Nanos since = (now - first_burst_) % bursts.every;
      slow = since < bursts.length;
      until = now - since + (slow ? bursts.length : bursts.every);
    }
    const double factor = slow ? bursts.factor : 1;
    const Nanos needed = std::llround(static_cast<double>(work) * factor);
    if (now + needed <= until) return now + needed;
    work -= std::llround(static_cast<double>(until - now) / factor);
    now = until;
    if (work <= 0) return now;
  }
}

}  // namespace paceline
