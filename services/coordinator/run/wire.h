#ifndef PACELINE_SERVICES_COORDINATOR_RUN_WIRE_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_WIRE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/job/job_plan.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/run/course/run_messages.h"
#include "services/coordinator/sync/core/placement.h"

namespace paceline {

// Between the course of a run and the messages of fleet.proto.

// What a member or server of the run says, as an input. INVALID_ARGUMENT for
// what has no place within a run.
absl::StatusOr<RunInput> ToInput(WorkerId worker,
                                 const v1::WorkerMessage& message);
absl::StatusOr<RunInput> ToInput(int server, int shard, absl::string_view name,
                                 const v1::ServerMessage& message);

v1::WorkerCommand ToWire(const Grant& grant);
v1::WorkerCommand ToWire(const PlanCommand& plan);
v1::WorkerCommand ToWire(const ExtendCommand& extend);
v1::WorkerCommand ToWire(const RefreshCommand& refresh);
v1::WorkerCommand ToWire(const AbandonCommand& abandon);
v1::WorkerCommand ToWire(const DropReserved& drop);
v1::WorkerCommand ToWire(const EvaluateSnapshot& evaluate);

v1::TensorSpec ToWire(const ModelTensor& tensor);
// INVALID_ARGUMENT for a kind that is none.
absl::StatusOr<std::vector<ModelTensor>> FromWire(
    const google::protobuf::RepeatedPtrField<v1::TensorSpec>& wires);
// What each shard consists of, in their order; nobody has them yet.
std::vector<v1::Shard> ToShards(size_t shards,
                                const std::vector<ModelTensor>& tensors,
                                const std::vector<BlockPlacement>& blocks);
v1::AnnounceClosing ToWire(const AnnounceCommand& announce);
// For shard `shard` of `shards`; but for what hosting needs.
v1::ServerCommand ToWire(const NumberedCommand& command, size_t shard,
                         size_t shards);

v1::GradientNoise ToWire(const GradientNoise& noise);
v1::AccuracyPoint ToWire(const AccuracyPoint& point);
MetricTarget FromWire(const v1::MetricTarget& target);

// What of a job's plan a run needs.
CourseOptions ToCourseOptions(const JobPlan& plan);
RunSettings ToRunSettings(const JobPlan& plan);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_WIRE_H_
