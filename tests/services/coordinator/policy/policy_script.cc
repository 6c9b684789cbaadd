#include "tests/services/coordinator/policy/policy_script.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/overloaded.h"
#include "services/coordinator/policy/decision.h"
#include "services/coordinator/policy/policy_spec.h"

namespace paceline {

using Phase = AdoptedWorker::Phase;

// An event by its name, with what its worker does before it and after it; what
// is not named may be anything and stays.
struct PolicyScript::Verb {
  absl::string_view name;
  std::optional<Phase> before;
  std::optional<Phase> after;
  Event (*make)(WorkerId);
};

const PolicyScript::Verb* PolicyScript::FindVerb(absl::string_view name) {
  static constexpr Verb kVerbs[] = {
      {"push", Phase::kComputing, Phase::kWaiting,
       [](WorkerId worker) -> Event { return PushDone{worker}; }},
      {"join", std::nullopt, Phase::kWaiting,
       [](WorkerId worker) -> Event { return Joined{worker}; }},
      {"leave", std::nullopt, std::nullopt,
       [](WorkerId worker) -> Event { return Left{worker}; }},
      {"idle", Phase::kComputing, Phase::kIdle,
       [](WorkerId worker) -> Event { return Idle{worker}; }},
      {"resume", Phase::kIdle, Phase::kWaiting,
       [](WorkerId worker) -> Event { return Resumed{worker}; }},
      {"ready", Phase::kComputing, std::nullopt,
       [](WorkerId worker) -> Event { return GradientReady{worker}; }},
      {"abandoned", Phase::kComputing, Phase::kWaiting,
       [](WorkerId worker) -> Event { return Abandoned{worker}; }},
      {"flag", std::nullopt, std::nullopt,
       [](WorkerId worker) -> Event {
         return Flagged{worker, true};
       }},
      {"clear", std::nullopt, std::nullopt,
       [](WorkerId worker) -> Event {
         return Flagged{worker, false};
       }},
      {"tick", std::nullopt, std::nullopt,
       [](WorkerId) -> Event { return Tick{}; }},
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

std::optional<AdoptedWorker> ParseAdopted(absl::string_view word) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(word, absl::MaxSplits('=', 1));
  const std::optional<WorkerId> worker = ParseWorker(parts.first);
  if (!worker.has_value()) return std::nullopt;
  AdoptedWorker adopted{*worker};
  if (parts.second == "computing") {
    adopted.phase = Phase::kComputing;
  } else if (parts.second == "idle") {
    adopted.phase = Phase::kIdle;
  } else if (!parts.second.empty()) {
    return std::nullopt;
  }
  return adopted;
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
  return text;
}

std::string ToText(const Action& action) {
  return std::visit(
      Overloaded{[](const Release& a) { return ToText(a); },
                 [](const PlanPush& a) {
                   return absl::StrCat("plan ", Name(a.worker), ": ",
                                       ToText(a.plan));
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
  for (const absl::string_view line :
       absl::StrSplit(commands, '\n', absl::SkipWhitespace())) {
    if (absl::StartsWith(line, "#")) continue;
    const std::string error = Execute(line);
    if (!error.empty()) {
      absl::StrAppend(&output, "error: ", line, ": ", error, "\n");
    }
    for (const Action& action : actions_) {
      absl::StrAppend(&output, absl::FormatDuration(now_), " ", ToText(action),
                      "\n");
    }
    actions_.clear();
  }
  return output.empty() ? "nothing\n" : output;
}

std::string PolicyScript::Execute(absl::string_view line) {
  std::vector<absl::string_view> words =
      absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (words.size() > 2 && words[0] == "at") {
    const std::string error = SetTime(words[1]);
    if (!error.empty()) return error;
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.size() == 2 && words[0] == "policy") return MakePolicyOf(words[1]);
  if (policy_ == nullptr) return "no policy yet";
  if (words[0] == "adopt") return Adopt(words);
  if (words[0] == "counted" && words.size() == 3) {
    return absl::SimpleAtoi(words[1], &moment_.samples_counted) &&
                   absl::SimpleAtoi(words[2], &moment_.samples_total)
               ? ""
               : "no numbers";
  }
  if (words.size() == 1 && words[0] == "tick") return Apply("tick", "w0");
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
  moment_ = Moment();
  workers_.clear();
  return "";
}

std::string PolicyScript::Adopt(const std::vector<absl::string_view>& words) {
  std::vector<AdoptedWorker> workers;
  uint64_t round = 1;
  for (size_t i = 1; i < words.size(); ++i) {
    absl::string_view word = words[i];
    if (absl::ConsumePrefix(&word, "round=")) {
      if (!absl::SimpleAtoi(word, &round)) return "no round";
      continue;
    }
    const std::optional<AdoptedWorker> worker = ParseAdopted(word);
    if (!worker.has_value()) return "no worker";
    workers.push_back(*worker);
  }
  for (const AdoptedWorker& adopted : workers) {
    workers_[adopted.worker].phase = adopted.phase;
  }
  moment_.now = absl::UnixEpoch() + now_;
  policy_->Adopt(moment_, workers, RoundId{round}, actions_);
  NoteActions();
  return "";
}

std::string PolicyScript::Apply(absl::string_view verb,
                                absl::string_view name) {
  const std::optional<WorkerId> worker = ParseWorker(name);
  if (!worker.has_value()) return "no worker";
  const Verb* const known = FindVerb(verb);
  if (known == nullptr) return "no such event";
  Event event = known->make(*worker);
  if (!std::holds_alternative<Tick>(event)) {
    const std::string error = Note(*worker, *known, event);
    if (!error.empty()) return error;
  }
  moment_.now = absl::UnixEpoch() + now_;
  policy_->Apply(moment_, event, actions_);
  NoteActions();
  return "";
}

std::string PolicyScript::Note(WorkerId worker, const Verb& verb,
                               Event& event) {
  const auto it = workers_.find(worker);
  const bool joins = std::holds_alternative<Joined>(event);
  if ((it == workers_.end()) != joins) {
    return joins ? "is a member already" : "is no member";
  }
  if (verb.before.has_value() && it->second.phase != *verb.before) {
    return "does not fit what the worker does";
  }
  if (std::holds_alternative<Left>(event)) {
    workers_.erase(it);
    return "";
  }
  Worker& noted = workers_[worker];
  if (verb.after.has_value()) noted.phase = *verb.after;
  if (auto* const ready = std::get_if<GradientReady>(&event)) {
    ready->staleness = moment_.version - noted.base;
  }
  if (std::holds_alternative<PushDone>(event) &&
      noted.plan.kind == PushPlan::Kind::kImmediate) {
    ++moment_.version;
  }
  return "";
}

void PolicyScript::NoteActions() {
  for (const Action& action : actions_) {
    if (std::holds_alternative<CloseRounds>(action)) ++moment_.version;
    if (const auto* const plan = std::get_if<PlanPush>(&action)) {
      workers_[plan->worker].plan = plan->plan;
    }
    if (const auto* const release = std::get_if<Release>(&action)) {
      workers_[release->worker] = {.phase = Phase::kComputing,
                                   .plan = release->plan,
                                   .base = moment_.version};
    }
  }
}

}  // namespace paceline
