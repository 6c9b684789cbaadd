#include "tests/services/coordinator/run/course/course_script.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/overloaded.h"
#include "common/status.h"
#include "tests/services/coordinator/sync/core/output_text.h"

namespace paceline {
namespace {

WorkerModel ModelOf(int64_t samples, int64_t elements) {
  return {{{"dense.weight", {elements}, elements},
           {"norm.mean", {4}, 4, TensorKind::kStatistic}},
          static_cast<uint32_t>(samples)};
}

absl::StatusOr<absl::Duration> ParseTime(absl::string_view text) {
  absl::Duration time;
  if (!absl::ParseDuration(std::string(text), &time)) return Malformed(text);
  return time;
}

// An error of that code; INVALID_ARGUMENT if there is none.
absl::Status ErrorOf(absl::string_view code) {
  for (int i = 1; i <= 16; ++i) {
    const auto known = static_cast<absl::StatusCode>(i);
    if (absl::StatusCodeToString(known) == code) return {known, "a test"};
  }
  return Malformed(code);
}

std::string TextOf(const CheckpointWriting::Order& order) {
  return absl::StrCat(order.id, ": ", order.point.exact ? "exact, " : "",
                      order.point.samples, " samples, version ",
                      order.point.version, ", after ", order.seconds, "s");
}

std::string TextOf(const NumberedCommand& command) {
  return std::visit(
      Overloaded{
          [](const HostBlocks&) { return std::string("host the blocks"); },
          [](const CloseCommand& o) { return ToText(Output(o)); },
          [](const FenceIncarnation& o) {
            return absl::StrCat("fence incarnation ", o.incarnation);
          },
          [](const SnapshotCommand& o) {
            return absl::StrCat("keep snapshot ", o.snapshot);
          },
          [](const ReleaseSnapshot& o) {
            return absl::StrCat("release snapshot ", o.snapshot);
          },
          [](const WriteBlocks& o) {
            return absl::StrCat("write to ", o.directory);
          }},
      command.command);
}

std::string TextOf(const TrainingStarted& started) {
  return absl::StrCat("training of ", started.parameters, " parameters on ",
                      started.train_samples, " samples by ", started.workers);
}

std::string TextOf(const AccuracyPoint& point) {
  std::vector<std::string> measured;
  for (const absl::string_view name : {kAccuracyMetric, kLossMetric}) {
    const std::optional<double> value = MetricOf(point, name);
    if (value.has_value()) measured.push_back(absl::StrCat(name, " ", *value));
  }
  for (const auto& [name, value] : point.metrics) {
    measured.push_back(absl::StrCat(name, " ", value));
  }
  return absl::StrCat(absl::StrJoin(measured, ", "), " at ", point.seconds,
                      "s, version ", point.version);
}

std::string TextOf(const CheckpointChanged& changed) {
  using State = CheckpointChanged::State;
  if (changed.state == State::kWriting) {
    return absl::StrCat("checkpoint ", TextOf(changed.order));
  }
  return absl::StrCat(
      "checkpoint ", changed.order.id,
      changed.state == State::kReady
          ? absl::StrCat(" is ready at version ",
                         changed.order.version_at_completion)
          : absl::StrCat(" failed: ", changed.failure.ToString()));
}

std::string TextOf(const SavingDelayed& delayed) {
  return absl::StrCat(
      "not saved: ", delayed.why.ToString(), "; ", delayed.tries, " tries, ",
      delayed.next > absl::ZeroDuration()
          ? absl::StrCat("the next in ", absl::FormatDuration(delayed.next))
          : "one in hand");
}

std::string TextOf(const RunOutcome& outcome) {
  return absl::StrCat(
      "ended: ", outcome.status.ToString(), outcome.paused ? ", paused" : "",
      outcome.out_of_workers ? ", out of workers" : "",
      outcome.out_of_servers ? ", out of servers" : "",
      outcome.left_unsaved ? ", left unsaved" : "",
      outcome.weights_lost ? ", weights lost" : "",
      outcome.unrestored ? ", unrestored" : "",
      outcome.checkpoint.empty() ? "" : ", saved as ", outcome.checkpoint,
      outcome.warning.empty() ? "" : ", warning: ", outcome.warning);
}

std::string TextOf(const AdmitParameters& o) {
  return absl::StrCat("admit ", o.bytes, " bytes?");
}

std::string TextOf(const RemoveCheckpointFiles& o) {
  return absl::StrCat("remove ", o.directory);
}

std::string TextOf(const ResendCommands& o) {
  return absl::StrCat("shard ", o.shard, " gets ", o.commands.size(),
                      " commands again");
}

std::string TextOf(const HostBackup& o) {
  return absl::StrCat("s", o.server, " hosts a backup of shard ", o.shard,
                      ", epoch ", o.epoch);
}

std::string TextOf(const SetBackup& o) {
  return absl::StrCat("s", o.server, " fills ",
                      o.backup ? absl::StrCat("s", *o.backup) : "nobody",
                      " with shard ", o.shard, ", epoch ", o.epoch,
                      o.hold ? ", holds" : "");
}

std::string TextOf(const PromoteBackup& o) {
  return absl::StrCat("s", o.server, " is promoted for shard ", o.shard,
                      ", epoch ", o.epoch, o.hold ? ", holds" : "");
}

std::string TextOf(const HostRebuilt& o) {
  return absl::StrCat("s", o.server, " begins shard ", o.shard, ", epoch ",
                      o.epoch, ", anew after command ", o.sequence,
                      ", closing ", o.closing, ", snapshot ", o.snapshot,
                      o.restore_from.empty() ? "" : " from ", o.restore_from);
}

std::string TextOf(const FillFromCopy& o) {
  return absl::StrCat("w", ToNumber(o.worker), " fills shard ", o.shard,
                      " at s", o.server, ", epoch ", o.epoch);
}

std::string TextOf(const DropShard& o) {
  return absl::StrCat("s", o.server, " drops shard ", o.shard);
}

std::string TextOf(const ShardMoved& o) {
  return absl::StrCat("shard ", o.shard, " has moved to s", o.server,
                      ", epoch ", o.epoch);
}

}  // namespace

std::string CourseScript::Run(absl::string_view commands) {
  text_.clear();
  ExecuteCommands(
      commands,
      [this](Words words) {
        const absl::Status status = Execute(std::move(words));
        return status.ok() && !checker_.violation().empty()
                   ? absl::InternalError(checker_.violation())
                   : status;
      },
      text_);
  return text_.empty() ? "nothing\n" : text_;
}

absl::Status CourseScript::Execute(Words words) {
  const absl::string_view verb = words.front();
  words.erase(words.begin());
  assembling_ = verb == "train";
  if (verb == "run") return MakeRun(std::move(words));
  if (!course_.has_value()) return absl::InvalidArgumentError("no run yet");
  const std::vector<WorkerId> members = TakeMembers(words);
  if (verb == "wait") return Wait(words, members);
  if (verb == "work") {
    Work(members, words);
    return absl::OkStatus();
  }
  if (members.empty()) return Order(verb, words);
  if (assembling_) PACELINE_RETURN_IF_ERROR(Order("opened", {}));
  for (const WorkerId worker : members) {
    if (verb != "train" && verb != "enter") {
      PACELINE_RETURN_IF_ERROR(Say(verb, worker, words));
      continue;
    }
    PACELINE_RETURN_IF_ERROR(Say("come", worker, {}));
    PACELINE_RETURN_IF_ERROR(Say("ready", worker, words));
  }
  if (verb != "train" || options_.restored) return absl::OkStatus();
  return Say("initialized", members.front(), {});
}

absl::Status CourseScript::Order(absl::string_view verb, const Words& words) {
  if (verb == "server") return SetServer(words);
  if (verb == "update") {
    PACELINE_RETURN_IF_ERROR(Set(words));
    return Give(UpdateRun{settings_});
  }
  if (verb == "cancel") {
    return Give(CancelRun{absl::CancelledError("by an admin")});
  }
  const absl::string_view word = words.empty() ? "" : words.front();
  if (verb == "opened") {
    FilesOpened in{absl::OkStatus(), start_};
    if (!words.empty()) in.status = ErrorOf(word);
    return Give(in);
  }
  if (verb == "evaluators") {
    evaluator_ = {.exists = word == "some"};
    if (word == "unfit")
      evaluator_.why_none = "e9 cannot take part: it has no evaluator";
    return absl::OkStatus();
  }
  if (verb == "switch") {
    PACELINE_ASSIGN_OR_RETURN(const ParadigmSpec spec, ParseParadigm(word));
    return Give(SwitchRun{spec, "a test"});
  }
  if (verb == "checkpoint") {
    return Give(WriteCheckpoint{std::string(word),
                                words.size() > 1 ? std::string(words[1]) : ""});
  }
  if (verb == "workers") {
    silent_workers_ = word == "silent";
    return absl::OkStatus();
  }
  if (verb == "coordinator") {
    slow_coordinator_ = word == "slow";
    while (!slow_coordinator_ && !held_back_.empty()) {
      PACELINE_RETURN_IF_ERROR(Give(held_back_.front()));
      held_back_.pop_front();
    }
    return absl::OkStatus();
  }
  if (verb == "resume") return Give(ResumeRun{});
  if (verb != "pause") return Malformed(verb);
  PACELINE_ASSIGN_OR_RETURN(const absl::Duration time, ParseTime(word));
  return Give(PauseRun{time});
}

absl::Status CourseScript::Say(absl::string_view verb, WorkerId worker,
                               Words words) {
  if (verb == "come") {
    return Give(MemberCame{worker, Name(worker), 100 + ToNumber(worker),
                           evaluators_[worker]});
  }
  if (verb == "ready") {
    int64_t samples = evaluators_[worker] ? 0 : 40, elements = 40;
    PACELINE_RETURN_IF_ERROR(ReadNumbers(
        words, {{"samples", {&samples}}, {"elements", {&elements}}}));
    return Give(MemberReady{worker, ModelOf(samples, elements)});
  }
  if (verb == "initialized") return Give(WeightsInitialized{worker});
  if (verb == "push") {
    const auto grant = grants_.extract(worker);
    if (grant.empty()) return Malformed(Name(worker));
    PushReport report;
    report.iteration = grant.mapped().iteration;
    report.samples = grant.mapped().range.size();
    report.discarded = std::erase(words, "discarded") > 0;
    double loss = 0;
    if (!absl::SimpleAtod(Take("loss", "0.5", words), &loss) ||
        !words.empty()) {
      return Malformed(verb);
    }
    report.loss = loss;
    return Give(WorkerPushed{worker, report});
  }
  if (verb == "evaluated") return SayEvaluated(worker, std::move(words));
  if (words.size() != 1) return Malformed(verb);
  MemberGone in{worker, LossReason::kFailed, absl::OkStatus()};
  if (verb == "failed") {
    in.why = ErrorOf(words[0]);
    return Give(in);
  }
  if (verb != "gone") return Malformed(verb);
  in.reason =
      words[0] == "stream" ? LossReason::kStreamBroken : LossReason::kDeparted;
  return Give(in);
}

absl::Status CourseScript::SayEvaluated(WorkerId worker, Words words) {
  MemberEvaluated in;
  in.worker = worker;
  if (std::erase(words, "failed") > 0) in.status = absl::NotFoundError("no");
  double accuracy = 0;
  double loss = 0;
  double perplexity = 0;
  if (!absl::SimpleAtod(Take("accuracy", "0.5", words), &accuracy) ||
      !absl::SimpleAtod(Take("loss", "0.5", words), &loss) ||
      !absl::SimpleAtod(Take("perplexity", "0", words), &perplexity)) {
    return Malformed("evaluated");
  }
  // A program that has a metric of its own has nothing else.
  if (perplexity > 0) {
    in.metrics["perplexity"] = perplexity;
  } else {
    in.accuracy = accuracy;
    in.loss = loss;
  }
  if (words.size() != 1 || !absl::SimpleAtoi(words[0], &in.snapshot)) {
    return Malformed("evaluated");
  }
  return Give(in);
}

absl::Status CourseScript::MakeRun(Words words) {
  if (words.empty()) return Malformed("run");
  options_ = CourseOptions();
  PACELINE_ASSIGN_OR_RETURN(options_.paradigm, ParseParadigm(words.front()));
  words.erase(words.begin());
  PACELINE_ASSIGN_OR_RETURN(options_.lease,
                            ParseTime(Take("lease", "10s", words)));
  const auto has = [&words](absl::string_view word) {
    return std::erase(words, word) > 0;
  };
  options_.run = 1;
  options_.batch_size = 10;
  options_.defer_evaluation = has("defer");
  if (has("root")) options_.checkpoint_root = "/checkpoints";
  if (has("fallback")) options_.checkpoint_fallbacks = {"/fallback"};
  quota_ = has("quota");
  const bool replicates = has("replicates");
  int64_t servers = 0, from = 0;
  if (!absl::SimpleAtoi(Take("servers", "2", words), &servers) ||
      !absl::SimpleAtoi(Take("replicas", "0", words), &options_.replicas) ||
      !absl::SimpleAtoi(Take("eval", "0", words), &options_.eval_every) ||
      !absl::SimpleAtod(Take("share", "0", words),
                        &options_.evaluation_share) ||
      !absl::SimpleAtoi(Take("from", "0", words), &from)) {
    return Malformed("run");
  }
  options_.evaluate = options_.eval_every > 0;
  options_.restored = from > 0;
  start_ = RunStart();
  if (options_.restored) {
    start_.version = 1;
    start_.position.next_begin = static_cast<uint32_t>(from);
    start_.seconds = 2;
    start_.tensors = ModelOf(40, 40).tensors;
  }
  settings_ = RunSettings();
  settings_.learning_rate = 0.1;
  settings_.workers_min = 2;
  settings_.stop.epochs = 1;
  PACELINE_RETURN_IF_ERROR(Set(std::move(words)));
  servers_.assign(static_cast<size_t>(servers), {});
  for (int64_t i = 0; i < servers; ++i) {
    options_.servers.push_back(
        {.name = absl::StrCat("s", i), .replicates = replicates});
  }
  carried_out_.clear();
  silent_workers_ = false;
  now_ = absl::UnixEpoch();
  evaluator_ = {.exists = true};
  evaluators_.clear();
  grants_.clear();
  slow_coordinator_ = false;
  held_back_.clear();
  course_.emplace(options_, settings_, now_);
  checker_ = RunChecker();
  checker_.Begin(40, start_, !options_.checkpoint_root.empty(),
                 /*limited=*/true);
  return absl::OkStatus();
}

absl::Status CourseScript::SetServer(const Words& words) {
  static const auto& healths =
      *new std::map<absl::string_view, Health>{{"sound", Health::kSound},
                                               {"hangs", Health::kHangs},
                                               {"slow", Health::kSlowDisk},
                                               {"full", Health::kFullDisk},
                                               {"refuses", Health::kNoRoom}};
  if (words.size() != 2) return Malformed("server");
  if (words[1] == "comes") return AddServer(words[0]);
  const auto name = absl::c_find_if(
      options_.servers,
      [&](const RunServer& server) { return server.name == words[0]; });
  if (name == options_.servers.end()) return Malformed(words[0]);
  const int index = static_cast<int>(name - options_.servers.begin());
  if (words[1] == "leaving") return Give(ServerLeaves{index});
  if (words[1] == "lost") {
    servers_[static_cast<size_t>(index)].health = Health::kGone;
    return Give(ServerLost{index, absl::UnavailableError("a server is gone")});
  }
  const auto health = healths.find(words[1]);
  if (health == healths.end()) return Malformed(words[1]);
  Server& server = servers_[static_cast<size_t>(index)];
  server.health = health->second;
  if (server.health == Health::kSound && server.unwritten.has_value()) {
    Write(index, *std::exchange(server.unwritten, std::nullopt));
    return Give(MemberHeard{});  // Of nobody: the answer goes after it.
  }
  return absl::OkStatus();
}

absl::Status CourseScript::AddServer(absl::string_view name) {
  options_.servers.push_back({.name = std::string(name), .replicates = true});
  servers_.emplace_back();
  return Give(ServerCame{options_.servers.back()});
}

absl::Status CourseScript::Wait(const Words& words,
                                const std::vector<WorkerId>& heard) {
  if (words.size() != 1) return Malformed("wait");
  PACELINE_ASSIGN_OR_RETURN(const absl::Duration time, ParseTime(words[0]));
  const absl::Time end = now_ + time;
  absl::Time beat = heard.empty() ? absl::InfiniteFuture() : now_;
  while (true) {
    const absl::Time next = std::min(beat, course_->NextDeadline());
    if (next > end) break;
    now_ = std::max(now_, next);
    if (next < beat) {
      PACELINE_RETURN_IF_ERROR(Give(TimePassed{}));
      continue;
    }
    for (const WorkerId worker : heard) Give(MemberHeard{worker}).IgnoreError();
    beat += absl::Seconds(1);
  }
  now_ = end;
  return absl::OkStatus();
}

void CourseScript::Work(const std::vector<WorkerId>& members, Words words) {
  std::map<WorkerId, int> pushes;
  int64_t left = 0;
  if (!absl::SimpleAtoi(Take("pushes", "1000000", words), &left)) return;
  working_ = true;
  for (bool some = true; some;) {
    some = false;
    for (const WorkerId worker : members) {
      if (left == 0 || !Say("push", worker, words).ok()) continue;
      some = true;
      --left;
      ++pushes[worker];
    }
  }
  working_ = false;
  for (const auto& [worker, count] : pushes) {
    absl::StrAppend(&text_, Name(worker), " has pushed ", count, "\n");
  }
}

absl::Status CourseScript::Set(Words words) {
  StopConditions& stop = settings_.stop;
  const absl::string_view interval = Take("interval", "", words);
  if (!interval.empty()) {
    PACELINE_ASSIGN_OR_RETURN(settings_.checkpoint_interval,
                              ParseTime(interval));
  }
  stop.at_target = std::erase(words, "at_target") > 0 || stop.at_target;
  const absl::string_view target = Take("target", "", words);
  if (!target.empty()) {
    PACELINE_ASSIGN_OR_RETURN(stop.target, ParseMetricTarget(target));
  }
  for (const auto& [key, number] :
       std::map<absl::string_view, double*>{{"rate", &settings_.learning_rate},
                                            {"seconds", &stop.seconds},
                                            {"accuracy", &stop.target_accuracy},
                                            {"loss", &stop.target_loss}}) {
    const absl::string_view value = Take(key, "", words);
    if (!value.empty() && !absl::SimpleAtod(value, number)) {
      return Malformed(value);
    }
  }
  auto min = static_cast<int64_t>(settings_.workers_min);
  PACELINE_RETURN_IF_ERROR(ReadNumbers(words, {{"min", {&min}},
                                               {"epochs", {&stop.epochs}},
                                               {"samples", {&stop.samples}}}));
  settings_.workers_min = static_cast<size_t>(min);
  return absl::OkStatus();
}

absl::Status CourseScript::Give(const RunInput& input) {
  answers_.push_back(input);
  while (!answers_.empty()) {
    const RunInput next = std::move(answers_.front());
    answers_.pop_front();
    std::vector<RunOutput> outputs;
    checker_.Given(ToNanos(now_), next);
    const absl::Status status = course_->Step(now_, next, outputs);
    if (!status.ok())
      absl::StrAppend(&text_, "refused: ", status.ToString(), "\n");
    for (const RunOutput& output : outputs) {
      checker_.Observe(output);
      const bool quiet = assembling_ && !std::holds_alternative<Grant>(output);
      const std::string line = quiet ? "" : TextOf(output);
      if (!line.empty()) absl::StrAppend(&text_, line, "\n");
      std::visit([this](const auto& what) { Answer(what); }, output);
    }
    // The script says itself what is refused.
    checker_.Stepped(ToNanos(now_), *course_, absl::OkStatus());
  }
  return absl::OkStatus();
}

void CourseScript::Answer(const AdmitParameters&) {
  answers_.push_back(ParametersAdmitted{
      quota_ ? absl::ResourceExhaustedError("the model is too large")
             : absl::OkStatus()});
}

void CourseScript::Answer(const AskForEvaluator&) {
  answers_.push_back(evaluator_);
}

void CourseScript::Answer(const CompleteCheckpoint& complete) {
  (slow_coordinator_ ? held_back_ : answers_)
      .push_back(ManifestWritten{complete.order.id, absl::OkStatus()});
}

void CourseScript::Answer(const RemoveCheckpointFiles& remove) {
  (slow_coordinator_ ? held_back_ : answers_)
      .push_back(FilesRemoved{remove.directory});
}

void CourseScript::Answer(const NumberedCommand& command) {
  const auto& shards = course_->shards().shards();
  for (size_t i = 0; i < shards.size(); ++i) {
    if (!shards[i].promoting) Perform(static_cast<int>(i), command);
  }
}

void CourseScript::Answer(const ResendCommands& resend) {
  for (const NumberedCommand& command : resend.commands) {
    Perform(resend.shard, command);
  }
}

void CourseScript::Perform(int shard, const NumberedCommand& command) {
  const int primary = course_->shards().shards()[shard].primary;
  Server& server = servers_[static_cast<size_t>(primary)];
  if (!Answers(primary)) return;
  carried_out_[shard] = command.sequence;
  CommandDone done;
  done.shard = shard;
  done.sequence = command.sequence;
  if (std::holds_alternative<FenceIncarnation>(command.command)) {
    done.fence = FenceAnswer{.server = done.shard, .blocks = 1};
  }
  if (server.health == Health::kNoRoom &&
      std::holds_alternative<SnapshotCommand>(command.command)) {
    done.status = absl::ResourceExhaustedError("no room");
  }
  answers_.push_back(done);
  const auto* const write = std::get_if<WriteBlocks>(&command.command);
  if (write == nullptr) return;
  if (server.health == Health::kSlowDisk) {
    server.unwritten = *write;
  } else {
    Write(done.shard, *write);
  }
}

void CourseScript::Answer(const HostBackup& host) {
  if (!Answers(host.server)) return;
  answers_.push_back(BackupReported{host.server, host.shard, host.epoch, {}});
}

void CourseScript::Answer(const SetBackup& set) {
  if (!set.backup.has_value() || !Answers(set.server)) return;
  answers_.push_back(BackupReported{set.server, set.shard, set.epoch, {}});
}

void CourseScript::Answer(const PromoteBackup& promote) {
  if (!Answers(promote.server)) return;
  answers_.push_back(BackupPromoted{promote.server, promote.shard,
                                    promote.epoch,
                                    carried_out_[promote.shard]});
}

void CourseScript::Answer(const HostRebuilt& rebuilt) {
  if (!Answers(rebuilt.server)) return;
  answers_.push_back(
      BackupReported{rebuilt.server, rebuilt.shard, rebuilt.epoch, {}});
}

void CourseScript::Answer(const FillFromCopy& fill) {
  if (silent_workers_) return;
  ShardFilled filled{fill.worker, fill.shard, fill.epoch};
  // It has pulled what its grant names.
  const auto grant = grants_.find(fill.worker);
  if (grant != grants_.end()) filled.base_version = grant->second.base_version;
  answers_.push_back(filled);
}

void CourseScript::Write(int server, const WriteBlocks& write) {
  ServerWrote wrote;
  wrote.shard = server;
  wrote.snapshot = write.snapshot;
  if (servers_[static_cast<size_t>(server)].health == Health::kFullDisk &&
      absl::StartsWith(write.directory, "/checkpoints/")) {
    wrote.status = absl::ResourceExhaustedError("the disk is full");
  }
  answers_.push_back(wrote);
}

std::vector<WorkerId> CourseScript::TakeMembers(Words& words) {
  std::vector<WorkerId> members;
  std::erase_if(words, [&](absl::string_view name) {
    uint32_t number = 0;
    if ((name[0] != 'w' && name[0] != 'e') ||
        !absl::SimpleAtoi(name.substr(1), &number)) {
      return false;
    }
    members.push_back(WorkerId{number});
    evaluators_[members.back()] = name[0] == 'e';
    return true;
  });
  return members;
}

std::string CourseScript::Name(WorkerId worker) const {
  if (worker == WorkerId{0}) return "job";
  const auto member = evaluators_.find(worker);
  const bool evaluates = member != evaluators_.end() && member->second;
  return absl::StrCat(evaluates ? "e" : "w", ToNumber(worker));
}

std::string CourseScript::TextOf(const RunOutput& output) const {
  return std::visit(
      Overloaded{
          [&](const Grant& o) { return working_ ? "" : ToText(Output(o)); },
          [&](const PushCounted& o) {
            return working_ ? "" : ToText(Output(o));
          },
          [&](const Recorded& o) {
            return o.decision.kind < DecisionKind::kLost
                       ? ""
                       : absl::StrCat(Name(o.decision.worker), ": ",
                                      Render(o.decision));
          },
          [&](const AssignMember& o) {
            return absl::StrCat("assign ", Name(o.worker));
          },
          [&](const BeginWork& o) {
            return absl::StrCat(Name(o.worker), " begins",
                                o.initialize ? ", writes the weights" : "");
          },
          [&](const EvaluateSnapshot& o) {
            return absl::StrCat(Name(o.worker), " evaluates ", o.snapshot,
                                o.subset ? " on a subset" : "");
          },
          [&](const MemberLetGo& o) {
            return absl::StrCat("let go ", Name(o.worker), ": ",
                                o.status.ToString());
          },
          [&](const NumberedCommand& o) {
            const bool close = std::holds_alternative<CloseCommand>(o.command);
            return working_ && close ? "" : paceline::TextOf(o);
          },
          [&](const WorkerJoined& o) {
            return absl::StrCat(Name(o.worker), " joins");
          },
          [](const SnapshotEvaluated& o) { return paceline::TextOf(o.point); },
          [](const SavingSucceeded&) { return std::string("saved at last"); },
          [](const Notice& o) {
            return absl::StrCat(o.whom, ": (", o.kind, ") ", o.text);
          },
          [](const Warning& o) { return absl::StrCat("warning: ", o.text); },
          [](const TrainingEnded&) { return std::string("training ended"); },
          [](const TrainingResumed&) { return std::string("trains on"); },
          [](const RunEnded& o) { return paceline::TextOf(o.outcome); },
          // Questions that are answered, and the regular report.
          [](const AskForEvaluator&) { return std::string(); },
          [](const CompleteCheckpoint&) { return std::string(); },
          [](const ProgressDue&) { return std::string(); },
          [](const auto& o) {
            if constexpr (requires { paceline::TextOf(o); }) {
              return paceline::TextOf(o);
            } else {
              return ToText(Output(o));
            }
          }},
      output);
}

}  // namespace paceline
