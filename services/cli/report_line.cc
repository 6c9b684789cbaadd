#include "services/cli/report_line.h"

#include "absl/strings/str_cat.h"
#include "common/bounded_json.h"

namespace paceline {
namespace {

absl::Status Malformed(absl::string_view what, absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": ", line.substr(0, 200)));
}

double Number(const Json& object, absl::string_view name) {
  return NumberField(object, name).value_or(0);
}

std::vector<WorkerProgress> ParseWorkers(const Json& object) {
  std::vector<WorkerProgress> workers;
  const Json* field = FindField(object, "workers");
  if (field == nullptr || !field->is_array()) return workers;
  for (const Json& worker : *field) {
    workers.push_back({.worker = TextField(worker, "worker"),
                       .state = TextField(worker, "state"),
                       .clock = IntegerField(worker, "clock"),
                       .gap = IntegerField(worker, "gap"),
                       .wait_seconds = Number(worker, "wait_seconds"),
                       .iterations = IntegerField(worker, "iterations")});
  }
  return workers;
}

ProgressReport ParseProgress(const Json& object) {
  return {.seconds = Number(object, "seconds"),
          .state = TextField(object, "state"),
          .samples = IntegerField(object, "samples"),
          .samples_total = IntegerField(object, "samples_total"),
          .samples_per_second = Number(object, "samples_per_second"),
          .version = IntegerField(object, "version"),
          .loss = NumberField(object, "loss"),
          .accuracy = NumberField(object, "accuracy"),
          .workers = ParseWorkers(object)};
}

EvaluatedReport ParseEvaluated(const Json& object) {
  return {.seconds = Number(object, "seconds"),
          .version = IntegerField(object, "version"),
          .samples = IntegerField(object, "samples"),
          .accuracy = Number(object, "accuracy"),
          .loss = Number(object, "loss")};
}

FailedReport ParseFailed(const Json& object) {
  return {absl::Status(StatusCodeByName(TextField(object, "code")),
                       TextField(object, "message"))};
}

}  // namespace

absl::StatusCode StatusCodeByName(absl::string_view name) {
  for (int code = 1; code <= 16; ++code) {
    const auto candidate = static_cast<absl::StatusCode>(code);
    if (absl::StatusCodeToString(candidate) == name) return candidate;
  }
  return absl::StatusCode::kUnknown;
}

absl::StatusOr<Report> ParseReportLine(absl::string_view line) {
  const Json object = ParseBoundedJson<Json>(line);
  if (!object.is_object()) return Malformed("no JSON object", line);
  const std::string event = TextField(object, "event");
  if (event == "listening") {
    std::string address = TextField(object, "address");
    if (address.empty()) return Malformed("listening at no address", line);
    return ListeningReport{std::move(address)};
  }
  if (event == "started") {
    return StartedReport{
        .parameters = IntegerField(object, "parameters"),
        .train_samples = IntegerField(object, "train_samples")};
  }
  if (event == "progress") return ParseProgress(object);
  if (event == "evaluated") return ParseEvaluated(object);
  if (event == "decision") {
    return DecisionReport{.seconds = Number(object, "seconds"),
                          .worker = TextField(object, "worker"),
                          .text = TextField(object, "text")};
  }
  if (event == "result") {
    const Json* run = FindField(object, "run");
    if (run == nullptr || !run->is_object()) {
      return Malformed("a result without a run", line);
    }
    return ResultReport{*run};
  }
  if (event == "failed") return ParseFailed(object);
  return Malformed("unknown event", line);
}

}  // namespace paceline
