#include "common/metrics/serve_metrics.h"

#include <prometheus/exposer.h>

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/metrics/process_metrics.h"

namespace paceline {

absl::StatusOr<int> ServeMetrics(
    const std::string& address,
    std::vector<std::shared_ptr<prometheus::Collectable>> sources) {
  // Never destroyed: the HTTP server inside takes two seconds to stop, which
  // every process would add to its exit. It has nothing to flush.
  static prometheus::Exposer* exposer = nullptr;
  static auto& kept =
      *new std::vector<std::shared_ptr<prometheus::Collectable>>;
  try {  // The library's only way to say that it cannot listen.
    exposer = new prometheus::Exposer(address, /*num_threads=*/1);
  } catch (const std::exception& error) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve metrics on ", address, ": ", error.what()));
  }
  kept = std::move(sources);
  kept.push_back(std::make_shared<ProcessMetrics>());
  for (const auto& source : kept) exposer->RegisterCollectable(source);
  const auto ports = exposer->GetListeningPorts();
  return ports.empty() ? 0 : ports.front();
}

}  // namespace paceline
