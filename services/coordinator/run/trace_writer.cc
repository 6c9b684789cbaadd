#include "services/coordinator/run/trace_writer.h"

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "services/coordinator/run/trace_line.h"

namespace paceline {

absl::StatusOr<std::unique_ptr<TraceWriter>> TraceWriter::Create(
    const std::string& path) {
  auto writer = absl::WrapUnique(new TraceWriter(path));
  if (writer->file_.is_open()) return writer;
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot write the trace ", path, ": no such folder, or not allowed"));
}

void TraceWriter::Write(absl::string_view worker, const v1::PushDone& report) {
  if (!IsTraced(report.discarded(), report.samples())) return;
  file_ << TraceLine(worker, report.iteration(), report.samples(),
                     report.seconds())
        << '\n';
}

absl::Status TraceWriter::Close() {
  file_.close();
  if (file_.good()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the trace ", path_, " could not be written whole"));
}

}  // namespace paceline
