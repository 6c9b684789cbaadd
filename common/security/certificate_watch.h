#ifndef PACELINE_COMMON_SECURITY_CERTIFICATE_WATCH_H_
#define PACELINE_COMMON_SECURITY_CERTIFICATE_WATCH_H_

#include <grpcpp/security/tls_certificate_provider.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/security/published_file.h"
#include "common/security/small_file.h"
#include "common/security/tls_files.h"

namespace paceline {

// The certificates of this process for gRPC, from files that are looked at
// again every `interval`. New ones are used for the connections that begin
// about a second later; those that are open stay. gRPC's own watcher would take
// whatever it finds, and with a new certificate beside the old key nobody could
// connect any more. This one hands on what ReadTlsFiles() accepts; otherwise
// everything stays as it was, and a warning is logged once. Also when the own
// certificate has expired.
//
// Connections may outlive it; they and their successors keep the certificates
// of then. Thread-safe.
class CertificateWatch {
 public:
  // The errors of ReadTlsFiles(), and UNAVAILABLE without /proc or memory.
  static absl::StatusOr<std::shared_ptr<const CertificateWatch>> Open(
      const TlsFiles& files, absl::Duration interval);

  // For one server or channel: if one channel is closed while another is made,
  // gRPC may tell a provider of both in the wrong order, and the new one would
  // never get a certificate.
  std::shared_ptr<grpc::experimental::CertificateProviderInterface>
  MakeProvider() const;

  // When the own certificate ends, as it was last found; InfiniteFuture() if
  // there is none.
  absl::Time expires() const;

  const TlsFiles& files() const { return files_; }
  bool has_identity() const { return !files_.cert.empty(); }
  bool has_ca() const { return !files_.ca.empty(); }

 private:
  CertificateWatch(TlsFiles files, TlsMaterial material);

  absl::Status Start(absl::Duration interval);
  void Look();
  absl::Status Hand(const TlsMaterial& material);
  void WarnIfExpired();

  const TlsFiles files_;
  // The thread's own.
  TlsMaterial material_;
  std::string complaint_;
  bool warned_of_expiry_ = false;
  std::optional<PublishedFile> identity_;
  std::optional<PublishedFile> ca_;

  // Seconds of Unix time; the largest number means never.
  std::atomic<int64_t> expires_ = std::numeric_limits<int64_t>::max();

  std::unique_ptr<Periodic> looking_;  // Ends before what it looks at.
};

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

#endif  // PACELINE_COMMON_SECURITY_CERTIFICATE_WATCH_H_
