#ifndef PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_RUN_EVENTS_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_RUN_EVENTS_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/google/rpc/status.pb.h"
#include "protos/paceline/journal/run_event.pb.h"
#include "services/coordinator/run/course/run_messages.h"

namespace paceline {

// Between the events of a run's journal and the inputs of its course.

// What the event is to the course. INVALID_ARGUMENT for `begun`, and where what
// a member or server said has no place within a run. `name_of`: of a server.
absl::StatusOr<RunInput> ToInput(
    const journal::RunEvent& event,
    const std::function<std::string(int server)>& name_of);

// An answer to what the run asked: FilesOpened, ParametersAdmitted,
// EvaluatorKnown, ManifestWritten or FilesRemoved.
journal::RunEvent ToEvent(const RunInput& answer);

google::rpc::Status ToWire(const absl::Status& status);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_RUN_EVENTS_H_
