#include "services/coordinator/control/planning.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job/job_defaults.h"
#include "common/log/log.h"
#include "common/proto_time.h"
#include "common/status.h"
#include "services/coordinator/run/job_run.h"

namespace paceline {
namespace {

constexpr absl::Duration kShortestRest = absl::Milliseconds(250);
// Of the time that looking takes it rests.
constexpr double kRest = 20;
// A server has no room, say.
constexpr double kRefusedSeconds = 300;

v1::Advice ToAdvice(const AutoPilot::Look& look) {
  v1::Advice advice;
  advice.set_paradigm(look.advised);
  advice.set_gain(look.gain);
  advice.set_reason(look.why);
  *advice.mutable_time() = ToProto(absl::Now());
  for (const AutoPilot::Option& option : look.options) {
    v1::PlayedParadigm& played = *advice.add_options();
    played.set_paradigm(option.text);
    played.set_samples_per_second(option.forecast.samples_per_second);
    played.set_staleness(option.forecast.staleness);
    played.set_efficiency(option.forecast.efficiency);
    played.set_value(option.value);
    played.set_excluded(option.excluded);
  }
  return advice;
}

}  // namespace

Planning::Planning(JobBook* book, Fleet* fleet, const Clock* clock)
    : book_(book), fleet_(fleet), clock_(clock), thread_([this] { Run(); }) {}

Planning::~Planning() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  thread_.join();
}

void Planning::Run() {
  absl::Duration rest = kShortestRest;
  while (true) {
    {
      absl::MutexLock lock(&mu_);
      mu_.AwaitWithTimeout(absl::Condition(&ending_), rest);
      if (ending_) return;
    }
    const absl::Time began = clock_->Now();
    for (const Due& due : FindDue()) {
      LookAt(due);
      absl::MutexLock lock(&mu_);
      if (ending_) return;
    }
    rest = std::max(kRest * (clock_->Now() - began), kShortestRest);
  }
}

std::vector<Planning::Due> Planning::FindDue() {
  std::map<uint64_t, Steered> known = std::exchange(runs_, {});
  std::vector<Due> due;
  absl::MutexLock lock(&book_->mu());
  for (const JobEntry* const entry : book_->Busy()) {
    if (entry->active == nullptr) continue;
    const bool acts = entry->job.spec().auto_().act();
    auto it = known.find(entry->active->run());
    Steered& steered = runs_[entry->active->run()];
    if (it != known.end()) steered = std::move(it->second);
    if (entry->job.state() != v1::Job::RUNNING) continue;
    // What is played is dealt to whoever comes.
    if (entry->job.spec().data_assignment() == kStaticDataAssignment) {
      continue;
    }
    // Who is asked to steer does so at once.
    if (clock_->Now() < steered.due && (steered.acted || !acts)) continue;
    steered.acted = acts;
    due.push_back({entry->job.name(), entry->active, acts});
  }
  return due;
}

void Planning::LookAt(const Due& due) {
  std::optional<TrainingPaces> seen = due.run->Paces();
  if (!seen.has_value()) return;
  Steered& steered = runs_[due.run->run()];
  const BatchedParadigm present = {seen->present, seen->job.batching};
  const double now = seen->seconds;
  AutoPilot::Look look = steered.pilot.LookAt(*std::move(seen), due.acts);
  steered.due = clock_->Now() + absl::Seconds(look.again_after);
  if (look.to.has_value()) {
    const absl::Status switched = Switch(due, look);
    if (absl::IsAborted(switched)) return;
    if (!switched.ok()) {
      LogWarning("the paradigm that was chosen cannot be used",
                 {{"job", due.job},
                  {"paradigm", look.advised},
                  {"reason", std::string(switched.message())}});
      return steered.pilot.Refused(
          present, now, std::string(switched.message()), kRefusedSeconds);
    }
    look.gain = 1;
    look.why = absl::StrCat("was just chosen: ", look.why);
  }
  if (look.options.empty()) return;  // There is nothing to say yet.
  // To stay is no news at first.
  if (steered.advised.empty()) steered.advised = FormatBatchedParadigm(present);
  // A switch is a decision of its own.
  const bool news = look.advised != steered.advised && !look.to.has_value();
  if (due.run->Advise(look.to.value_or(present), ToAdvice(look), news)) {
    steered.advised = look.advised;
  }
}

absl::Status Planning::Switch(const Due& due, const AutoPilot::Look& look) {
  absl::MutexLock lock(&book_->mu());
  const auto entry = book_->Find(due.job);
  if (!entry.ok() || (*entry)->active != due.run ||
      !(*entry)->job.spec().auto_().act()) {
    return absl::AbortedError("it is not to be steered any more");
  }
  PACELINE_RETURN_IF_ERROR(fleet_->CheckRoom(*due.run, look.to->paradigm));
  const absl::Status switched = due.run->Switch(
      look.to->paradigm, absl::StrCat("auto: ", look.why), look.to->batching,
      /*with_closing=*/true);
  return switched.ok() ? switched : absl::AbortedError(switched.message());
}

}  // namespace paceline
