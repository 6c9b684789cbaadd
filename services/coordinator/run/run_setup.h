#ifndef PACELINE_SERVICES_COORDINATOR_RUN_RUN_SETUP_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_RUN_SETUP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/checkpoint/folder_lanes.h"
#include "common/job/job_defaults.h"
#include "common/job/job_plan.h"
#include "protos/paceline/journal/run_event.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/feed/standby_feed.h"
#include "services/coordinator/run/course/run_messages.h"
#include "services/coordinator/run/iteration_log.h"
#include "services/coordinator/run/journal/run_log.h"
#include "services/coordinator/run/linked_member.h"
#include "services/coordinator/run/replayed_session.h"
#include "services/coordinator/run/run_servers.h"

namespace paceline {

// What a run is of, and whom it may use.
struct RunSetup {
  std::string job_name;
  // Names the run to the servers, and its entropy: never the same twice, not in
  // another life of the coordinator either.
  uint64_t run = 0;
  JobPlan plan;
  absl::Duration lease = kDefaultLease;
  std::vector<ServerLink> servers;  // At least one. Others may come.
  // 1: each part of the model has a backup on another server.
  uint32_t replicas = 0;
  bool strict = false;  // Without it nothing is acknowledged.
  // Each checkpoint gets a folder of its own in this one; empty: none is
  // written.
  std::string checkpoint_root = {};
  // Where what was trained is saved if that cannot be there.
  std::vector<std::string> checkpoint_fallbacks = {};
  // The folder of the checkpoint from which the job goes on; empty: it begins.
  std::string restore_from = {};
  // What the job has come to by then: its progress until it trains again.
  v1::JobProgress before = {};
  // On which the run reads and writes what belongs to checkpoints.
  std::shared_ptr<FolderLanes> lanes = std::make_shared<FolderLanes>();
  std::string traceparent = {};  // In which members do what they are told.
  std::string trace_file = {};   // Gets every iteration, for replay; or empty.
  // Gets every iteration, for as long as the job is remembered.
  std::shared_ptr<IterationLog> iterations = std::make_shared<IterationLog>();
  // The run's journal, which JobRun::FromJournal() goes on from; empty: there
  // is none.
  std::string journal_file = {};
  std::string job_uid = {};
  // Gets what is written there; null: nobody stands by. It outlives the run.
  StandbyFeed* feed = nullptr;
  bool fsync = false;  // What is written there survives the machine.
  int64_t most_events = kLongJournal;  // With more of them it is long.
  std::string version = {};            // Of the coordinator.
  // Of a run that goes on in another life of the coordinator: the worker's part
  // in it, with the session that it can take up again. Null: it cannot, and is
  // lost. Called while the run is made, without a lock.
  std::function<std::shared_ptr<const RunSession>(
      const std::shared_ptr<JobRun>& run, WorkerId worker,
      const ReplayedSession& session)>
      restore_worker = nullptr;
  // RunDriver::SetFrozenAfter().
  absl::Duration frozen_after = absl::InfiniteDuration();
  // These three are called on the run's own thread, without a lock.
  // Whether any is connected, be it in use elsewhere.
  std::function<EvaluatorKnown()> find_evaluator = [] {
    return EvaluatorKnown{.exists = true};
  };
  // RESOURCE_EXHAUSTED if the job may not have so many bytes of parameters.
  std::function<absl::Status(int64_t bytes)> admit_parameters = [](int64_t) {
    return absl::OkStatus();
  };
  // The run has ended: outcome() has a value.
  std::function<void()> over = [] {};
};

// What of it the first event of the run's journal has.
journal::RunEvent BeginOf(const RunSetup& setup);
// The other way: what is left of `setup` is kept. FAILED_PRECONDITION: that is
// no such event, or no run can begin so, or it is of another job or of another
// version.
absl::Status ReadBegin(const journal::RunEvent& event, RunSetup& setup);

journal::RunServer ToEvent(const ServerLink& server);
ServerLink FromEvent(const journal::RunServer& server);  // Without a stream.

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_RUN_SETUP_H_
