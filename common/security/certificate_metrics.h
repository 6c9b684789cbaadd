#ifndef PACELINE_COMMON_SECURITY_CERTIFICATE_METRICS_H_
#define PACELINE_COMMON_SECURITY_CERTIFICATE_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <memory>
#include <vector>

#include "common/security/certificate_watch.h"

namespace paceline {

// Exports when a process's own certificate ends; nothing without one.
class CertificateMetrics final : public prometheus::Collectable {
 public:
  // Null: without TLS. It is not kept alive: whoever collects may do so up to
  // the very end of the process.
  explicit CertificateMetrics(
      const std::shared_ptr<const CertificateWatch>& watch)
      : watch_(watch) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::weak_ptr<const CertificateWatch> watch_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_CERTIFICATE_METRICS_H_
