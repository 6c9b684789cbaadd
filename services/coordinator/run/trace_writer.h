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

// Records a run, for `paceline simulate --trace` to replay: a JSON object for
// each iteration that was pushed, in the order of the reports,
//   {"worker":"w0","iteration":7,"samples":32,"load":0.0001,"compute":0.0203,
//    "push":0.0011,"pull":0.0009,"parked":0.0,"wait":0.0004}
// Seconds, those of PhaseSeconds; `pull` is without what the servers parked.
// What was computed, and by what, a built-in model or a program, is not in it:
// who replays it needs the times alone.
//
// Thread-compatible.
class TraceWriter {
 public:
  // Replaces the file. FAILED_PRECONDITION if it cannot be written.
  static absl::StatusOr<std::unique_ptr<TraceWriter>> Create(
      const std::string& path);

  // One that pushed nothing (PushDone::discarded) or computed nothing, because
  // it was ended before its first samples, is left out.
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
