#include "services/cli/ui/finished_runs.h"

#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/bounded_json.h"
#include "common/status.h"
#include "services/cli/admin/console.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kRunsMax = 500;
constexpr size_t kFileBytesMax = size_t{64} << 20;
constexpr char kResult[] = "result.json";
// A command's folder has its runs' folders, "01-bsp".
constexpr int kDepthMax = 2;

// The names of the folders below `folder` that have a result.
void CollectRuns(const fs::path& folder, const std::string& prefix, int depth,
                 std::set<std::string>* names) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_symlink(ignored) || !entry->is_directory(ignored)) continue;
    const std::string name =
        absl::StrCat(prefix, entry->path().filename().string());
    if (fs::is_regular_file(entry->path() / kResult, ignored)) {
      names->insert(name);
    } else if (depth > 1) {
      CollectRuns(entry->path(), absl::StrCat(name, "/"), depth - 1, names);
    }
  }
}

std::set<std::string> RunNames(const std::string& folder) {
  std::set<std::string> names;
  CollectRuns(folder, "", kDepthMax, &names);
  while (names.size() > kRunsMax) names.erase(names.begin());
  return names;
}

absl::StatusOr<Json> ReadObject(const fs::path& path) {
  PACELINE_ASSIGN_OR_RETURN(const std::string text,
                            ReadTextFile(path.string(), kFileBytesMax));
  Json object = ParseBoundedJson<Json>(text);
  if (object.is_object()) return object;
  return absl::DataLossError(absl::StrCat(path.string(), " is no JSON object"));
}

Json SummaryOf(const std::string& name, const Json& report) {
  Json summary = {{"name", name}, {"paradigm", TextField(report, "paradigm")}};
  const std::pair<const char*, const char*> numbers[] = {
      {"seconds", "seconds"},
      {"samples", "samples"},
      {"accuracy", "final_accuracy"}};
  for (const auto& [field, from] : numbers) {
    if (const auto value = NumberField(report, from)) summary[field] = *value;
  }
  const Json* const workers = FindField(report, "workers");
  summary["workers"] =
      workers != nullptr && workers->is_array() ? workers->size() : 0;
  return summary;
}

}  // namespace

Json FinishedRuns::List() {
  absl::MutexLock lock(&mu_);
  const std::set<std::string> names = RunNames(folder_);
  std::erase_if(seen_,
                [&](const auto& run) { return !names.contains(run.first); });
  Json runs = Json::array();
  for (const std::string& name : names) {
    const fs::path path = fs::path(folder_) / name / kResult;
    std::error_code error;
    const auto written = fs::last_write_time(path, error);
    if (error) continue;
    Summary& summary = seen_[name];
    if (summary.fields.is_null() || summary.written != written) {
      const absl::StatusOr<Json> report = ReadObject(path);
      summary.written = written;
      summary.fields = report.ok() ? SummaryOf(name, *report) : Json::object();
    }
    if (!summary.fields.empty()) runs.push_back(summary.fields);
  }
  return {{"runs", std::move(runs)}};
}

absl::StatusOr<Json> FinishedRuns::Get(absl::string_view name) {
  // What is found, and nothing else, so that no name leads out of the folder.
  if (!RunNames(folder_).contains(std::string(name))) {
    return absl::NotFoundError(
        absl::StrCat("there is no finished run \"", name, "\""));
  }
  const fs::path folder = fs::path(folder_) / std::string(name);
  PACELINE_ASSIGN_OR_RETURN(Json report, ReadObject(folder / kResult));
  absl::StatusOr<Json> spec = ReadObject(folder / "job.json");
  return Json{{"report", std::move(report)},
              {"spec", spec.ok() ? *std::move(spec) : Json::object()}};
}

}  // namespace paceline
