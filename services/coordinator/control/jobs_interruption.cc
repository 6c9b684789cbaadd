// What ends runs before their time though nobody asked for it: a process that
// they need is about to go. Their jobs go on by themselves.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/coordinator/control/jobs.h"

namespace paceline {

void Jobs::Interrupt(Entry& entry, const std::string& why) {
  if (entry.active == nullptr || !entry.interrupted.empty()) return;
  TakeNews(entry);  // It may have begun to train.
  if (entry.job.state() != v1::Job::STARTING &&
      entry.job.state() != v1::Job::RUNNING) {
    return;  // It ends already, or is paused.
  }
  // There would be nothing to go on from.
  if (entry.job.state() == v1::Job::RUNNING &&
      options_.checkpoint_root.empty()) {
    return;
  }
  entry.interrupted =
      absl::StrCat(why, ": the job is saved and goes on by itself");
  v1::Job job = entry.job;
  job.set_state_reason(entry.interrupted);
  Note(entry, std::move(job));
  entry.active->run().Pause(absl::ZeroDuration());
}

void Jobs::LeaveServers() {
  for (const v1::Server& server : fleet_.Servers()) {
    if (!server.leaving()) continue;
    for (const std::string& name : server.jobs()) {
      const auto found = entries_.find(name);
      if (found == entries_.end()) continue;
      Entry& entry = found->second;
      // What is left to evaluate may be done before the server goes.
      if (entry.active == nullptr || entry.active->run().TrainingEnds()) {
        continue;
      }
      Interrupt(entry, absl::StrCat(server.name(), " is leaving"));
    }
  }
}

void Jobs::Drain(absl::Duration grace) {
  const absl::Time deadline = clock_->Now() + grace;
  {
    absl::MutexLock lock(&mu_);
    draining_ = true;
    for (const std::string& name :
         std::vector<std::string>(busy_.begin(), busy_.end())) {
      Interrupt(entries_.at(name), "the coordinator is stopping");
    }
  }
  Wake();
  std::vector<std::unique_ptr<ActiveRun>> over;
  absl::MutexLock lock(&mu_);
  const auto saved = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return std::none_of(busy_.begin(), busy_.end(),
                        [this](const std::string& name)
                            ABSL_SHARED_LOCKS_REQUIRED(mu_) {
                              const Entry& entry = entries_.at(name);
                              return !entry.interrupted.empty() ||
                                     entry.job.state() == v1::Job::PAUSING;
                            });
  };
  mu_.AwaitWithTimeout(absl::Condition(&saved), deadline - clock_->Now());
  Turn(over);  // What has ended by now.
  drained_ = true;
  next_save_ = absl::InfinitePast();  // The last time.
  for (const std::string& name :
       std::vector<std::string>(busy_.begin(), busy_.end())) {
    Save(entries_.at(name));
  }
}

absl::Status Jobs::CheckOpen() const {
  if (!drained_) return absl::OkStatus();
  return absl::UnavailableError(
      "the coordinator is stopping: try again when it has started anew");
}

}  // namespace paceline
