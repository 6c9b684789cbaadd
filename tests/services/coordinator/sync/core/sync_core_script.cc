#include "tests/services/coordinator/sync/core/sync_core_script.h"

#include <array>
#include <cstdint>
#include <utility>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status.h"
#include "services/coordinator/sync/core/rate_schedule.h"
#include "tests/services/coordinator/sync/core/output_text.h"
#include "tests/services/coordinator/sync/core/script_files.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

// "w7", or "w7+64" of one that wants 64 samples reserved; "w7*8" of one that
// wants whole micro-batches of 8.
absl::StatusOr<NewMember> ParseNewMember(absl::string_view name) {
  using Parts = std::pair<absl::string_view, absl::string_view>;
  const Parts whole = absl::StrSplit(name, absl::MaxSplits('*', 1));
  const Parts parts = absl::StrSplit(whole.first, absl::MaxSplits('+', 1));
  absl::string_view worker = parts.first;
  uint32_t number = 0;
  SampleWishes wishes;
  const auto is_number = [](absl::string_view text, uint32_t& value) {
    return text.empty() || absl::SimpleAtoi(text, &value);
  };
  if (!absl::ConsumePrefix(&worker, "w") ||
      !absl::SimpleAtoi(worker, &number) ||
      !is_number(parts.second, wishes.lookahead) ||
      !is_number(whole.second, wishes.micro_batch)) {
    return Malformed(name);
  }
  return NewMember{WorkerId{number}, wishes};
}

bool IsOfThePolicy(const Output& output) {
  const auto* recorded = std::get_if<Recorded>(&output);
  return recorded != nullptr && recorded->decision.kind < DecisionKind::kLost;
}

}  // namespace

std::string SyncCoreScript::Run(absl::string_view commands) {
  std::string text;
  const auto execute = [&](Words words) {
    const absl::Status status = Execute(std::move(words));
    absl::StrAppend(&text, std::exchange(answer_, ""));
    for (const Output& output : std::exchange(outputs_, {})) {
      if (const auto* grant = std::get_if<Grant>(&output)) {
        grants_.insert_or_assign(grant->worker, *grant);
      }
      if (!IsOfThePolicy(output)) absl::StrAppend(&text, ToText(output), "\n");
    }
    return status;
  };
  ExecuteCommands(commands, execute, text);
  return text.empty() ? "nothing\n" : text;
}

absl::Status SyncCoreScript::Execute(Words words) {
  if (words.size() > 2 && words[0] == "at") {
    absl::Duration at;
    if (!absl::ParseDuration(std::string(words[1]), &at)) {
      return Malformed(words[1]);
    }
    now_ = absl::UnixEpoch() + at;
    words.erase(words.begin(), words.begin() + 2);
  }
  const absl::string_view verb = words.front();
  words.erase(words.begin());
  if (verb == "core") return MakeCore(words);
  if (core_ == nullptr) return absl::InvalidArgumentError("no core yet");
  if (verb == "start") return Start(words);
  const auto named = ParseNewMember(words.empty() ? "" : words.front());
  if (!named.ok()) return Order(verb, words);
  const WorkerId worker = named->worker;
  words.erase(words.begin());
  if (verb == "push") return Push(worker, words);
  if (verb == "leave") return Leave(worker, words);
  if (verb == "fenced") return Fenced(worker, words);
  if (verb == "ready") {
    return core_->GradientReady(now_, worker, grants_[worker].iteration,
                                outputs_);
  }
  if (verb == "abandoned") {
    return core_->Abandoned(now_, worker, grants_[worker].iteration, outputs_);
  }
  if (verb != "join" && verb != "heard") return Malformed(verb);
  if (verb == "join") core_->Join(now_, *named, outputs_);
  if (verb == "heard") core_->Heard(now_, worker);
  return absl::OkStatus();
}

absl::Status SyncCoreScript::Order(absl::string_view verb, const Words& words) {
  const absl::string_view word = words.empty() ? "" : words.front();
  if (verb == "seal") {
    core_->Seal(now_, outputs_);
  } else if (verb == "tick") {
    core_->Tick(now_, outputs_);
  } else if (verb == "point") {
    answer_ = TakePoint();
  } else if (verb == "switch" || verb == "switch-with-closing") {
    PACELINE_ASSIGN_OR_RETURN(auto policy, MakePolicy(word));
    core_->Switch(now_,
                  {.policy = std::move(policy),
                   .reason = "a test",
                   .with_closing = verb != "switch"},
                  outputs_);
  } else if (int64_t most = 0;
             verb == "limit" && absl::SimpleAtoi(word, &most)) {
    core_->SetMaxSamples(now_, most, outputs_);
  } else if (double rate = 0; verb == "rate" && absl::SimpleAtod(word, &rate)) {
    core_->SetSchedule(RateSchedule(rate));
  } else if (verb == "batching") {
    core_->SetBatching(
        now_, word == "balanced" ? Batching::kBalanced : Batching::kEven,
        outputs_);
  } else {
    return Malformed(verb);
  }
  return absl::OkStatus();
}

std::string SyncCoreScript::TakePoint() {
  const ResumePoint point = core_->TakeResumePoint();
  std::string text = absl::StrCat(
      "point ", point.snapshot, ": version ", point.version, ", ",
      point.samples, " samples, ", point.exact ? "exact, " : "", "next ",
      point.position.next_epoch, ":", point.position.next_begin);
  for (const SampleRange& open : point.position.open) {
    absl::StrAppend(&text, ", open ", open.epoch, ":[", open.begin, ", ",
                    open.end, ")");
  }
  return absl::StrCat(text, "; ", core_->samples_counted(), " of ",
                      core_->samples_total(), " counted\n");
}

absl::Status SyncCoreScript::MakeCore(const Words& words) {
  if (words.empty()) return Malformed("core");
  PACELINE_ASSIGN_OR_RETURN(auto policy, MakePolicy(words.front()));
  Words rest(words.begin() + 1, words.end());
  double rate = 0;
  if (!absl::SimpleAtod(Take("rate", "0.1", rest), &rate)) {
    return Malformed("rate");
  }
  PACELINE_ASSIGN_OR_RETURN(const RateSpec schedule,
                            ParseRateSpec(Take("schedule", "constant", rest)));
  SyncOptions options;
  double momentum = 0;
  if (!absl::SimpleAtod(Take("momentum", "0", rest), &momentum)) {
    return Malformed("momentum");
  }
  if (momentum > 0) options.total_momentum = momentum;
  if (!absl::ParseDuration(std::string(Take("lease", "10s", rest)),
                           &options.lease)) {
    return Malformed("lease");
  }
  const absl::string_view assignment = Take("assignment", "dynamic", rest);
  int64_t samples = 96, epochs = 1, batch = 32, micro = 0, servers = 1;
  int64_t next_epoch = 0, next_begin = 0, epoch = 0, begin = 0, end = 0;
  PACELINE_RETURN_IF_ERROR(
      ReadNumbers(rest, {{"samples", {&samples}},
                         {"epochs", {&epochs}},
                         {"batch", {&batch}},
                         {"micro", {&micro}},
                         {"servers", {&servers}},
                         {"eval", {&options.eval_every}},
                         {"max", {&options.max_samples}},
                         {"version", {&options.start_version}},
                         {"from", {&next_epoch, &next_begin}},
                         {"open", {&epoch, &begin, &end}}}));
  PACELINE_ASSIGN_OR_RETURN(options.data_assignment,
                            ParseDataAssignment(assignment));
  options.start.next_epoch = static_cast<uint32_t>(next_epoch);
  options.start.next_begin = static_cast<uint32_t>(next_begin);
  if (end > begin) {
    options.start.open = {{static_cast<uint32_t>(epoch),
                           static_cast<uint32_t>(begin),
                           static_cast<uint32_t>(end)}};
  }
  options.train_samples = static_cast<uint32_t>(samples);
  options.epochs = static_cast<uint32_t>(epochs);
  options.batch_size = static_cast<uint32_t>(batch);
  options.micro_batch = static_cast<uint32_t>(micro);
  options.servers = static_cast<int>(servers);
  options.schedule = RateSchedule(rate, schedule, samples * epochs, batch);
  core_ = std::make_unique<SyncCore>(options, std::move(policy));
  now_ = absl::UnixEpoch();
  return absl::OkStatus();
}

absl::Status SyncCoreScript::Start(const Words& words) {
  std::vector<NewMember> workers;
  for (const absl::string_view word : words) {
    PACELINE_ASSIGN_OR_RETURN(const NewMember worker, ParseNewMember(word));
    workers.push_back(worker);
  }
  core_->Start(now_, workers, outputs_);
  return absl::OkStatus();
}

absl::Status SyncCoreScript::Push(WorkerId worker, const Words& words) {
  const Grant& grant = grants_[worker];
  int64_t iteration = grant.iteration, samples = grant.range.size();
  int64_t refused = 0, blocks = 0, discarded = 0;
  PACELINE_RETURN_IF_ERROR(ReadNumbers(words, {{"iteration", {&iteration}},
                                               {"samples", {&samples}},
                                               {"refused", {&refused, &blocks}},
                                               {"discarded", {&discarded}}}));
  PushReport report;
  report.iteration = iteration;
  report.samples = static_cast<uint32_t>(samples);
  report.blocks = static_cast<uint32_t>(blocks);
  report.blocks_refused = static_cast<uint32_t>(refused);
  report.discarded = discarded != 0;
  const absl::Status status = core_->PushDone(now_, worker, report, outputs_);
  if (!status.ok()) {
    answer_ = absl::StrCat(absl::StatusCodeToString(status.code()), "\n");
  }
  return absl::OkStatus();
}

absl::Status SyncCoreScript::Leave(WorkerId worker, const Words& words) {
  constexpr std::array<absl::string_view, 4> kReasons = {"stream", "lease",
                                                         "stuck", "departed"};
  for (size_t i = 0; i < kReasons.size() && words.size() == 1; ++i) {
    if (words[0] != kReasons[i]) continue;
    core_->Leave(now_, worker, static_cast<LossReason>(i), outputs_);
    return absl::OkStatus();
  }
  return Malformed("leave");
}

absl::Status SyncCoreScript::Fenced(WorkerId worker, const Words& words) {
  int64_t server = 0, iteration = 0, taken = 0, blocks = 0, samples = 0;
  PACELINE_RETURN_IF_ERROR(ReadNumbers(words, {{"server", {&server}},
                                               {"iteration", {&iteration}},
                                               {"taken", {&taken, &blocks}},
                                               {"samples", {&samples}}}));
  core_->FenceAnswered(
      now_, worker,
      {static_cast<int>(server), iteration, static_cast<uint32_t>(taken),
       static_cast<uint32_t>(blocks), static_cast<uint32_t>(samples)},
      outputs_);
  return absl::OkStatus();
}

}  // namespace paceline
