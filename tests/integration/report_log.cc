#include "tests/integration/report_log.h"

#include <algorithm>

namespace paceline {

ReportLog::ReportLog()
    : file_(fopencookie(this, "w",
                        {.read = nullptr,
                         .write =
                             [](void* log, const char* text, size_t size) {
                               static_cast<ReportLog*>(log)->Append(text, size);
                               return static_cast<ssize_t>(size);
                             },
                         .seek = nullptr,
                         .close = nullptr})) {}

std::vector<nlohmann::json> ReportLog::Of(const std::string& event) const {
  absl::MutexLock lock(&mu_);
  std::vector<nlohmann::json> found;
  for (const nlohmann::json& report : reports_) {
    if (report["event"] == event) found.push_back(report);
  }
  return found;
}

bool ReportLog::Await(const std::string& event,
                      const std::function<bool(const nlohmann::json&)>& such,
                      absl::Duration timeout) const {
  absl::MutexLock lock(&mu_);
  const auto came = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return std::any_of(reports_.begin(), reports_.end(),
                       [&](const nlohmann::json& report) {
                         return report["event"] == event && such(report);
                       });
  };
  return mu_.AwaitWithTimeout(absl::Condition(&came), timeout);
}

void ReportLog::Append(const char* text, size_t size) {
  absl::MutexLock lock(&mu_);
  unfinished_.append(text, size);
  for (size_t end; (end = unfinished_.find('\n')) != std::string::npos;) {
    reports_.push_back(nlohmann::json::parse(unfinished_.substr(0, end)));
    unfinished_.erase(0, end + 1);
  }
}

}  // namespace paceline
