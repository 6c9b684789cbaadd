#include "common/metrics/serve_metrics.h"

#include <prometheus/exposer.h>

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"

namespace paceline {

absl::StatusOr<int> ServeMetrics(
    const std::string& address,
    std::shared_ptr<prometheus::Registry> registry) {
  // Never destroyed: the HTTP server inside takes two seconds to stop, which
  // every process would add to its exit. It has nothing to flush.
  static prometheus::Exposer* exposer = nullptr;
  static auto& kept = *new std::shared_ptr<prometheus::Registry>;
  try {  // The library's only way to say that it cannot listen.
    exposer = new prometheus::Exposer(address, /*num_threads=*/1);
  } catch (const std::exception& error) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve metrics on ", address, ": ", error.what()));
  }
  kept = std::move(registry);
  exposer->RegisterCollectable(kept);
  const auto ports = exposer->GetListeningPorts();
  return ports.empty() ? 0 : ports.front();
}

}  // namespace paceline
