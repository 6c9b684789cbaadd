#include "tests/services/coordinator/sync/core/output_text.h"

#include <optional>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/core/decision.h"

namespace paceline {
namespace {

std::string Name(WorkerId worker) {
  return absl::StrCat("w", ToNumber(worker));
}

std::string ToText(const PushPlan& plan, double rate) {
  switch (plan.kind) {
    case PushPlan::Kind::kImmediate:
      return absl::StrCat(
          "to be applied at ", rate,
          plan.weight == 1 ? "" : absl::StrCat(", weight ", plan.weight));
    case PushPlan::Kind::kRound:
      return absl::StrCat("for round ", ToNumber(plan.round));
    case PushPlan::Kind::kAsk:
      return "to be asked for";
    case PushPlan::Kind::kDiscard:
      return "to be discarded";
  }
  return "";
}

std::string ToText(const SampleRange& range) {
  return absl::StrCat(range.epoch, ":[", range.begin, ", ", range.end, ")",
                      range.parts > 0 ? absl::StrCat("/", range.parts) : "");
}

std::string ToText(std::optional<double> momentum) {
  if (!momentum.has_value()) return "";
  return absl::StrCat(", momentum ", *momentum);
}

std::string ToText(const PlanCommand& plan) {
  return absl::StrCat("plan ", Name(plan.worker), " #", plan.iteration, " ",
                      ToText(plan.plan, plan.rate), ToText(plan.momentum));
}

std::string ToText(const ExtendCommand& extend) {
  return absl::StrCat("extend ", Name(extend.worker), " #", extend.iteration,
                      " by ", ToText(extend.range));
}

std::string ToText(const RefreshCommand& refresh) {
  return absl::StrCat("refresh ", Name(refresh.worker), " #",
                      refresh.iteration);
}

std::string ToText(const AbandonCommand& abandon) {
  return absl::StrCat("abandon ", Name(abandon.worker), " #",
                      abandon.iteration);
}

std::string ToText(const Switched& switched) {
  return absl::StrCat("switched from ", switched.from, " to ", switched.to,
                      " (", switched.reason, ") at version ", switched.version,
                      ", samples ", switched.samples);
}

std::string ToText(const SwitchSettled& settled) {
  return absl::StrCat("switch settled after ",
                      absl::FormatDuration(settled.took));
}

std::string ToText(const Grant& grant) {
  const std::string plan = ToText(grant.plan, grant.rate);
  std::string text = absl::StrCat(
      "grant ", Name(grant.worker), " #", grant.iteration, " ",
      ToText(grant.range), " ", plan, ", closing ", grant.closing, ", base ",
      grant.base_version, grant.reserved.empty() ? "" : ", reserved");
  for (const SampleRange& range : grant.reserved) {
    absl::StrAppend(&text, " ", ToText(range));
  }
  return absl::StrCat(text, ToText(grant.momentum));
}

std::string ToText(const DropReserved& drop) {
  return absl::StrCat("drop what is reserved for ", Name(drop.worker));
}

std::string ToText(const CloseCommand& close) {
  std::string text = absl::StrCat("close ", close.closing, ": round");
  for (const RoundId round : close.rounds) {
    absl::StrAppend(&text, " ", ToNumber(round));
  }
  return absl::StrCat(text, " at ", close.rate, ToText(close.momentum),
                      close.updates ? "" : ", no update");
}

std::string ToText(const SnapshotCommand& snapshot) {
  return absl::StrCat(snapshot.last ? "last snapshot " : "snapshot ",
                      snapshot.snapshot, ": version ", snapshot.version,
                      ", samples ", snapshot.samples, ", closing ",
                      snapshot.closing);
}

std::string ToText(const AnnounceCommand& announce) {
  return absl::StrCat("announce ", announce.closing, ": round ",
                      ToNumber(announce.round), " of ", announce.gradients,
                      " at ", announce.rate);
}

std::string ToText(const PushCounted& push) {
  return absl::StrCat("push ", Name(push.worker), ": ", push.samples,
                      " samples, gap ", push.gap, ", staleness ",
                      push.staleness, ", version ", push.version);
}

}  // namespace

std::string ToText(const Output& output) {
  return std::visit(
      Overloaded{[](const FenceCommand& o) {
                   return absl::StrCat("fence ", Name(o.worker));
                 },
                 [](const Evicted& o) {
                   return absl::StrCat("evict ", Name(o.worker), ": ",
                                       Render(o.reason));
                 },
                 [](const Recorded& o) {
                   return absl::StrCat(Name(o.decision.worker), ": ",
                                       Render(o.decision));
                 },
                 [](const Finished&) { return std::string("finished"); },
                 [](const auto& o) { return ToText(o); }},
      output);
}

}  // namespace paceline
