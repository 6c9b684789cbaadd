#include "common/metrics/serve_monitoring.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/metrics/process_metrics.h"
#include "common/status.h"

namespace paceline {
namespace {

// Prometheus' text format, which its newer releases insist on being named.
constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

HttpAnswer HealthAnswer(const Readiness::Part& part) {
  HttpAnswer answer;
  const bool ok = part.status.ok();
  answer.status = ok ? 200 : 503;
  answer.body = absl::StrCat(ok ? "ok" : part.status.message(), "\n");
  if (!part.note.empty()) absl::StrAppend(&answer.body, part.note, "\n");
  return answer;
}

std::vector<std::shared_ptr<prometheus::Collectable>> WithProcess(
    std::vector<std::shared_ptr<prometheus::Collectable>> sources) {
  sources.push_back(std::make_shared<ProcessMetrics>());
  return sources;
}

}  // namespace

Monitoring::Monitoring(
    std::vector<std::shared_ptr<prometheus::Collectable>> sources,
    std::shared_ptr<const Readiness> readiness)
    : readiness_(std::move(readiness)),
      scraper_(WithProcess(std::move(sources))) {}

absl::StatusOr<std::unique_ptr<Monitoring>> Monitoring::Serve(
    const std::string& address,
    std::vector<std::shared_ptr<prometheus::Collectable>> sources,
    std::shared_ptr<const Readiness> readiness) {
  std::unique_ptr<Monitoring> monitoring(
      new Monitoring(std::move(sources), std::move(readiness)));
  PACELINE_ASSIGN_OR_RETURN(
      monitoring->server_,
      Annotate(HttpServer::Listen(
                   address,
                   [serves = monitoring.get()](const HttpRequest& request,
                                               HttpServer::Respond respond) {
                     serves->Answer(request, std::move(respond));
                   },
                   {}),
               "--metrics"));
  return monitoring;
}

void Monitoring::Answer(const HttpRequest& request,
                        HttpServer::Respond respond) {
  if (request.path == "/healthz") {
    return std::move(respond)(HealthAnswer({absl::OkStatus()}));
  }
  if (request.path == "/readyz") {
    return std::move(respond)(HealthAnswer(readiness_->Get()));
  }
  if (request.path != "/metrics") {
    HttpAnswer answer;
    answer.status = 404;
    answer.body = "there are /metrics, /healthz and /readyz\n";
    return std::move(respond)(std::move(answer));
  }
  scraper_.Ask(request.accepts_gzip,
               [respond = std::move(respond)](Scraper::Text text) mutable {
                 HttpAnswer answer;
                 answer.content_type = kMetricsType;
                 answer.body = std::move(text.bytes);
                 answer.gzipped = text.gzipped;
                 std::move(respond)(std::move(answer));
               });
}

}  // namespace paceline
