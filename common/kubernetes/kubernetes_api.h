#ifndef PACELINE_COMMON_KUBERNETES_KUBERNETES_API_H_
#define PACELINE_COMMON_KUBERNETES_KUBERNETES_API_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace httplib {
class Client;
class Result;
}  // namespace httplib

namespace paceline {

// Calls of a Kubernetes API server: JSON over HTTP. Paths begin with "/apis/"
// or
// "/api/". Thread-compatible.
//
// Errors, each with `what` was being done: UNAVAILABLE (no answer in time, or
// the server's fault), UNAUTHENTICATED, PERMISSION_DENIED (the account lacks a
// role), NOT_FOUND, ABORTED (a conflict: somebody else has changed the object
// meanwhile), INVALID_ARGUMENT, and INTERNAL (an answer that is none).
class KubernetesApi {
 public:
  struct Options {
    std::string api;      // "https://10.96.0.1:443"
    std::string ca_file;  // The API server's; empty: plain HTTP, for tests.
    // The account that asks has it: the file is read for each call, because a
    // token is good for an hour.
    std::string token_file;
    std::string token;  // Instead of the file.
    std::string name_space;
    absl::Duration timeout = absl::Seconds(10);
  };

  // The options of the pod that this process runs in, by its service account.
  // FAILED_PRECONDITION if it runs in none.
  static absl::StatusOr<Options> OfThisPod();

  explicit KubernetesApi(Options options);
  ~KubernetesApi();

  const std::string& name_space() const { return options_.name_space; }

  absl::StatusOr<nlohmann::json> Get(const std::string& path,
                                     absl::string_view what);
  // Objects with these labels: "a=b,c=d".
  absl::StatusOr<nlohmann::json> List(const std::string& path,
                                      const std::string& labels,
                                      absl::string_view what);
  absl::StatusOr<nlohmann::json> Post(const std::string& path,
                                      const nlohmann::json& object,
                                      absl::string_view what);
  absl::StatusOr<nlohmann::json> Put(const std::string& path,
                                     const nlohmann::json& object,
                                     absl::string_view what);
  // A merge patch (RFC 7386).
  absl::StatusOr<nlohmann::json> Patch(const std::string& path,
                                       const nlohmann::json& changes,
                                       absl::string_view what);
  absl::StatusOr<nlohmann::json> Delete(const std::string& path,
                                        absl::string_view what);

  // The string at "/metadata/name"; empty if there is none.
  static std::string TextAt(const nlohmann::json& object, const char* pointer);

 private:
  // With the token of now.
  absl::Status Prepare();

  const Options options_;
  const std::unique_ptr<httplib::Client> client_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_KUBERNETES_KUBERNETES_API_H_
