#ifndef PACELINE_COMMON_METRICS_SERVE_MONITORING_H_
#define PACELINE_COMMON_METRICS_SERVE_MONITORING_H_

#include <prometheus/collectable.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/http/http_server.h"
#include "common/metrics/scraper.h"

namespace paceline {

// Whether a process can do what it is there for. Thread-safe.
class Readiness {
 public:
  // OK: it can; otherwise why not.
  void Set(absl::Status status) {
    absl::MutexLock lock(&mu_);
    status_ = std::move(status);
  }
  absl::Status Get() const {
    absl::MutexLock lock(&mu_);
    return status_;
  }

 private:
  mutable absl::Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_) =
      absl::UnavailableError("it is starting");
};

// Serves over plain HTTP as long as it is there, whatever security the other
// ports have:
//
//   /metrics  what `sources` and ProcessMetrics collect.
//   /healthz  200 as long as the process answers, whatever its peers do.
//   /readyz   200 if `readiness` is OK, else 503 with its message.
//
// The last two are answered from memory, whatever other clients of the port do:
// HttpServer. Thread-safe.
class Monitoring {
 public:
  // `address` is "host:port"; port 0: the system chooses. INVALID_ARGUMENT if
  // it is none, UNAVAILABLE if it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<Monitoring>> Serve(
      const std::string& address,
      std::vector<std::shared_ptr<prometheus::Collectable>> sources,
      std::shared_ptr<const Readiness> readiness);

  int port() const { return server_->port(); }

 private:
  Monitoring(std::vector<std::shared_ptr<prometheus::Collectable>> sources,
             std::shared_ptr<const Readiness> readiness);

  void Answer(const HttpRequest& request, HttpServer::Respond respond);

  const std::shared_ptr<const Readiness> readiness_;
  Scraper scraper_;
  std::unique_ptr<HttpServer> server_;  // Last: it uses the above.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_METRICS_SERVE_MONITORING_H_
