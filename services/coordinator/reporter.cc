#include "services/coordinator/reporter.h"

#include <nlohmann/json.hpp>
#include <string>

namespace paceline {

using Json = nlohmann::ordered_json;

void Reporter::Report(absl::string_view event, const Json& fields) {
  Json line = {{"event", std::string(event)}};
  for (const auto& [key, value] : fields.items()) line[key] = value;
  std::string text =
      line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  absl::MutexLock lock(&mu_);
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

void Reporter::Failed(const absl::Status& status) {
  Report("failed", {{"code", absl::StatusCodeToString(status.code())},
                    {"message", std::string(status.message())}});
}

}  // namespace paceline
