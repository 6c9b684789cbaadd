#ifndef PACELINE_SERVICES_CLI_KUBERNETES_KUBECTL_H_
#define PACELINE_SERVICES_CLI_KUBERNETES_KUBECTL_H_

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// Asks a Kubernetes cluster by the kubectl of whoever runs this program, which
// knows their clusters and logs in as they do. Thread-compatible; for the main
// thread, as ChildProcess is.
class Kubectl {
 public:
  // `path` is a list of folders, as in PATH; `flags` go with every call.
  // FAILED_PRECONDITION if no folder has the program.
  static absl::StatusOr<Kubectl> Find(absl::string_view path,
                                      std::vector<std::string> flags);

  // What `kubectl get WORDS` finds, as Kubernetes writes it.
  //   NOT_FOUND, PERMISSION_DENIED  as the cluster says.
  //   UNAVAILABLE                   the cluster was not reached, or kubectl
  //                                 failed otherwise: its own words.
  //   DEADLINE_EXCEEDED             it did not end.
  //   INTERNAL                      what it printed is no JSON.
  absl::StatusOr<nlohmann::json> Get(
      const std::vector<std::string>& words) const;

 private:
  explicit Kubectl(std::vector<std::string> command)
      : command_(std::move(command)) {}

  std::vector<std::string> command_;  // The program and its flags.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_KUBERNETES_KUBECTL_H_
