#ifndef PACELINE_SERVICES_COORDINATOR_RUN_TRACE_WRITER_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_TRACE_WRITER_H_

#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/paceline/v1/fleet.pb.h"

namespace paceline {

// Records a run, for `paceline simulate --trace` to replay: a TraceLine() for
// each iteration that was pushed, in the order of the reports.
//
// Thread-compatible.
class TraceWriter {
 public:
  // Replaces the file. FAILED_PRECONDITION if it cannot be written.
  static absl::StatusOr<std::unique_ptr<TraceWriter>> Create(
      const std::string& path);

  // Does nothing unless IsTraced().
  void Write(absl::string_view worker, const v1::PushDone& report);

  // DATA_LOSS if not everything could be written. Nothing may follow.
  absl::Status Close();

 private:
  explicit TraceWriter(const std::string& path) : path_(path), file_(path) {}

  const std::string path_;
  std::ofstream file_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_TRACE_WRITER_H_
