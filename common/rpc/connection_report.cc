#include "common/rpc/connection_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "common/clock.h"
#include "common/log/log.h"
#include "common/metrics/series.h"

namespace paceline {

ConnectionReport::ConnectionReport(prometheus::Registry& registry)
    : open_(GaugeSeries(registry, "paceline_connections",
                        "Connections to the gRPC port that are open.")),
      strangers_(GaugeSeries(
          registry, "paceline_connections_strangers",
          "Of these, those of which no message has been accepted yet.")),
      warnings_({.per_second = 1, .burst = 10, .max_identities = 1}) {
  auto& cut = prometheus::BuildCounter()
                  .Name("paceline_connections_cut_total")
                  .Help(
                      "Connections to the gRPC port that the process has "
                      "ended to save its memory or descriptors, by reason.")
                  .Register(registry);
  for (const CutReason reason : kCutReasons) {
    cut_[reason] = &cut.Add({{"reason", std::string(NameOf(reason))}});
  }
}

void ConnectionReport::SetCounts(const Door::Counts& counts) {
  open_.Set(static_cast<double>(counts.open));
  strangers_.Set(static_cast<double>(counts.strangers));
}

void ConnectionReport::Cut(const std::string& peer,
                           const ConnectionBudget::Cut& cut) {
  cut_.at(cut.reason)->Increment();
  uint64_t untold = 0;
  {
    absl::MutexLock lock(&mu_);
    if (warnings_.Take("", Clock::Real().Now()) > absl::ZeroDuration()) {
      ++untold_;
      return;
    }
    untold = std::exchange(untold_, 0);
  }
  LogWarning("connection cut", {{"peer", peer},
                                {"reason", NameOf(cut.reason)},
                                {"authorized", !cut.stranger},
                                {"bytes_waiting", cut.owed},
                                {"others_not_logged", untold}});
}

}  // namespace paceline
