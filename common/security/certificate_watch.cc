#include "common/security/certificate_watch.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/log/log.h"
#include "common/security/small_file.h"
#include "common/status.h"

namespace paceline {
namespace {

// How often gRPC looks at what it is handed; it counts in whole seconds.
constexpr unsigned kGrpcIntervalSeconds = 1;

absl::StatusOr<std::optional<PublishedFile>> PublishIfAny(
    const std::string& text) {
  if (text.empty()) return std::nullopt;
  PACELINE_ASSIGN_OR_RETURN(PublishedFile file, PublishedFile::Make(text));
  // gRPC would only log that it cannot read it, and refuse every connection.
  const auto readable = ReadSmallFile(file.path());
  if (!readable.ok()) {
    return absl::UnavailableError(absl::StrCat("TLS needs a readable /proc: ",
                                               readable.status().message()));
  }
  return file;
}

std::string PathOf(const std::optional<PublishedFile>& file) {
  return file.has_value() ? file->path() : "";
}

}  // namespace

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

absl::StatusOr<std::shared_ptr<const CertificateWatch>> CertificateWatch::Open(
    const TlsFiles& files, absl::Duration interval) {
  PACELINE_ASSIGN_OR_RETURN(TlsMaterial material, ReadTlsFiles(files));
  std::shared_ptr<CertificateWatch> watch(
      new CertificateWatch(files, std::move(material)));
  PACELINE_RETURN_IF_ERROR(watch->Start(interval));
  return watch;
}

CertificateWatch::CertificateWatch(TlsFiles files, TlsMaterial material)
    : files_(std::move(files)), material_(std::move(material)) {}

absl::Status CertificateWatch::Start(absl::Duration interval) {
  PACELINE_ASSIGN_OR_RETURN(identity_, PublishIfAny(material_.identity));
  PACELINE_ASSIGN_OR_RETURN(ca_, PublishIfAny(material_.ca));
  WarnIfExpired();
  looking_ = std::make_unique<Periodic>(interval, [this] { Look(); });
  return absl::OkStatus();
}

std::shared_ptr<grpc::experimental::CertificateProviderInterface>
CertificateWatch::MakeProvider() const {
  // Key and certificates have one path, so that they change together.
  const std::string identity = PathOf(identity_);
  return std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      identity, identity, PathOf(ca_), kGrpcIntervalSeconds);
}

absl::Time CertificateWatch::expires() const {
  const int64_t seconds = expires_;
  return seconds == std::numeric_limits<int64_t>::max()
             ? absl::InfiniteFuture()
             : absl::FromUnixSeconds(seconds);
}

void CertificateWatch::Look() {
  const auto material = ReadTlsFiles(files_);
  absl::Status status = material.status();
  if (status.ok() && !(*material == material_)) status = Hand(*material);
  if (status.ok()) {
    complaint_.clear();
  } else if (complaint_ != status.message()) {
    complaint_ = std::string(status.message());
    LogWarning("the certificates cannot be used; they stay as they were",
               {{"error", complaint_}});
  }
  WarnIfExpired();
}

absl::Status CertificateWatch::Hand(const TlsMaterial& material) {
  if (identity_.has_value() && material.identity != material_.identity) {
    PACELINE_RETURN_IF_ERROR(identity_->Publish(material.identity));
  }
  if (ca_.has_value() && material.ca != material_.ca) {
    PACELINE_RETURN_IF_ERROR(ca_->Publish(material.ca));
  }
  material_ = material;
  warned_of_expiry_ = false;
  LogInfo("the certificates have changed",
          {{"expires", absl::FormatTime(absl::RFC3339_sec, material_.expires,
                                        absl::UTCTimeZone())}});
  return absl::OkStatus();
}

void CertificateWatch::WarnIfExpired() {
  expires_ = absl::ToUnixSeconds(material_.expires);
  if (warned_of_expiry_ || absl::Now() < material_.expires) return;
  warned_of_expiry_ = true;
  LogWarning("the certificate has expired: peers refuse it",
             {{"file", files_.cert}});
}

}  // namespace paceline
