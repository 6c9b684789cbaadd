#include "common/security/certificate_metrics.h"

#include "absl/time/time.h"

namespace paceline {

std::vector<prometheus::MetricFamily> CertificateMetrics::Collect() const {
  const auto watch = watch_.lock();
  if (watch == nullptr || watch->expires() == absl::InfiniteFuture()) {
    return {};
  }
  prometheus::ClientMetric metric;
  metric.gauge.value =
      absl::ToDoubleSeconds(watch->expires() - absl::UnixEpoch());
  return {{.name = "paceline_certificate_expiry_timestamp_seconds",
           .help = "Unix time at which the process's own certificate ends.",
           .type = prometheus::MetricType::Gauge,
           .metric = {metric}}};
}

}  // namespace paceline
