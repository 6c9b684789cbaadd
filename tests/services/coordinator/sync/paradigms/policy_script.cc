#include "tests/services/coordinator/sync/paradigms/policy_script.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/core/decision.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {

// Samples of a batch.
static constexpr uint32_t kBatch = 16;

using Phase = SyncView::Phase;

// An event by its name, with what its worker does before it; if that is not
// named it may be anything.
struct PolicyScript::Verb {
  absl::string_view name;
  std::optional<Phase> before;
  Event (*make)(WorkerId);
};

template <class Kind>
static Event Of(WorkerId worker) {
  return Kind{worker};
}

const PolicyScript::Verb* PolicyScript::FindVerb(absl::string_view name) {
  static constexpr Verb kVerbs[] = {
      {"push", Phase::kComputing, Of<PushDone>},
      {"discarded", Phase::kComputing,
       [](WorkerId worker) -> Event {
         return PushDone{worker, /*share=*/0, /*taken=*/false};
       }},
      {"part", Phase::kComputing,
       [](WorkerId worker) -> Event {
         return PushDone{worker, /*share=*/0.25};
       }},
      {"join", std::nullopt, Of<Joined>},
      {"leave", std::nullopt, Of<Left>},
      {"idle", Phase::kComputing, Of<Idle>},
      {"resume", Phase::kIdle, Of<Resumed>},
      {"ready", Phase::kComputing, Of<GradientReady>},
      {"abandoned", Phase::kComputing, Of<Abandoned>},
      {"flag", std::nullopt,
       [](WorkerId worker) -> Event {
         return Flagged{worker, true};
       }},
      {"clear", std::nullopt,
       [](WorkerId worker) -> Event {
         return Flagged{worker, false};
       }},
      {"tick", std::nullopt, [](WorkerId) -> Event { return Tick{}; }},
  };
  for (const Verb& verb : kVerbs) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

namespace {

std::string Name(WorkerId worker) {
  return absl::StrCat("w", ToNumber(worker));
}

std::optional<WorkerId> ParseWorker(absl::string_view name) {
  uint32_t number = 0;
  if (!absl::ConsumePrefix(&name, "w") || !absl::SimpleAtoi(name, &number)) {
    return std::nullopt;
  }
  return WorkerId{number};
}

std::optional<std::pair<WorkerId, Phase>> ParseAdopted(absl::string_view word) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(word, absl::MaxSplits('=', 1));
  const std::optional<WorkerId> worker = ParseWorker(parts.first);
  if (!worker.has_value()) return std::nullopt;
  if (parts.second.empty()) return std::pair(*worker, Phase::kWaiting);
  if (parts.second == "computing") return std::pair(*worker, Phase::kComputing);
  if (parts.second == "idle") return std::pair(*worker, Phase::kIdle);
  return std::nullopt;
}

std::string ToText(const PushPlan& plan) {
  std::string text;
  switch (plan.kind) {
    case PushPlan::Kind::kImmediate:
      text = "immediate";
      break;
    case PushPlan::Kind::kRound:
      text = absl::StrCat("round ", ToNumber(plan.round));
      break;
    case PushPlan::Kind::kAsk:
      return "ask";
    case PushPlan::Kind::kDiscard:
      return "discard";
  }
  if (plan.weight != 1) absl::StrAppend(&text, " weight ", plan.weight);
  if (plan.compensation != 0) {
    absl::StrAppend(&text, " compensated ", plan.compensation);
  }
  if (plan.compensation_memory.has_value()) {
    absl::StrAppend(&text, " by a mean square of ", *plan.compensation_memory);
  }
  if (plan.applied_after > 0) {
    absl::StrAppend(&text, " after version ", plan.applied_after);
  }
  return text;
}

std::string ToText(const Release& release) {
  std::string text = absl::StrCat("release ", Name(release.worker));
  if (release.plan.kind == PushPlan::Kind::kRound) {
    absl::StrAppend(&text, " into ", ToText(release.plan));
  } else if (release.plan != PushPlan::Immediate()) {
    absl::StrAppend(&text, ", ", ToText(release.plan));
  }
  if (release.pieces > 0) {
    absl::StrAppend(&text, " in ", release.pieces, " pieces");
  }
  if (release.samples > 0) {
    absl::StrAppend(&text, " with ", release.samples, " samples");
  }
  if (release.fills_wait) absl::StrAppend(&text, " to fill its wait");
  return text;
}

std::string ToText(const Action& action) {
  return std::visit(
      Overloaded{[](const Release& a) { return ToText(a); },
                 [](const PlanPush& a) {
                   return absl::StrCat("plan ", Name(a.worker), ": ",
                                       ToText(a.plan));
                 },
                 [](const Extend& a) {
                   return absl::StrCat("extend ", Name(a.worker), " by ",
                                       a.samples, ", or ", ToText(a.otherwise));
                 },
                 [](const Refresh& a) {
                   return absl::StrCat("refresh ", Name(a.worker));
                 },
                 [](const Abandon& a) {
                   return absl::StrCat("abandon ", Name(a.worker));
                 },
                 [](const CloseRounds& a) {
                   std::string text = "close round";
                   for (const RoundId round : a.rounds) {
                     absl::StrAppend(&text, " ", ToNumber(round));
                   }
                   return text;
                 },
                 [](const HandOver&) { return std::string("hand over"); },
                 [](const Report& a) {
                   return absl::StrCat(Name(a.decision.worker), ": ",
                                       Render(a.decision));
                 }},
      action);
}

}  // namespace

std::string PolicyScript::Run(absl::string_view commands) {
  std::string output;
  const auto execute = [&](const Words& words) {
    const std::string error = Execute(words);
    for (const Action& action : std::exchange(performed_, {})) {
      absl::StrAppend(&output, absl::FormatDuration(now_), " ", ToText(action),
                      "\n");
    }
    return error.empty() ? absl::OkStatus() : absl::InvalidArgumentError(error);
  };
  ExecuteCommands(commands, execute, output);
  return output.empty() ? "nothing\n" : output;
}

std::string PolicyScript::Execute(Words words) {
  if (words.size() > 2 && words[0] == "at") {
    const std::string error = SetTime(words[1]);
    if (!error.empty()) return error;
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.size() == 2 && words[0] == "policy") return MakePolicyOf(words[1]);
  if (policy_ == nullptr) return "no policy yet";
  if (words[0] == "adopt") return Adopt(words);
  if (words[0] == "counted" && words.size() == 3) {
    return absl::SimpleAtoi(words[1], &samples_counted_) &&
                   absl::SimpleAtoi(words[2], &samples_total_)
               ? ""
               : "no numbers";
  }
  if (words.size() == 1 && words[0] == "tick") return Apply("tick", "w0");
  if (words.size() == 3 && words[0] == "push" &&
      (words[2] == "discarded" || words[2] == "part")) {
    return Apply(words[2], words[1]);
  }
  if (words.size() == 4 && words[0] == "push" && words[2] == "loss") {
    double loss = 0;
    if (!absl::SimpleAtod(words[3], &loss)) return "no loss";
    loss_ = loss;
    return Apply(words[0], words[1]);
  }
  if (words.size() == 2) return Apply(words[0], words[1]);
  return "no such command";
}

std::string PolicyScript::SetTime(absl::string_view text) {
  absl::Duration at;
  if (!absl::ParseDuration(std::string(text), &at)) return "no time";
  if (at < now_) return "this is past";
  now_ = at;
  return "";
}

std::string PolicyScript::MakePolicyOf(absl::string_view spec) {
  auto policy = MakePolicy(spec);
  if (!policy.ok()) return std::string(policy.status().message());
  policy_ = *std::move(policy);
  now_ = absl::ZeroDuration();
  version_ = samples_counted_ = samples_total_ = 0;
  view_ = std::make_unique<SyncView>(0, kBatch);
  workers_.clear();
  return "";
}

std::string PolicyScript::Adopt(const Words& words) {
  SyncView::Paces paces;
  for (size_t i = 1; i < words.size(); ++i) {
    absl::string_view word = words[i];
    if (absl::ConsumePrefix(&word, "round=")) {
      uint64_t round = 0;
      if (!absl::SimpleAtoi(word, &round)) return "no round";
      view_->mutable_rounds().Name(RoundId{round - 1});
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(word, absl::MaxSplits('@', 1));
    const auto adopted = ParseAdopted(parts.first);
    if (!adopted.has_value()) return "no worker";
    const auto& [worker, phase] = *adopted;
    if (!parts.second.empty()) {
      absl::Duration busy;
      if (!absl::ParseDuration(std::string(parts.second), &busy)) {
        return "no time";
      }
      paces[worker] = {.seconds_each = absl::ToDoubleSeconds(busy) / kBatch,
                       .samples = kBatch};
    }
    view_->Add(worker);
    if (phase != Phase::kWaiting) view_->Release(worker);
    if (phase == Phase::kIdle) view_->Tell(Idle{worker});
  }
  view_->BeginTerm(std::move(paces));
  TakeOver();
  return "";
}

void PolicyScript::TakeOver() {
  SetProgress();
  std::vector<Action> actions;
  policy_->Adopt(*view_, actions);
  Perform(std::move(actions));
}

std::string PolicyScript::Apply(absl::string_view verb,
                                absl::string_view name) {
  const std::optional<WorkerId> worker = ParseWorker(name);
  if (!worker.has_value()) return "no worker";
  const Verb* const known = FindVerb(verb);
  if (known == nullptr) return "no such event";
  Event event = known->make(*worker);
  const std::optional<double> loss = std::exchange(loss_, std::nullopt);
  if (auto* const done = std::get_if<PushDone>(&event)) done->loss = loss;
  if (!std::holds_alternative<Tick>(event)) {
    const std::string error = Note(*worker, *known, event);
    if (!error.empty()) return error;
  }
  view_->Tell(event);
  SetProgress();
  std::vector<Action> actions;
  policy_->Apply(*view_, event, actions);
  Perform(std::move(actions));
  return "";
}

std::string PolicyScript::Note(WorkerId worker, const Verb& verb,
                               Event& event) {
  const bool joins = std::holds_alternative<Joined>(event);
  if (view_->Contains(worker) == joins) {
    return joins ? "is a member already" : "is no member";
  }
  if (verb.before.has_value() && view_->PhaseOf(worker) != *verb.before) {
    return "does not fit what the worker does";
  }
  Worker& noted = workers_[worker];
  RoundLedger& rounds = view_->mutable_rounds();
  const PushPlan plan = noted.plan;
  const bool in_round = noted.planned && plan.kind == PushPlan::Kind::kRound;
  if (auto* const ready = std::get_if<GradientReady>(&event)) {
    ready->staleness = version_ - noted.base;
    ready->samples = noted.samples;
  }
  if (const auto* const done = std::get_if<PushDone>(&event)) {
    if (plan.kind == PushPlan::Kind::kImmediate && done->taken) ++version_;
    if (in_round && done->taken) rounds.Pushed(plan.round, {});
    if (in_round && done->taken && rounds.OfEarlierTerm(plan.round)) {
      rounds.Drained(plan.round, ++version_);  // By the core.
    }
    if (in_round && !done->taken) rounds.Ended(plan.round);
    noted.planned = false;
  }
  const bool computes = !joins && view_->PhaseOf(worker) == Phase::kComputing;
  if (std::holds_alternative<Left>(event) && in_round && computes) {
    rounds.Lost(plan.round);
    rounds.Answered(plan.round, version_, /*taken=*/false, {});
  }
  return "";
}

void PolicyScript::Perform(std::vector<Action> actions) {
  RoundLedger& rounds = view_->mutable_rounds();
  const auto issue = [&](WorkerId worker, const PushPlan& plan) {
    workers_[worker].plan = plan;
    workers_[worker].planned = true;
    if (plan.kind != PushPlan::Kind::kRound) return;
    rounds.Name(plan.round);
    rounds.Issued(plan.round);
  };
  for (const Action& action : actions) {
    performed_.push_back(action);
    if (const auto* const close = std::get_if<CloseRounds>(&action)) {
      ++version_;
      for (const RoundId round : close->rounds) rounds.Drained(round, version_);
    }
    if (const auto* const plan = std::get_if<PlanPush>(&action)) {
      issue(plan->worker, plan->plan);
    }
    if (const auto* const extend = std::get_if<Extend>(&action)) {
      workers_[extend->worker].samples += extend->samples;
    }
    if (const auto* const release = std::get_if<Release>(&action)) {
      view_->Release(release->worker);
      view_->Begin(release->worker, release->plan);
      workers_[release->worker].base = version_;
      workers_[release->worker].samples = release->samples;
      issue(release->worker, release->plan);
    }
    if (std::holds_alternative<HandOver>(action)) {
      view_->BeginTerm({});
      for (const RoundId round : rounds.Undrained()) {
        rounds.Drained(round, version_ + 1);
      }
      TakeOver();
    }
  }
}

void PolicyScript::SetProgress() {
  view_->SetProgress(absl::UnixEpoch() + now_, version_, samples_counted_,
                     samples_total_);
}

}  // namespace paceline
