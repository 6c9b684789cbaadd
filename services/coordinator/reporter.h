#ifndef PACELINE_SERVICES_COORDINATOR_REPORTER_H_
#define PACELINE_SERVICES_COORDINATOR_REPORTER_H_

#include <cstdio>
#include <nlohmann/json_fwd.hpp>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// Tells the process that started this one how the job goes: one JSON object a
// line, with an "event". Thread-safe.
class Reporter {
 public:
  explicit Reporter(std::FILE* out) : out_(out) {}

  // `fields` must be an object.
  void Report(absl::string_view event, const nlohmann::ordered_json& fields);
  void Failed(const absl::Status& status);

 private:
  absl::Mutex mu_;
  std::FILE* const out_ ABSL_PT_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_REPORTER_H_
