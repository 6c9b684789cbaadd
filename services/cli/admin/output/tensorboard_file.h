#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TENSORBOARD_FILE_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TENSORBOARD_FILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace paceline {

// The numbers of one step of a run, as TensorBoard has them.
struct ScalarStep {
  absl::Time time;
  int64_t step = 0;
  std::map<std::string, float> values;  // By their tags.
};

// The bytes of an event file of TensorBoard: records as TensorFlow frames them
// (length, its checksum, an `Event` in protobuf's encoding, its checksum), the
// first of which names the version of the file. Pure.
std::string TensorboardFile(absl::Time began,
                            const std::vector<ScalarStep>& steps);

// The checksum of that format: CRC-32C, rotated and shifted by a constant.
uint32_t MaskedCrc32c(absl::string_view bytes);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TENSORBOARD_FILE_H_
