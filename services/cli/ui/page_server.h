#ifndef PACELINE_SERVICES_CLI_UI_PAGE_SERVER_H_
#define PACELINE_SERVICES_CLI_UI_PAGE_SERVER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/http/http_server.h"
#include "common/work_queue.h"
#include "services/cli/admin/connection.h"
#include "services/cli/json_fields.h"
#include "services/cli/ui/cluster_calls.h"
#include "services/cli/ui/finished_runs.h"
#include "services/cli/ui/page_access.h"

namespace paceline {

struct PageOptions {
  int port = 0;      // On 127.0.0.1; 0: the system chooses.
  std::string runs;  // The folder of FinishedRuns; empty: there are none.
};

// Serves the page of a cluster and of finished runs, for one person in a
// browser on this machine: "/" and what belongs to it, and below "/api/" what
// ClusterCalls and FinishedRuns know. An error is {"error": {"code", "reason",
// "message"}}, with the code of the API. Thread-safe.
class PageServer {
 public:
  //   FAILED_PRECONDITION  this was built without Apache ECharts.
  //   UNAVAILABLE          the port is in use.
  static absl::StatusOr<std::unique_ptr<PageServer>> Start(
      const PageOptions& options);
  // Waits for no client, and for no coordinator.
  ~PageServer();

  // What to open: "http://127.0.0.1:PORT/#token=...".
  std::string address() const;

  // The cluster whose jobs are shown from now on; nothing: none at the moment.
  void ShowCluster(std::optional<Connection> connection) {
    cluster_.Connect(std::move(connection));
  }

 private:
  explicit PageServer(const std::string& runs);

  // Waits until the port is known.
  const PageAccess& access();

  void Handle(const HttpRequest& request, HttpServer::Respond respond);
  // Of one of the calls.
  absl::StatusOr<std::string> Answer(absl::string_view method,
                                     const std::string& body);
  // What the page shows beside jobs, and which of both kinds there are.
  Json Session() const;

  const std::string token_;
  std::optional<FinishedRuns> runs_;
  ClusterCalls cluster_;
  absl::Mutex mu_;
  std::optional<PageAccess> access_ ABSL_GUARDED_BY(mu_);  // Once it listens.
  std::unique_ptr<WorkQueue> queue_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_UI_PAGE_SERVER_H_
