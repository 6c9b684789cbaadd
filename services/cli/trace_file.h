#ifndef PACELINE_SERVICES_CLI_TRACE_FILE_H_
#define PACELINE_SERVICES_CLI_TRACE_FILE_H_

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/simulator/device.h"

namespace paceline {

struct RecordedWorker {
  std::string name;
  // At least one; shared by the virtual workers that replay them.
  std::shared_ptr<const std::vector<RecordedIteration>> iterations;
};

// Reads what TraceLine() (services/coordinator/run/trace_line.h) or another
// program made of a real run: a JSON object a line, in the order in which a
// worker's iterations were,
//   {"worker":"w0","compute":0.0203,"load":0.0001,"push":0.0011,"pull":0.0009,
//    "samples":32}
// Seconds; load counts as computing, and together they are above 0: a program
// may do all of its work in its loader. All but worker and compute may be
// absent (samples: then `batch_size`), other fields are passed over, empty
// lines too. Workers are sorted by name, "w2" before "w10". INVALID_ARGUMENT
// names the line; DATA_LOSS: it could not be read to its end.
absl::StatusOr<std::vector<RecordedWorker>> ReadTrace(std::istream& lines,
                                                      uint32_t batch_size);

// NOT_FOUND if there is no such file.
absl::StatusOr<std::vector<RecordedWorker>> ReadTraceFile(
    const std::string& path, uint32_t batch_size);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_TRACE_FILE_H_
