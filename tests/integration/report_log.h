#ifndef PACELINE_TESTS_INTEGRATION_REPORT_LOG_H_
#define PACELINE_TESTS_INTEGRATION_REPORT_LOG_H_

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace paceline {

// A file for a Reporter whose lines a test can wait for. Thread-safe.
class ReportLog {
 public:
  ReportLog();
  ~ReportLog() { std::fclose(file_); }
  ReportLog(const ReportLog&) = delete;
  ReportLog& operator=(const ReportLog&) = delete;

  std::FILE* file() { return file_; }

  std::vector<nlohmann::json> Of(const std::string& event) const;

  // Whether such a report of `event` has come, or comes before `timeout` ends.
  bool Await(const std::string& event,
             const std::function<bool(const nlohmann::json&)>& such,
             absl::Duration timeout) const;

 private:
  void Append(const char* text, size_t size);

  mutable absl::Mutex mu_;
  std::string unfinished_ ABSL_GUARDED_BY(mu_);
  std::vector<nlohmann::json> reports_ ABSL_GUARDED_BY(mu_);
  std::FILE* const file_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_REPORT_LOG_H_
