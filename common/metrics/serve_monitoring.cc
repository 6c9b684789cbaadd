#include "common/metrics/serve_monitoring.h"

#include <CivetServer.h>
#include <prometheus/exposer.h>

#include <atomic>
#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/metrics/process_metrics.h"

namespace paceline {
namespace {

// Never destroyed: the HTTP server inside takes two seconds to stop, which
// every process would add to its exit. It has nothing to flush.
struct Served {
  std::vector<std::shared_ptr<prometheus::Collectable>> sources;
  std::shared_ptr<const Readiness> readiness;
  std::unique_ptr<prometheus::Exposer> exposer;
};
std::atomic<Served*> served = nullptr;

int Answer(mg_connection* connection, const absl::Status& status) {
  const int code = status.ok() ? 200 : 503;
  const std::string body =
      status.ok() ? "ok\n" : absl::StrCat(status.message(), "\n");
  mg_printf(connection,
            "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
            "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
            code, status.ok() ? "OK" : "Service Unavailable", body.size(),
            body.c_str());
  return code;
}

// 0: not one of these; the exposer answers.
int AnswerHealth(mg_connection* connection) {
  const absl::string_view path = mg_get_request_info(connection)->local_uri;
  if (path == "/healthz") return Answer(connection, absl::OkStatus());
  if (path != "/readyz") return 0;
  const Served* const here = served.load();
  return Answer(connection, here == nullptr
                                ? absl::UnavailableError("it is starting")
                                : here->readiness->Get());
}

}  // namespace

absl::StatusOr<int> ServeMonitoring(
    const std::string& address,
    std::vector<std::shared_ptr<prometheus::Collectable>> sources,
    std::shared_ptr<const Readiness> readiness) {
  auto serving = std::make_unique<Served>();
  serving->sources = std::move(sources);
  serving->sources.push_back(std::make_shared<ProcessMetrics>());
  serving->readiness = std::move(readiness);
  CivetCallbacks callbacks;
  callbacks.begin_request = &AnswerHealth;
  // So that a few peers that send nothing, or read nothing, do not make a probe
  // fail.
  const std::vector<std::string> options = {"listening_ports",    address,
                                            "num_threads",        "8",
                                            "request_timeout_ms", "2000"};
  try {  // The library's only way to say that it cannot listen.
    serving->exposer =
        std::make_unique<prometheus::Exposer>(options, &callbacks);
  } catch (const std::exception& error) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve metrics on ", address, ": ", error.what()));
  }
  for (const auto& source : serving->sources) {
    serving->exposer->RegisterCollectable(source);
  }
  const auto ports = serving->exposer->GetListeningPorts();
  served = serving.release();
  return ports.empty() ? 0 : ports.front();
}

}  // namespace paceline
