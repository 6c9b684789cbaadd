#include "services/coordinator/run/trace_writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace paceline {

absl::StatusOr<std::unique_ptr<TraceWriter>> TraceWriter::Create(
    const std::string& path) {
  auto writer = absl::WrapUnique(new TraceWriter(path));
  if (writer->file_.is_open()) return writer;
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot write the trace ", path, ": no such folder, or not allowed"));
}

void TraceWriter::Write(absl::string_view worker, const v1::PushDone& report) {
  if (report.discarded() || report.samples() == 0) return;
  const v1::PhaseSeconds& seconds = report.seconds();
  const nlohmann::ordered_json line = {
      {"worker", std::string(worker)},
      {"iteration", report.iteration()},
      {"samples", report.samples()},
      {"load", seconds.load()},
      {"compute", seconds.compute()},
      {"push", seconds.push()},
      {"pull", std::max(0.0, seconds.pull() - seconds.parked())},
      {"parked", seconds.parked()},
      {"wait", seconds.wait()}};
  using Json = nlohmann::ordered_json;
  const std::string text =
      line.dump(-1, ' ', false, Json::error_handler_t::replace);
  file_ << text << '\n';
}

absl::Status TraceWriter::Close() {
  file_.close();
  if (file_.good()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the trace ", path_, " could not be written whole"));
}

}  // namespace paceline
