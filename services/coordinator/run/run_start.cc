#include "services/coordinator/run/run_start.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/manifest.h"
#include "common/status.h"

namespace paceline {

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
  for (const CheckpointTensor& tensor : manifest.tensors) {
    start.tensors.push_back({tensor.name,
                             {tensor.shape.begin(), tensor.shape.end()},
                             static_cast<int64_t>(TensorSize(tensor)),
                             tensor.statistic});
  }
  return start;
}

v1::SamplePosition ToWire(const SamplePosition& position) {
  v1::SamplePosition wire;
  wire.set_next_epoch(position.next_epoch);
  wire.set_next_begin(position.next_begin);
  for (const SampleRange& range : position.open) {
    v1::SampleRange& open = *wire.add_open();
    open.set_epoch(range.epoch);
    open.set_begin(range.begin);
    open.set_end(range.end);
  }
  return wire;
}

SamplePosition FromWire(const v1::SamplePosition& wire) {
  SamplePosition position{wire.next_epoch(), wire.next_begin(), {}};
  for (const v1::SampleRange& open : wire.open()) {
    position.open.push_back({open.epoch(), open.begin(), open.end()});
  }
  return position;
}

}  // namespace paceline
