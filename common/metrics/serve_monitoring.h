#ifndef PACELINE_COMMON_METRICS_SERVE_MONITORING_H_
#define PACELINE_COMMON_METRICS_SERVE_MONITORING_H_

#include <prometheus/collectable.h>

#include <functional>
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
  // What something that a process works with comes to.
  struct Part {
    absl::Status status;    // Not OK: the process cannot work for that.
    std::string note = {};  // What is wrong with it all the same.
  };

  // OK: it can; otherwise why not.
  void Set(absl::Status status) {
    absl::MutexLock lock(&mu_);
    status_ = std::move(status);
  }
  // `look` is asked by every Get() from now on; null: nobody. It must not
  // block. Once this returns, one from before is not under way any more.
  void SetPart(std::function<Part()> look) {
    absl::MutexLock lock(&mu_);
    look_ = std::move(look);
  }
  // The status, and else that of the part.
  Part Get() const {
    absl::MutexLock lock(&mu_);
    if (!status_.ok() || look_ == nullptr) return {status_};
    return look_();
  }

 private:
  mutable absl::Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_) =
      absl::UnavailableError("it is starting");
  std::function<Part()> look_ ABSL_GUARDED_BY(mu_);
};

// The part of a Readiness, for as long as this lives: what it looks at may go
// after it.
class ReadinessPart {
 public:
  // `readiness` outlives this.
  ReadinessPart(Readiness* readiness, std::function<Readiness::Part()> look)
      : readiness_(readiness) {
    readiness_->SetPart(std::move(look));
  }
  ~ReadinessPart() { readiness_->SetPart(nullptr); }
  ReadinessPart(const ReadinessPart&) = delete;
  ReadinessPart& operator=(const ReadinessPart&) = delete;

 private:
  Readiness* const readiness_;
};

// Serves over plain HTTP as long as it is there, whatever security the other
// ports have:
//
//   /metrics  what `sources` and ProcessMetrics collect.
//   /healthz  200 as long as the process answers, whatever its peers do.
//   /readyz   200 if `readiness` is OK, with its note behind the "ok"; else 503
//             with its message.
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
