#include "services/worker/program/sample_lots.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/permutation.h"
#include "common/status.h"

namespace paceline {

absl::StatusOr<SampleLots::Notice> SampleLots::Step(
    const SampleRange& step, absl::Span<const SampleRange> reserved) {
  PACELINE_RETURN_IF_ERROR(Check(step));
  Notice notice;
  const SampleRange front = known_.empty() ? SampleRange{} : known_.front();
  const bool same_epoch = front.size() > 0 && front.epoch == step.epoch;
  if (same_epoch && front.begin == step.begin && step.end <= front.end) {
    known_.front().begin = step.end;
    if (known_.front().size() == 0) known_.pop_front();
  } else {
    // A step takes its samples from the front, so nothing may be before them.
    notice.drop = front.size() > 0;
    notice.lots.push_back(step);
    // Those of a step that came to nothing, and what is behind them stays.
    if (!same_epoch || front.begin != step.end) known_.clear();
    notice.lots.insert(notice.lots.end(), known_.begin(), known_.end());
  }
  PACELINE_ASSIGN_OR_RETURN(const Notice more, Reserve(reserved));
  notice.lots.insert(notice.lots.end(), more.lots.begin(), more.lots.end());
  return notice;
}

absl::StatusOr<SampleLots::Notice> SampleLots::Reserve(
    absl::Span<const SampleRange> reserved) {
  for (const SampleRange& range : reserved) {
    PACELINE_RETURN_IF_ERROR(Check(range));
  }
  for (const SampleRange& range : reserved) Append(range);
  return Notice{.drop = false, .lots = {reserved.begin(), reserved.end()}};
}

bool SampleLots::Drop() {
  const bool any = !known_.empty();
  known_.clear();
  return any;
}

absl::Status SampleLots::Check(const SampleRange& range) const {
  if (range.parts > samples_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an epoch of ", samples_, " samples has no ", range.parts, " parts"));
  }
  if (range.begin < range.end && range.end <= samples_) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("[", range.begin, ", ", range.end,
                   ") are no samples of an epoch, which has ", samples_));
}

void SampleLots::Append(const SampleRange& range) {
  if (!known_.empty() && known_.back().epoch == range.epoch &&
      known_.back().end == range.begin) {
    known_.back().end = range.end;
  } else {
    known_.push_back(range);
  }
}

absl::Span<const uint32_t> SampleLots::SamplesAt(const SampleRange& range) {
  Permutation* oldest = &permutations_[0];
  for (Permutation& permutation : permutations_) {
    if (permutation.epoch == range.epoch && permutation.parts == range.parts) {
      return absl::MakeConstSpan(permutation.order)
          .subspan(range.begin, range.size());
    }
    if (permutation.epoch < oldest->epoch) oldest = &permutation;
  }
  oldest->epoch = range.epoch;
  oldest->parts = range.parts;
  oldest->order = EpochPermutation(seed_, range.epoch, samples_, range.parts);
  return absl::MakeConstSpan(oldest->order).subspan(range.begin, range.size());
}

}  // namespace paceline
