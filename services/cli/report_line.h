#ifndef PACELINE_SERVICES_CLI_REPORT_LINE_H_
#define PACELINE_SERVICES_CLI_REPORT_LINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/cli/json_fields.h"

namespace paceline {

// What a coordinator reports on its standard output, one JSON object a line.
// Seconds count from the first grant.

// It can be reached; members may be started.
struct ListeningReport {
  std::string address;
};

// The first grant was issued.
struct StartedReport {
  int64_t parameters = 0;
  int64_t train_samples = 0;
};

struct WorkerProgress {
  std::string worker;
  std::string state;  // "loading", "computing", "waiting", "idle", "lost".
  int64_t clock = 0;
  int64_t gap = 0;
  double wait_seconds = 0;
  int64_t iterations = 0;
};

struct ProgressReport {
  double seconds = 0;
  std::string state;  // "loading", "training", "evaluating".
  int64_t samples = 0;
  int64_t samples_total = 0;
  double samples_per_second = 0;
  int64_t version = 0;
  std::optional<double> loss = std::nullopt;
  std::optional<double> accuracy = std::nullopt;
  std::vector<WorkerProgress> workers = {};
};

struct EvaluatedReport {
  double seconds = 0;
  int64_t version = 0;
  int64_t samples = 0;
  double accuracy = 0;
  double loss = 0;
};

// A loss, a discard, a refusal, a switch.
struct DecisionReport {
  double seconds = 0;
  std::string worker;
  std::string text;
};

// The last line of a run that ended well.
struct ResultReport {
  Json run;  // One element of "runs" of the document.
};

// The last line of a run that did not.
struct FailedReport {
  absl::Status status;
};

using Report =
    std::variant<ListeningReport, StartedReport, ProgressReport,
                 EvaluatedReport, DecisionReport, ResultReport, FailedReport>;

// The code with that canonical name, "NOT_FOUND"; UNKNOWN for any other name.
absl::StatusCode StatusCodeByName(absl::string_view name);

// INVALID_ARGUMENT if the line is no JSON object, names no known event or lacks
// what the event cannot do without.
absl::StatusOr<Report> ParseReportLine(absl::string_view line);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_REPORT_LINE_H_
