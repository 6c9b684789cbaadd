#ifndef PACELINE_SERVICES_CLI_UI_CLUSTER_CALLS_H_
#define PACELINE_SERVICES_CLI_UI_CLUSTER_CALLS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/connection.h"
#include "services/cli/admin/interruption.h"

namespace paceline {

// The calls of a coordinator's API that the page may make, as JSON in and JSON
// out, with the credentials of whoever has started it. Thread-safe; a call
// blocks its thread.
class ClusterCalls {
 public:
  ClusterCalls() = default;
  ~ClusterCalls() { Stop(); }

  // Whom to ask from now on; nothing: nobody. Ends the calls under way.
  void Connect(std::optional<Connection> connection);
  std::optional<Connection> connection() const;

  // The answer of `method`, "GetJob", to the request `body`, both in the proto
  // JSON mapping. The errors are those of AdminClient::Call(), and
  //   NOT_FOUND            it is no method that the page may call.
  //   INVALID_ARGUMENT     `body` is no request of it.
  //   FAILED_PRECONDITION  there is nobody to ask.
  //   UNAVAILABLE          also if somebody else is to be asked from now on.
  //   CANCELLED            after Stop().
  absl::StatusOr<std::string> Call(absl::string_view method,
                                   const std::string& body);

  // Ends the calls under way.
  void Stop();

 private:
  // A client, which one thread has at a time.
  struct Line {
    int number = 0;  // Of the connection that it was made for.
    std::shared_ptr<Interruption> interruption;
    std::unique_ptr<AdminClient> client;
  };

  absl::StatusOr<std::shared_ptr<Line>> Take();
  // False if it is of an earlier connection.
  bool GiveBack(std::shared_ptr<Line> line);
  void InterruptAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  std::optional<Connection> connection_ ABSL_GUARDED_BY(mu_);
  int number_ ABSL_GUARDED_BY(mu_) = 0;  // Counts connections.
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::shared_ptr<Line>> free_ ABSL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<Line>> busy_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_UI_CLUSTER_CALLS_H_
