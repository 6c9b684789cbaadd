#include "services/cli/trace_file.h"

#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/json_fields.h"

namespace paceline {
namespace {

constexpr double kTraceSecondsMax = 3600;
constexpr int64_t kTraceSamplesMax = 1 << 24;

absl::Status NotANumber(absl::string_view name) {
  return absl::InvalidArgumentError(absl::StrCat(name, " is no number"));
}

// Nothing if the field is absent.
absl::StatusOr<std::optional<Nanos>> ReadSeconds(const Json& line,
                                                 absl::string_view name) {
  if (FindField(line, name) == nullptr) return std::nullopt;
  const std::optional<double> seconds = NumberField(line, name);
  if (!seconds.has_value()) return NotANumber(name);
  if (*seconds >= 0 && *seconds <= kTraceSecondsMax) {
    return std::llround(*seconds * 1e9);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be from 0 to ", kTraceSecondsMax, " seconds"));
}

absl::StatusOr<RecordedIteration> ReadIteration(const Json& line,
                                                uint32_t batch_size) {
  RecordedIteration iteration{.samples = batch_size};
  PACELINE_ASSIGN_OR_RETURN(const std::optional<Nanos> compute,
                            ReadSeconds(line, "compute"));
  PACELINE_ASSIGN_OR_RETURN(const std::optional<Nanos> load,
                            ReadSeconds(line, "load"));
  iteration.compute = compute.value_or(0) + load.value_or(0);
  if (!compute.has_value() || iteration.compute == 0) {
    return absl::InvalidArgumentError(
        "compute, above 0, is missing; want {\"worker\":\"w0\","
        "\"compute\":0.0203,\"samples\":32}");
  }
  PACELINE_ASSIGN_OR_RETURN(iteration.push, ReadSeconds(line, "push"));
  PACELINE_ASSIGN_OR_RETURN(iteration.pull, ReadSeconds(line, "pull"));
  const Json* field = FindField(line, "samples");
  if (field == nullptr) return iteration;
  const int64_t samples = IntegerField(line, "samples");
  if (!field->is_number_integer() || samples < 1 ||
      samples > kTraceSamplesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "samples must be a whole number from 1 to ", kTraceSamplesMax));
  }
  iteration.samples = static_cast<uint32_t>(samples);
  return iteration;
}

}  // namespace

absl::StatusOr<std::vector<RecordedWorker>> ReadTrace(std::istream& lines,
                                                      uint32_t batch_size) {
  // By length and then by letter: w2 before w10.
  std::map<std::pair<size_t, std::string>, std::vector<RecordedIteration>>
      workers;
  std::string text;
  for (int64_t number = 1; std::getline(lines, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = absl::StrCat("line ", number);
    const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    const std::string name = TextField(line, "worker");
    if (name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": no JSON object that names its \"worker\""));
    }
    PACELINE_ASSIGN_OR_RETURN(const RecordedIteration iteration,
                              Annotate(ReadIteration(line, batch_size), where));
    workers[{name.size(), name}].push_back(iteration);
  }
  if (lines.bad()) return absl::DataLossError("it cannot be read to its end");
  if (workers.empty()) {
    return absl::InvalidArgumentError("no iteration is in it");
  }
  std::vector<RecordedWorker> sorted;
  sorted.reserve(workers.size());
  for (auto& [key, iterations] : workers) {
    sorted.push_back(
        {key.second, std::make_shared<const std::vector<RecordedIteration>>(
                         std::move(iterations))});
  }
  return sorted;
}

absl::StatusOr<std::vector<RecordedWorker>> ReadTraceFile(
    const std::string& path, uint32_t batch_size) {
  std::ifstream file(path);
  if (!file) {
    return absl::NotFoundError(
        absl::StrCat("--trace ", path, ": cannot be read"));
  }
  return Annotate(ReadTrace(file, batch_size), absl::StrCat("--trace ", path));
}

}  // namespace paceline
