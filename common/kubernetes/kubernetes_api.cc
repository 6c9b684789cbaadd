#include "common/kubernetes/kubernetes_api.h"

#include <httplib.h>
#include <stdlib.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/security/small_file.h"
#include "common/status.h"

namespace paceline {
namespace {

using nlohmann::json;

constexpr char kAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount/";
constexpr char kJson[] = "application/json";

// What the server says went wrong, in a Status object.
std::string Complaint(const httplib::Response& response) {
  const json body = json::parse(response.body, nullptr,
                                /*allow_exceptions=*/false);
  const std::string message = KubernetesApi::TextAt(body, "/message");
  return message.empty() ? absl::StrCat("HTTP ", response.status) : message;
}

absl::StatusCode CodeOf(int http) {
  switch (http) {
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 409:
      return absl::StatusCode::kAborted;
    case 422:
    case 400:
      return absl::StatusCode::kInvalidArgument;
    default:
      return http >= 500 || http == 429 ? absl::StatusCode::kUnavailable
                                        : absl::StatusCode::kInternal;
  }
}

absl::StatusOr<json> BodyOf(const httplib::Result& result,
                            absl::string_view what) {
  if (!result) {
    return absl::UnavailableError(
        absl::StrCat("cannot ", what, ": the API server does not answer: ",
                     httplib::to_string(result.error())));
  }
  if (result->status < 200 || result->status > 299) {
    return absl::Status(
        CodeOf(result->status),
        absl::StrCat("cannot ", what, ": ", Complaint(*result)));
  }
  json body = json::parse(result->body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object()) {
    return absl::InternalError(absl::StrCat(
        "cannot ", what, ": the API server's answer is no JSON object"));
  }
  return body;
}

}  // namespace

std::string KubernetesApi::TextAt(const json& object, const char* pointer) {
  const json::json_pointer where(pointer);
  return object.contains(where) && object.at(where).is_string()
             ? object.at(where).get<std::string>()
             : "";
}

absl::StatusOr<KubernetesApi::Options> KubernetesApi::OfThisPod() {
  const char* const host = getenv("KUBERNETES_SERVICE_HOST");
  const char* const port = getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr) {
    return absl::FailedPreconditionError(
        "this is no pod: KUBERNETES_SERVICE_HOST is not set");
  }
  Options options;
  // The library cannot read IPv6 addresses; the certificate has this name too.
  const bool v6 = absl::StrContains(host, ":");
  options.api =
      absl::StrCat("https://", v6 ? "kubernetes.default.svc" : host, ":", port);
  options.ca_file = absl::StrCat(kAccount, "ca.crt");
  options.token_file = absl::StrCat(kAccount, "token");
  const auto space = ReadSmallFile(absl::StrCat(kAccount, "namespace"));
  if (!space.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the pod has no service account: ", space.status().message()));
  }
  options.name_space = std::string(absl::StripAsciiWhitespace(*space));
  return options;
}

KubernetesApi::KubernetesApi(Options options)
    : options_(std::move(options)),
      client_(std::make_unique<httplib::Client>(options_.api)) {
  const auto timeout = absl::ToChronoMicroseconds(options_.timeout);
  client_->set_connection_timeout(timeout);
  client_->set_read_timeout(timeout);
  client_->set_write_timeout(timeout);
  if (!options_.ca_file.empty()) {
    client_->set_ca_cert_path(options_.ca_file);
    client_->enable_server_certificate_verification(true);
  }
}

KubernetesApi::~KubernetesApi() = default;

absl::Status KubernetesApi::Prepare() {
  std::string token = options_.token;
  if (token.empty() && !options_.token_file.empty()) {
    PACELINE_ASSIGN_OR_RETURN(token, ReadSmallFile(options_.token_file));
  }
  client_->set_bearer_token_auth(
      std::string(absl::StripAsciiWhitespace(token)));
  return absl::OkStatus();
}

absl::StatusOr<json> KubernetesApi::Get(const std::string& path,
                                        absl::string_view what) {
  PACELINE_RETURN_IF_ERROR(Prepare());
  return BodyOf(client_->Get(path), what);
}

absl::StatusOr<json> KubernetesApi::List(const std::string& path,
                                         const std::string& labels,
                                         absl::string_view what) {
  PACELINE_RETURN_IF_ERROR(Prepare());
  const httplib::Params wanted = {{"labelSelector", labels}};
  return BodyOf(client_->Get(path, wanted, httplib::Headers()), what);
}

absl::StatusOr<json> KubernetesApi::Post(const std::string& path,
                                         const json& object,
                                         absl::string_view what) {
  PACELINE_RETURN_IF_ERROR(Prepare());
  return BodyOf(client_->Post(path, object.dump(), kJson), what);
}

absl::StatusOr<json> KubernetesApi::Put(const std::string& path,
                                        const json& object,
                                        absl::string_view what) {
  PACELINE_RETURN_IF_ERROR(Prepare());
  return BodyOf(client_->Put(path, object.dump(), kJson), what);
}

absl::StatusOr<json> KubernetesApi::Patch(const std::string& path,
                                          const json& changes,
                                          absl::string_view what) {
  PACELINE_RETURN_IF_ERROR(Prepare());
  return BodyOf(
      client_->Patch(path, changes.dump(), "application/merge-patch+json"),
      what);
}

absl::StatusOr<json> KubernetesApi::Delete(const std::string& path,
                                           absl::string_view what) {
  PACELINE_RETURN_IF_ERROR(Prepare());
  return BodyOf(client_->Delete(path), what);
}

}  // namespace paceline
