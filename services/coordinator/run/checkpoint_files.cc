#include "services/coordinator/run/checkpoint_files.h"

#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/checkpoint/manifest.h"
#include "common/job/optimizer_spec.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"
#include "services/coordinator/run_document.h"

namespace paceline {
namespace {

template <class Message>
absl::StatusOr<std::string> ToJson(const Message& message) {
  std::string json;
  const auto printed =
      google::protobuf::util::MessageToJsonString(message, &json);
  if (printed.ok()) return json;
  return absl::InternalError(
      std::string(printed.message().data(), printed.message().size()));
}

std::vector<ModelTensor> TensorsOf(const CheckpointManifest& manifest) {
  std::vector<ModelTensor> tensors;
  tensors.reserve(manifest.tensors.size());
  for (const CheckpointTensor& tensor : manifest.tensors) {
    tensors.push_back({tensor.name,
                       {tensor.shape.begin(), tensor.shape.end()},
                       static_cast<int64_t>(TensorSize(tensor)),
                       tensor.kind});
  }
  return tensors;
}

}  // namespace

v1::Checkpoint ToCheckpoint(const CheckpointWriting::Order& order,
                            v1::Checkpoint::State state,
                            const absl::Status& failure) {
  v1::Checkpoint checkpoint;
  checkpoint.set_name(order.id);
  checkpoint.set_state(state);
  checkpoint.set_state_reason(std::string(failure.message()));
  uint64_t bytes = 0;
  for (const WrittenShard& file : order.files) bytes += file.bytes;
  checkpoint.set_bytes(bytes);
  checkpoint.set_version(order.point.version);
  checkpoint.set_version_at_completion(order.version_at_completion);
  checkpoint.set_samples(order.point.samples);
  checkpoint.set_samples_discarded(order.point.position.discarded);
  checkpoint.set_exact(order.point.exact);
  checkpoint.set_directory(order.directory);
  checkpoint.set_servers(static_cast<uint32_t>(order.files.size()));
  return checkpoint;
}

absl::Status WriteCheckpointManifest(
    const CheckpointWriting::Order& order, const std::string& job_name,
    const v1::JobSpec& spec, const std::vector<ModelTensor>& tensors,
    const std::vector<BlockPlacement>& blocks,
    const std::optional<AccuracyPoint>& newest) {
  CheckpointManifest manifest;
  manifest.paceline_version = PACELINE_VERSION;
  manifest.job = job_name;
  PACELINE_ASSIGN_OR_RETURN(manifest.spec_json, ToJson(spec));
  manifest.create_time = absl::Now();
  manifest.seconds = order.seconds;
  manifest.version = order.point.version;
  manifest.version_at_completion = order.version_at_completion;
  manifest.samples = order.point.samples;
  manifest.exact = order.point.exact;
  PACELINE_ASSIGN_OR_RETURN(manifest.position_json,
                            ToJson(ToWire(order.point.position)));
  PACELINE_ASSIGN_OR_RETURN(const OptimizerSpec optimizer,
                            ParseOptimizerSpec(spec.optimizer()));
  manifest.optimizer_slots = OptimizerSlotNames(optimizer);
  if (newest.has_value()) {
    manifest.evaluation_json = AccuracyJson({*newest}).front().dump();
  }
  for (const ModelTensor& tensor : tensors) {
    manifest.tensors.push_back(
        {tensor.name, {tensor.shape.begin(), tensor.shape.end()}, tensor.kind});
  }
  for (const BlockPlacement& block : blocks) {
    manifest.blocks.push_back({block.block, block.tensor,
                               static_cast<uint64_t>(block.offset),
                               static_cast<uint64_t>(block.size),
                               static_cast<uint32_t>(block.server)});
  }
  for (const WrittenShard& file : order.files) {
    manifest.files.push_back({file.file, file.bytes, file.sha256});
  }
  return WriteManifest(order.directory, manifest);
}

absl::StatusOr<RunStart> ReadRunStart(const std::string& directory) {
  PACELINE_ASSIGN_OR_RETURN(const CheckpointManifest manifest,
                            ReadManifest(directory));
  RunStart start;
  start.version = manifest.version;
  start.seconds = manifest.seconds;
  v1::SamplePosition position;
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      manifest.position_json, &position);
  if (!parsed.ok()) {
    return absl::DataLossError(absl::StrCat(
        directory, "/", kManifestName, ": the sample position is damaged"));
  }
  start.position = FromWire(position);
  start.tensors = TensorsOf(manifest);
  return start;
}

absl::StatusOr<RunStart> ReadInitialWeights(const std::string& directory) {
  PACELINE_ASSIGN_OR_RETURN(
      const CheckpointManifest manifest,
      Annotate(ReadManifest(directory), "the initial weights"));
  RunStart start;
  start.tensors = TensorsOf(manifest);
  start.weights_only = true;
  return start;
}

v1::SamplePosition ToWire(const SamplePosition& position) {
  v1::SamplePosition wire;
  wire.set_next_epoch(position.next_epoch);
  wire.set_next_begin(position.next_begin);
  wire.set_discarded(position.discarded);
  for (const SampleRange& range : position.open) {
    *wire.add_open() = ToWire(range);
  }
  return wire;
}

SamplePosition FromWire(const v1::SamplePosition& wire) {
  SamplePosition position{
      wire.next_epoch(), wire.next_begin(), {}, wire.discarded()};
  for (const v1::SampleRange& open : wire.open()) {
    position.open.push_back(FromWire(open));
  }
  return position;
}

}  // namespace paceline
