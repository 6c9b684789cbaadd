#include "tests/services/coordinator/sync/core/sync_core_script.h"

#include <array>
#include <cstdint>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status.h"
#include "services/coordinator/sync/core/rate_schedule.h"
#include "tests/services/coordinator/sync/core/output_text.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

using Words = std::vector<absl::string_view>;

absl::Status Malformed(absl::string_view word) {
  return absl::InvalidArgumentError(absl::StrCat("what is \"", word, "\"?"));
}

absl::StatusOr<WorkerId> ParseWorker(absl::string_view name) {
  uint32_t number = 0;
  if (!absl::ConsumePrefix(&name, "w") || !absl::SimpleAtoi(name, &number)) {
    return Malformed(name);
  }
  return WorkerId{number};
}

// Reads "KEY=NUMBER" words into `targets` and "KEY=K/N" into two of them, and
// "KEY" alone as 1.
absl::Status ReadNumbers(
    const Words& words,
    const std::map<absl::string_view, std::vector<int64_t*>>& targets) {
  for (const absl::string_view word : words) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(word, absl::MaxSplits('=', 1));
    const auto target = targets.find(pair.first);
    if (target == targets.end()) return Malformed(word);
    const std::vector<absl::string_view> numbers =
        absl::StrSplit(pair.second.empty() ? "1" : pair.second, '/');
    if (numbers.size() != target->second.size()) return Malformed(word);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (!absl::SimpleAtoi(numbers[i], target->second[i])) {
        return Malformed(word);
      }
    }
  }
  return absl::OkStatus();
}

// Takes "KEY=VALUE" out of `words`.
absl::string_view Take(absl::string_view key, absl::string_view fallback,
                       Words& words) {
  for (auto it = words.begin(); it != words.end(); ++it) {
    absl::string_view value = *it;
    if (absl::ConsumePrefix(&value, key) && absl::ConsumePrefix(&value, "=")) {
      words.erase(it);
      return value;
    }
  }
  return fallback;
}

bool IsOfThePolicy(const Output& output) {
  const auto* recorded = std::get_if<Recorded>(&output);
  return recorded != nullptr && recorded->decision.kind < DecisionKind::kLost;
}

}  // namespace

std::string SyncCoreScript::Run(absl::string_view commands) {
  std::string text;
  for (const absl::string_view line :
       absl::StrSplit(commands, '\n', absl::SkipWhitespace())) {
    if (absl::StartsWith(line, "#")) continue;
    const absl::Status status =
        Execute(absl::StrSplit(line, ' ', absl::SkipEmpty()));
    if (!status.ok()) {
      absl::StrAppend(&text, "error: ", line, ": ", status.message(), "\n");
    }
    absl::StrAppend(&text, std::exchange(answer_, ""));
    for (const Output& output : outputs_) {
      if (const auto* grant = std::get_if<Grant>(&output)) {
        grants_.insert_or_assign(grant->worker, *grant);
      }
      if (!IsOfThePolicy(output)) absl::StrAppend(&text, ToText(output), "\n");
    }
    outputs_.clear();
  }
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
  if (verb == "seal") core_->Seal(now_, outputs_);
  if (verb == "tick") core_->Tick(now_, outputs_);
  if (verb == "seal" || verb == "tick") return absl::OkStatus();
  if (words.empty()) return Malformed(verb);
  PACELINE_ASSIGN_OR_RETURN(const WorkerId worker, ParseWorker(words.front()));
  words.erase(words.begin());
  if (verb == "push") return Push(worker, words);
  if (verb == "leave") return Leave(worker, words);
  if (verb == "fenced") return Fenced(worker, words);
  if (verb != "join" && verb != "heard") return Malformed(verb);
  if (verb == "join") core_->Join(now_, worker, outputs_);
  if (verb == "heard") core_->Heard(now_, worker);
  return absl::OkStatus();
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
  if (!absl::ParseDuration(std::string(Take("lease", "10s", rest)),
                           &options.lease)) {
    return Malformed("lease");
  }
  int64_t samples = 96, epochs = 1, batch = 32, servers = 1;
  PACELINE_RETURN_IF_ERROR(
      ReadNumbers(rest, {{"samples", {&samples}},
                         {"epochs", {&epochs}},
                         {"batch", {&batch}},
                         {"servers", {&servers}},
                         {"eval", {&options.eval_every}}}));
  options.train_samples = static_cast<uint32_t>(samples);
  options.epochs = static_cast<uint32_t>(epochs);
  options.batch_size = static_cast<uint32_t>(batch);
  options.servers = static_cast<int>(servers);
  options.schedule = RateSchedule(rate, schedule, samples * epochs);
  core_ = std::make_unique<SyncCore>(options, std::move(policy));
  now_ = absl::UnixEpoch();
  return absl::OkStatus();
}

absl::Status SyncCoreScript::Start(const Words& words) {
  std::vector<WorkerId> workers;
  for (const absl::string_view word : words) {
    PACELINE_ASSIGN_OR_RETURN(const WorkerId worker, ParseWorker(word));
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
