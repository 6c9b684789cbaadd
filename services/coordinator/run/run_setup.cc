#include "services/coordinator/run/run_setup.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/coordinator/run/journal/event_check.h"

namespace paceline {

journal::RunServer ToEvent(const ServerLink& server) {
  journal::RunServer event;
  event.set_name(server.name);
  event.set_address(server.address);
  event.set_failure_domain(server.failure_domain);
  event.set_replicates(server.replicates);
  event.set_counts_rules(server.counts_rules);
  event.set_connections(server.connections);
  return event;
}

ServerLink FromEvent(const journal::RunServer& server) {
  return {.name = server.name(),
          .address = server.address(),
          .failure_domain = server.failure_domain(),
          .replicates = server.replicates(),
          .counts_rules = server.counts_rules(),
          .connections = server.connections()};
}

journal::RunEvent BeginOf(const RunSetup& setup) {
  journal::RunEvent event;
  journal::RunBegun& begun = *event.mutable_begun();
  begun.set_run(setup.run);
  begun.set_job_name(setup.job_name);
  begun.set_job_uid(setup.job_uid);
  begun.set_version(setup.version);
  *begun.mutable_job() = setup.plan.spec;
  for (const ServerLink& server : setup.servers) {
    *begun.add_servers() = ToEvent(server);
  }
  begun.set_replicas(setup.replicas);
  begun.set_strict(setup.strict);
  begun.set_lease_ns(absl::ToInt64Nanoseconds(setup.lease));
  begun.set_checkpoint_root(setup.checkpoint_root);
  for (const std::string& folder : setup.checkpoint_fallbacks) {
    begun.add_checkpoint_fallbacks(folder);
  }
  begun.set_restore_from(setup.restore_from);
  begun.set_traceparent(setup.traceparent);
  *begun.mutable_before() = setup.before;
  return event;
}

absl::Status ReadBegin(const journal::RunEvent& event, RunSetup& setup) {
  const journal::RunBegun& begun = event.begun();
  if (!event.has_begun() || begun.job_uid() != setup.job_uid) {
    return absl::FailedPreconditionError("it is the journal of another job");
  }
  if (begun.version() != setup.version) {
    return absl::FailedPreconditionError(
        absl::StrCat("it was written by version ", begun.version()));
  }
  PACELINE_RETURN_IF_ERROR(CheckTime(event));
  absl::StatusOr<JobPlan> plan = ParseJob(begun.job());
  if (!plan.ok() || begun.servers().empty() || begun.lease_ns() <= 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("it is damaged: no run can begin so",
                     plan.ok() ? "" : ": ", plan.status().message()));
  }
  setup.plan = *std::move(plan);
  setup.run = begun.run();
  setup.job_name = begun.job_name();
  setup.servers.clear();
  for (const journal::RunServer& server : begun.servers()) {
    setup.servers.push_back(FromEvent(server));
  }
  setup.replicas = begun.replicas();
  setup.strict = begun.strict();
  setup.lease = absl::Nanoseconds(begun.lease_ns());
  setup.checkpoint_root = begun.checkpoint_root();
  setup.checkpoint_fallbacks = {begun.checkpoint_fallbacks().begin(),
                                begun.checkpoint_fallbacks().end()};
  setup.restore_from = begun.restore_from();
  setup.traceparent = begun.traceparent();
  setup.before = begun.before();
  return absl::OkStatus();
}

}  // namespace paceline
