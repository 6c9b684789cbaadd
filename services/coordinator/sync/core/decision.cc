#include "services/coordinator/sync/core/decision.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace paceline {
namespace {

// "1 push", "2 pushes".
std::string Count(int64_t n, absl::string_view one, absl::string_view many) {
  return absl::StrCat(n, " ", n == 1 ? one : many);
}

// "round 3 closed with 4 pushes" and other sentences of the gates. Empty for
// the kinds of the other functions.
std::string RenderGate(const Decision& d) {
  const std::string gap = absl::StrCat("gap ", d.a);
  switch (d.kind) {
    case DecisionKind::kWaitForRound:
      return absl::StrCat("waits for round ", d.a, ": ",
                          Count(d.b, "member is", "members are"),
                          " still awaited");
    case DecisionKind::kRoundClosed:
      return absl::StrCat("round ", d.a, " is complete with ",
                          Count(d.b, "push", "pushes"));
    case DecisionKind::kWithinBound:
      return absl::StrCat(gap, " is within the bound ", d.b, ": goes on");
    case DecisionKind::kWaitForSlowest:
      return absl::StrCat(gap, " exceeds the bound ", d.b,
                          ": waits for the slowest worker");
    case DecisionKind::kCaughtUp:
      return absl::StrCat(gap, " is within the bound ", d.b,
                          " again: waits no longer");
    default:
      return "";
  }
}

std::string RenderDssp(const Decision& d) {
  const std::string gap = absl::StrCat("gap ", d.a);
  switch (d.kind) {
    case DecisionKind::kAllowanceGranted:
      return absl::StrCat(gap, ": is granted ",
                          Count(d.b, "iteration", "iterations"),
                          ", for the best to stop at is ",
                          absl::FormatDuration(absl::Nanoseconds(d.c)),
                          " from a push of the slowest worker");
    case DecisionKind::kAllowanceUsed:
      return absl::StrCat(gap, ": goes on by its allowance, ", d.b, " left");
    case DecisionKind::kAllowanceRefused:
      return absl::StrCat(gap, ": waits, for no further iteration would end",
                          " nearer to a push of the slowest worker");
    case DecisionKind::kColdStart:
      return absl::StrCat(gap, ": waits, for its interval or that of the",
                          " slowest worker is not known yet");
    case DecisionKind::kNotFastest:
      return absl::StrCat(gap, ": waits, for it is ", d.b,
                          " behind the fastest worker");
    case DecisionKind::kCapped:
      return absl::StrCat(gap, " exceeds the upper bound ", d.b, ": waits");
    default:
      return "";
  }
}

std::string RenderWeight(const Decision& d) {
  switch (d.kind) {
    case DecisionKind::kLags:
      return absl::StrCat("lags: ", Count(d.a, "update", "updates"),
                          " behind, the bound is ", d.b);
    case DecisionKind::kLagsNoMore:
      return absl::StrCat("lags no longer: ", Count(d.a, "update", "updates"),
                          " behind, the bound is ", d.b);
    case DecisionKind::kRefreshed:
      return absl::StrCat(Count(d.a, "update", "updates"),
                          " behind, the bound is ", d.b,
                          ": is told to push what it has and to pull anew");
    case DecisionKind::kWeighed:
      return absl::StrFormat("staleness %d: its push counts %.3g", d.a,
                             static_cast<double>(d.b) * 1e-6);
    case DecisionKind::kTooStale:
      return absl::StrCat("staleness ", d.a, " exceeds ", d.b,
                          ": its push is discarded");
    default:
      return "";
  }
}

std::string RenderFirstK(const Decision& d) {
  switch (d.kind) {
    case DecisionKind::kGradientTaken:
      return absl::StrCat("its gradient of staleness ", d.c, " is number ", d.a,
                          " of the ", d.b, " that its round takes");
    case DecisionKind::kSuperseded:
      return absl::StrCat("round ", d.a, " has its ",
                          Count(d.b, "gradient", "gradients"),
                          ": is told to drop its iteration");
    case DecisionKind::kTooLate:
      return "its gradient is discarded: its round was full before";
    case DecisionKind::kWaitForClosing:
      return absl::StrCat("waits until round ", d.a,
                          " is closed: ", Count(d.b, "push is", "pushes are"),
                          " still awaited");
    default:
      return "";
  }
}

std::string RenderPsp(const Decision& d) {
  const std::string sampled = Count(d.c, "sampled worker", "sampled workers");
  switch (d.kind) {
    case DecisionKind::kSampleWithin:
      return absl::StrCat("none of ", sampled, " is more than ", d.b,
                          " behind: goes on");
    case DecisionKind::kSampleBehind:
      return absl::StrCat(d.a, " of ", sampled, d.a == 1 ? " is" : " are",
                          " more than ", d.b, " behind: waits");
    case DecisionKind::kSampleCaughtUp:
      return absl::StrCat("none of its ", sampled, " is more than ", d.b,
                          " behind any more: waits no longer");
    default:
      return "";
  }
}

std::string RenderHandOver(HandOverReason reason) {
  switch (reason) {
    case HandOverReason::kShareReached:
      return "the first paradigm has had its share: hands over to the second";
    case HandOverReason::kStraggler:
      return "there is a straggler: hands over to the second paradigm";
    case HandOverReason::kNoStraggler:
      return "there is no straggler any more: hands back to the first paradigm";
  }
  return "";
}

// ElasticBSP, ABS-SGD, Sync-Switch.
std::string RenderBarrier(const Decision& d) {
  switch (d.kind) {
    case DecisionKind::kQuota:
      return absl::StrCat(
          "is to do ", Count(d.a, "iteration", "iterations"),
          " until the next barrier, where the last is predicted ",
          absl::FormatDuration(absl::Nanoseconds(d.b)), " after the first");
    case DecisionKind::kColdQuota:
      return "is to do 1 iteration until the next barrier, for not all busy"
             " times are known yet";
    case DecisionKind::kQuotaUsed:
      return absl::StrCat(
          "waits at the barrier: ", Count(d.a, "member is", "members are"),
          " still awaited");
    case DecisionKind::kAskedForPart:
      return absl::StrCat("round ", d.a,
                          " has a whole batch: is told to push what it has");
    case DecisionKind::kHandedOver:
      return RenderHandOver(static_cast<HandOverReason>(d.a));
    default:
      return "";
  }
}

std::string RenderCgp(const Decision& d) {
  switch (d.kind) {
    case DecisionKind::kWaitForGroup:
      return absl::StrCat(
          "waits for its group: ", Count(d.a, "member is", "members are"),
          " still awaited");
    case DecisionKind::kWaitForMerge:
      return absl::StrCat(
          "its group is complete: waits at most ",
          absl::FormatDuration(absl::Nanoseconds(d.b)), " to be merged with ",
          d.a == 0 ? "others" : Count(d.a, "other group", "other groups"));
    case DecisionKind::kWaitForStaleGroup:
      return absl::StrCat("its group is complete: waits for one that is ",
                          Count(d.a, "update", "updates"),
                          " behind, the bound is ", d.b);
    case DecisionKind::kGroupsApplied:
      if (d.a == 0) {
        return absl::StrCat("one update of ",
                            Count(d.c, "late push", "late pushes"), " alone");
      }
      return absl::StrCat("one update of ", Count(d.a, "group", "groups"),
                          " with ", Count(d.b, "push", "pushes"), " in time",
                          d.c == 0 ? "" : absl::StrCat(" and ", d.c, " late"));
    case DecisionKind::kFloats:
      return absl::StrCat("is late: after ",
                          absl::FormatDuration(absl::Nanoseconds(d.a)),
                          " its group goes on without it");
    case DecisionKind::kLatePush:
      return "its late push waits for the next update";
    case DecisionKind::kRegrouped:
      return absl::StrFormat(
          "the workers are divided into %d %s, predicted at %.1f%% of the"
          " speed without any waiting, missing %.2f batches a pull",
          d.a, d.a == 1 ? "group" : "groups", static_cast<double>(d.b) * 0.1,
          static_cast<double>(d.c) * 1e-3);
    case DecisionKind::kMovedToGroup:
      return absl::StrCat("moves to group ", d.a);
    default:
      return "";
  }
}

std::string RenderCore(const Decision& d) {
  switch (d.kind) {
    case DecisionKind::kStraggler:
      return absl::StrFormat(
          "is a straggler: %.2f times the median's time a sample",
          static_cast<double>(d.a) * 1e-3);
    case DecisionKind::kNoStraggler:
      return absl::StrFormat(
          "is a straggler no longer: %.2f times the median's time a sample",
          static_cast<double>(d.a) * 1e-3);
    case DecisionKind::kAbandoned:
      return absl::StrCat("dropped iteration ", d.a);
    case DecisionKind::kLost: {
      const auto reason = static_cast<LossReason>(d.a);
      return absl::StrCat(
          "lost (", Render(reason), ")",
          d.b == 0 ? std::string() : absl::StrCat(" in iteration ", d.b));
    }
    case DecisionKind::kLostPushTaken:
      return absl::StrCat("was lost, but its push of iteration ", d.a,
                          " was taken whole and counts");
    case DecisionKind::kRangeReturned:
      return absl::StrCat("samples [", d.b, ", ", d.c, ") of epoch ", d.a,
                          " are dealt again");
    case DecisionKind::kPartialPush:
      return absl::StrCat("of its push of iteration ", d.a, " ", d.b, " of ",
                          Count(d.c, "block was", "blocks were"), " taken");
    case DecisionKind::kBlocksRefused:
      return absl::StrCat("of its push of iteration ", d.a, " ", d.b, " of ",
                          Count(d.c, "block was", "blocks were"),
                          " refused as not finite");
    case DecisionKind::kPushDiscarded:
      return absl::StrCat("iteration ", d.a,
                          " is discarded: its loss was not finite");
    case DecisionKind::kDealingStopped:
      return absl::StrCat("nothing more is dealt after ",
                          Count(d.a, "sample", "samples"));
    default:
      return "";
  }
}

}  // namespace

std::string Render(const Decision& decision) {
  for (const auto render : {RenderGate, RenderDssp, RenderWeight, RenderFirstK,
                            RenderPsp, RenderBarrier, RenderCgp, RenderCore}) {
    std::string sentence = render(decision);
    if (!sentence.empty()) return sentence;
  }
  return "";
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
  }
  return "";
}

}  // namespace paceline
