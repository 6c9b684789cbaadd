#include "services/coordinator/sync/core/decision.h"

#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/check.h"

namespace paceline {
namespace {

// The name and the sentence of a kind. Between braces stand the numbers of the
// decision: {a} is a number itself, {a push|pushes} is "1 push" or "2 pushes",
// {a ns} a duration and {a thousandths} a number of thousandths, as "1.50". A
// kind whose sentence depends on its numbers in other ways has none here:
// RenderOther() makes it.
struct Words {
  DecisionKind kind;
  absl::string_view name;
  absl::string_view sentence;
};

constexpr absl::string_view kOther;

using enum DecisionKind;

// In the order of the enum.
constexpr Words kWords[] = {
    {kWaitForRound, "wait_for_round",
     "waits for round {a}: {b member is|members are} still awaited"},
    {kFillsWait, "fills_wait",
     "computes {b sample|samples} of round {a} meanwhile: {c member is|members"
     " are} still awaited"},
    {kRedone, "redone",
     "is too late for round {b}: {c member that waits computes|members that"
     " wait compute} its {a sample|samples}"},
    {kRoundClosed, "round_closed",
     "round {a} is complete with {b push|pushes}"},
    {kWithinBound, "within_bound", "gap {a} is within the bound {b}: goes on"},
    {kWaitForSlowest, "wait_for_slowest",
     "gap {a} exceeds the bound {b}: waits for the slowest worker"},
    {kCaughtUp, "caught_up",
     "gap {a} is within the bound {b} again: waits no longer"},
    {kAllowanceGranted, "allowance_granted",
     "gap {a}: is granted {b iteration|iterations}, for the best to stop at is"
     " {c ns} from a push of the slowest worker"},
    {kAllowanceUsed, "allowance_used",
     "gap {a}: goes on by its allowance, {b} left"},
    {kAllowanceRefused, "allowance_refused",
     "gap {a}: waits, for no further iteration would end nearer to a push of"
     " the slowest worker"},
    {kColdStart, "cold_start",
     "gap {a}: waits, for its interval or that of the slowest worker is not"
     " known yet"},
    {kNotFastest, "not_fastest",
     "gap {a}: waits, for it is {b} behind the fastest worker"},
    {kSlowestPushed, "slowest_pushed",
     "gap {a}: waits no longer, for the slowest worker has pushed"},
    {kCapped, "capped", "gap {a} exceeds the upper bound {b}: waits"},

    {kLags, "lags", "lags: {a update|updates} behind, the bound is {b}"},
    {kLagsNoMore, "lags_no_more",
     "lags no longer: {a update|updates} behind, the bound is {b}"},
    {kRefreshed, "refreshed",
     "{a update|updates} behind, the bound is {b}: is told to push what it has"
     " and to pull anew"},
    {kWeighed, "weighed", kOther},
    {kTooStale, "too_stale",
     "staleness {a} exceeds {b}: its push is discarded"},

    {kGradientTaken, "gradient_taken",
     "its gradient of staleness {c} is number {a} of the {b} that its round"
     " takes"},
    {kSuperseded, "superseded",
     "round {a} has its {b gradient|gradients}: is told to drop its iteration"},
    {kTooLate, "too_late",
     "its gradient is ready too late: its round was full before"},
    {kWaitForClosing, "wait_for_closing",
     "waits until round {a} is closed: {b push is|pushes are} still awaited"},
    {kSampleWithin, "sample_within",
     "none of {c sampled worker|sampled workers} is more than {b} behind: goes"
     " on"},
    {kSampleBehind, "sample_behind", kOther},
    {kSampleCaughtUp, "sample_caught_up",
     "none of its {c sampled worker|sampled workers} is more than {b} behind"
     " any more: waits no longer"},

    {kQuota, "quota",
     "is to do {a iteration|iterations} until the next barrier, where the last"
     " is predicted {b ns} after the first"},
    {kColdQuota, "cold_quota",
     "is to do 1 iteration until the next barrier, for not all busy times are"
     " known yet"},
    {kQuotaUsed, "quota_used",
     "waits at the barrier: {a member is|members are} still awaited"},
    {kAskedForPart, "asked_for_part",
     "round {a} has a whole batch: is told to push what it has"},
    {kHandedOver, "handed_over", kOther},

    {kWaitForGroup, "wait_for_group",
     "waits for its group: {a member is|members are} still awaited"},
    {kWaitForMerge, "wait_for_merge", kOther},
    {kWaitForStaleGroup, "wait_for_stale_group",
     "its group is complete: waits for one that is {a update|updates} behind,"
     " the bound is {b}"},
    {kGroupsApplied, "groups_applied", kOther},
    {kFloats, "floats", "is late: after {a ns} its group goes on without it"},
    {kLatePush, "late_push", "its late push waits for the next update"},
    {kRegrouped, "regrouped", kOther},
    {kMovedToGroup, "moved_to_group", "moves to group {a}"},

    {kStraggler, "straggler",
     "is a straggler: {a thousandths} times the median's time a sample"},
    {kNoStraggler, "no_straggler",
     "is a straggler no longer: {a thousandths} times the median's time a"
     " sample"},
    {kLost, "lost", kOther},
    {kLostPushTaken, "lost_push_taken",
     "was lost, but its push of iteration {a} was taken whole and counts"},
    {kRangeReturned, "range_returned",
     "samples [{b}, {c}) of epoch {a} are dealt again"},
    {kPartialPush, "partial_push",
     "of its push of iteration {a} {b} of {c block was|blocks were} taken"},
    {kBlocksRefused, "blocks_refused",
     "of its push of iteration {a} {b} of {c block was|blocks were} refused as"
     " not finite"},
    {kPushDiscarded, "push_discarded", kOther},
    {kAbandoned, "abandoned", "dropped iteration {a}"},
    {kLotWithdrawn, "lot_withdrawn",
     "{a sample is|samples are} no longer reserved for it: they are needed"
     " elsewhere, or nowhere"},
    {kDealingStopped, "dealing_stopped",
     "nothing more is dealt after {a sample|samples}"},
    {kDealingResumed, "dealing_resumed",
     "samples are dealt again after {a sample|samples}"},
};

// All kinds in order, or the table does not compile.
constexpr auto kKinds = [] {
  std::array<DecisionKind, std::size(kWords)> kinds{};
  for (size_t i = 0; i < kinds.size(); ++i) {
    kinds[i] = kWords[i].kind;
    CHECK(kinds[i] == static_cast<DecisionKind>(i));
  }
  return kinds;
}();
static_assert(kKinds.back() == kDealingResumed);

// "1 push", "2 pushes".
std::string Count(int64_t n, absl::string_view one, absl::string_view many) {
  return absl::StrCat(n, " ", n == 1 ? one : many);
}

// What stands between two braces of a sentence.
std::string FillPlace(absl::string_view place, const Decision& d) {
  const char letter = place.front();
  const int64_t number = letter == 'a' ? d.a : letter == 'b' ? d.b : d.c;
  place.remove_prefix(1);
  if (place.empty()) return absl::StrCat(number);
  place.remove_prefix(1);
  if (place == "ns") return absl::FormatDuration(absl::Nanoseconds(number));
  if (place == "thousandths") {
    return absl::StrFormat("%.2f", static_cast<double>(number) * 1e-3);
  }
  const std::pair<absl::string_view, absl::string_view> nouns =
      absl::StrSplit(place, '|');
  return Count(number, nouns.first, nouns.second);
}

std::string Fill(absl::string_view sentence, const Decision& d) {
  std::string filled;
  // Plain text and places in turn.
  bool is_place = false;
  for (const absl::string_view part :
       absl::StrSplit(sentence, absl::ByAnyChar("{}"))) {
    absl::StrAppend(&filled, is_place ? FillPlace(part, d) : std::string(part));
    is_place = !is_place;
  }
  return filled;
}

std::string RenderHandOver(HandOverReason reason) {
  switch (reason) {
    case HandOverReason::kShareReached:
      return "the first paradigm has had its share: hands over to the second";
    case HandOverReason::kStraggler:
      return "there is a straggler: hands over to the second paradigm";
    case HandOverReason::kNoStraggler:
      return "there is no straggler any more: hands back to the first paradigm";
    case HandOverReason::kStragglersDropped:
      return "there are stragglers: rounds do without as many workers";
    case HandOverReason::kNobodyDropped:
      return "there is no straggler any more: rounds are of all workers again";
  }
  return "";
}

std::string RenderGroupsApplied(const Decision& d) {
  if (d.a == 0) return Fill("one update of {c late push|late pushes} alone", d);
  return absl::StrCat(
      Fill("one update of {a group|groups} with {b push|pushes} in time", d),
      d.c == 0 ? "" : absl::StrCat(" and ", d.c, " late"));
}

std::string RenderOther(const Decision& d) {
  switch (d.kind) {
    case kWeighed:
      return absl::StrFormat("staleness %d: its push counts %.3g", d.a,
                             static_cast<double>(d.b) * 1e-6);
    case kSampleBehind:
      return absl::StrCat(Fill("{a} of {c sampled worker|sampled workers}", d),
                          d.a == 1 ? " is" : " are",
                          Fill(" more than {b} behind: waits", d));
    case kHandedOver:
      return RenderHandOver(static_cast<HandOverReason>(d.a));
    case kWaitForMerge:
      return absl::StrCat(
          Fill("its group is complete: waits at most {b ns} to be merged", d),
          d.a == 0 ? " with others"
                   : Fill(" with {a other group|other groups}", d));
    case kGroupsApplied:
      return RenderGroupsApplied(d);
    case kRegrouped:
      return absl::StrCat(
          Fill("the workers are divided into {a group|groups}, predicted at ",
               d),
          absl::StrFormat("%.1f%%", static_cast<double>(d.b) * 0.1),
          Fill(" of the speed without any waiting, missing {c thousandths}"
               " batches a pull",
               d));
    case kPushDiscarded:
      return absl::StrCat(
          Fill("iteration {a} is discarded: its loss was not finite; ", d),
          d.b == 0 ? "its samples are dealt once more"
                   : Fill("as this is so for the second time {b sample is|"
                          "samples are} left out",
                          d));
    case kLost:
      return absl::StrCat("lost (", Render(static_cast<LossReason>(d.a)), ")",
                          d.b == 0 ? "" : Fill(" in iteration {b}", d));
    default:
      return "";
  }
}

}  // namespace

absl::string_view NameOf(DecisionKind kind) {
  return kWords[static_cast<size_t>(kind)].name;
}

absl::Span<const DecisionKind> DecisionKinds() { return kKinds; }

std::string Render(const Decision& decision) {
  const absl::string_view sentence =
      kWords[static_cast<size_t>(decision.kind)].sentence;
  return sentence.empty() ? RenderOther(decision) : Fill(sentence, decision);
}

std::string Render(LossReason reason) {
  switch (reason) {
    case LossReason::kStreamBroken:
      return "stream broken";
    case LossReason::kLeaseEnded:
      return "lease ended";
    case LossReason::kStuck:
      return "stuck";
    case LossReason::kDeparted:
      return "departed";
    case LossReason::kFailed:
      return "failed";
    case LossReason::kNotFinite:
      return "not finite";
  }
  return "";
}

}  // namespace paceline
