#include "tests/services/coordinator/fleet/assignment_script.h"

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status.h"

namespace paceline {
namespace {

std::vector<std::string> Names(absl::string_view text) {
  return absl::StrSplit(text, '|', absl::SkipEmpty());
}

// Calls `set` with the value of that word, if there is one.
template <class Set>
void IfTaken(absl::string_view key, Words& words, Set set) {
  const absl::string_view value = Take(key, "-", words);
  if (value != "-") set(value);
}

}  // namespace

std::string AssignmentScript::Run(absl::string_view commands) {
  text_.clear();
  ExecuteCommands(
      commands, [this](Words words) { return Execute(std::move(words)); },
      text_);
  return text_.empty() ? "nothing\n" : text_;
}

absl::Status AssignmentScript::Execute(Words words) {
  const absl::string_view verb = words.front();
  words.erase(words.begin());
  if (verb == "cluster") {
    cluster_ = SmallCluster();
    return absl::SimpleAtoi(Take("quota", "0", words),
                            &cluster_.limits.workers_per_namespace)
               ? absl::OkStatus()
               : Malformed(verb);
  }
  if (verb == "job") {
    return SetJob(cluster_.AddJob(/*min=*/1), std::move(words));
  }
  if (verb == "leave") cluster_.AllLeave();
  if (verb == "step") Show(cluster_.Step());
  if (verb == "settle") {
    cluster_.Settle();
    Show(cluster_.Layout());
  }
  if (words.empty()) return absl::OkStatus();
  if (absl::Duration time;
      verb == "wait" && absl::ParseDuration(std::string(words[0]), &time)) {
    cluster_.now += time;
    return absl::OkStatus();
  }
  int number = 0;
  if (!absl::SimpleAtoi(words[0], &number)) return Malformed(words[0]);
  words.erase(words.begin());
  if (verb == "workers") return AddWorkers(number, std::move(words));
  if (verb == "evaluators") {
    const std::vector<std::string> programs =
        Names(Take("programs", "", words));
    for (int i = 0; i < number; ++i) {
      cluster_.worker(cluster_.AddEvaluator()).programs = programs;
    }
  } else if (verb == "worker") {
    return SetWorker(number, std::move(words));
  } else if (verb == "lose") {
    cluster_.RemoveWorker(number);
  } else if (verb == "change") {
    return SetJob(number, std::move(words));
  } else if (verb == "end") {
    cluster_.EndJob(number);
  } else {
    return Malformed(verb);
  }
  return absl::OkStatus();
}

absl::Status AssignmentScript::AddWorkers(int number, Words words) {
  const std::string pool(Take("pool", "default", words));
  const std::string gpu(Take("gpu", "", words));
  const std::vector<std::string> programs = Names(Take("programs", "", words));
  uint32_t in_flight = 0;
  if (!absl::SimpleAtoi(Take("in_flight", "0", words), &in_flight)) {
    return Malformed("workers");
  }
  for (int i = 0; i < number; ++i) {
    AssignableWorker& worker =
        cluster_.worker(cluster_.AddWorkers(1, pool, gpu));
    worker.programs = programs;
    worker.in_flight = in_flight;
  }
  return words.empty() ? absl::OkStatus() : Malformed(words.front());
}

absl::Status AssignmentScript::SetWorker(uint64_t id, Words words) {
  AssignableWorker& worker = cluster_.worker(id);
  int64_t draining = worker.draining, leaving = worker.leaving, unfit = 0;
  PACELINE_RETURN_IF_ERROR(ReadNumbers(words, {{"draining", {&draining}},
                                               {"leaving", {&leaving}},
                                               {"unfit", {&unfit}}}));
  worker.draining = draining != 0;
  worker.leaving = leaving != 0;
  if (unfit != 0) {
    worker.unfit_for = {{static_cast<JobNumber>(unfit), "no such folder"}};
  }
  return absl::OkStatus();
}

absl::Status AssignmentScript::SetJob(JobNumber number, Words words) {
  AssignableJob& job = cluster_.job(number);
  IfTaken("pools", words, [&](auto value) { job.pools = Names(value); });
  IfTaken("gpus", words, [&](auto value) { job.gpu_models = Names(value); });
  IfTaken("program", words,
          [&](auto value) { job.program = std::string(value); });
  IfTaken("namespace", words,
          [&](auto value) { job.name_space = std::string(value); });
  IfTaken("trainers", words, [&](absl::string_view value) {
    job.trainers = value == "yes"       ? TrainersWanted::kYes
                   : value == "no_more" ? TrainersWanted::kNoMore
                                        : TrainersWanted::kNone;
  });
  int64_t min = job.min, max = job.max, running = job.running;
  int64_t evaluates = job.evaluation_pending, priority = job.priority;
  PACELINE_RETURN_IF_ERROR(ReadNumbers(words, {{"min", {&min}},
                                               {"max", {&max}},
                                               {"priority", {&priority}},
                                               {"running", {&running}},
                                               {"evaluates", {&evaluates}}}));
  job.min = static_cast<int>(min);
  job.max = static_cast<int>(max);
  job.priority = static_cast<int>(priority);
  job.running = running != 0;
  job.evaluation_pending = evaluates != 0;
  return absl::OkStatus();
}

void AssignmentScript::Show(const std::string& what) {
  absl::StrAppend(&text_, what.empty() ? "no move" : what, "\n");
  for (const auto& [number, why] : cluster_.plan().waiting) {
    absl::StrAppend(&text_, number, " ", why, "\n");
  }
}

}  // namespace paceline
