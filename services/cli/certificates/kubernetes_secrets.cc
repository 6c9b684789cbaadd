#include "services/cli/certificates/kubernetes_secrets.h"

#include <httplib.h>
#include <stdlib.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/security/small_file.h"
#include "common/status.h"

namespace paceline {
namespace {

using nlohmann::json;

constexpr int kTimeoutSeconds = 10;
constexpr size_t kLongestName = 63;
constexpr char kAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount/";

// Empty if there is no string.
std::string TextAt(const json& object, const char* pointer) {
  const json::json_pointer where(pointer);
  return object.contains(where) && object.at(where).is_string()
             ? object.at(where).get<std::string>()
             : "";
}

// What the server says went wrong, in a Status object.
std::string Complaint(const httplib::Response& response) {
  const json body = json::parse(response.body, nullptr,
                                /*allow_exceptions=*/false);
  const std::string message = TextAt(body, "/message");
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

// Letters, digits and `inner`, those not at the ends.
bool IsName(absl::string_view text, absl::string_view inner) {
  if (text.empty() || text.size() > kLongestName) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (absl::ascii_isalnum(text[i])) continue;
    const bool end = i == 0 || i + 1 == text.size();
    if (end || !absl::StrContains(inner, text[i])) return false;
  }
  return true;
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

absl::Status KubernetesSecrets::Check(const Options& options) {
  if (!options.prefix.empty() && !IsName(options.prefix, "-")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", options.prefix, "\" cannot begin the names of secrets"));
  }
  for (const auto& [key, value] : options.labels) {
    const std::vector<absl::string_view> parts = absl::StrSplit(key, '/');
    const bool good = parts.size() <= 2 && IsName(parts.back(), "-_.") &&
                      (parts.size() == 1 || IsName(parts.front(), "-.")) &&
                      IsName(value, "-_.");
    if (good) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("\"", key, "=", value, "\" is no label"));
  }
  return absl::OkStatus();
}

absl::StatusOr<KubernetesSecrets::Options> KubernetesSecrets::OfThisPod() {
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
  const std::pair<const char*, std::string*> texts[] = {
      {"token", &options.token}, {"namespace", &options.name_space}};
  for (const auto& [file, text] : texts) {
    const auto read = ReadSmallFile(absl::StrCat(kAccount, file));
    if (!read.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the pod has no service account: ", read.status().message()));
    }
    *text = std::string(absl::StripAsciiWhitespace(*read));
  }
  return options;
}

KubernetesSecrets::KubernetesSecrets(Options options)
    : options_(std::move(options)),
      client_(std::make_unique<httplib::Client>(options_.api)) {
  client_->set_connection_timeout(kTimeoutSeconds);
  client_->set_read_timeout(kTimeoutSeconds);
  client_->set_write_timeout(kTimeoutSeconds);
  client_->set_bearer_token_auth(options_.token);
  if (!options_.ca_file.empty()) {
    client_->set_ca_cert_path(options_.ca_file);
    client_->enable_server_certificate_verification(true);
  }
}

KubernetesSecrets::~KubernetesSecrets() = default;

std::string KubernetesSecrets::Folder() const {
  return absl::StrCat("/api/v1/namespaces/", options_.name_space, "/secrets");
}

std::string KubernetesSecrets::PlaceOf(const std::string& name) const {
  return absl::StrCat("secret ", options_.prefix, "-", name);
}

absl::StatusOr<CertificateStore::Texts> KubernetesSecrets::Get(
    const std::string& name) {
  const std::string what = absl::StrCat("read ", PlaceOf(name));
  PACELINE_ASSIGN_OR_RETURN(
      const json secret, BodyOf(client_->Get(absl::StrCat(
                                    Folder(), "/", options_.prefix, "-", name)),
                                what));
  Texts texts;
  if (!secret.contains("data")) return texts;
  for (const auto& [key, value] : secret["data"].items()) {
    if (!value.is_string() ||
        !absl::Base64Unescape(value.get<std::string>(), &texts[key])) {
      return absl::InternalError(
          absl::StrCat("cannot ", what, ": ", key, " is not base64"));
    }
  }
  return texts;
}

absl::Status KubernetesSecrets::Put(const std::string& name,
                                    const Texts& texts) {
  json secret = {{"apiVersion", "v1"},
                 {"kind", "Secret"},
                 {"type", "kubernetes.io/tls"},
                 {"metadata",
                  {{"name", absl::StrCat(options_.prefix, "-", name)},
                   {"namespace", options_.name_space},
                   {"labels", options_.labels}}}};
  for (const auto& [key, text] : texts) {
    secret["data"][key] = absl::Base64Escape(text);
  }
  const std::string what = absl::StrCat("write ", PlaceOf(name));
  const std::string path =
      absl::StrCat(Folder(), "/", options_.prefix, "-", name);
  const auto before = BodyOf(client_->Get(path), what);
  if (absl::IsNotFound(before.status())) {
    return BodyOf(client_->Post(Folder(), secret.dump(), "application/json"),
                  what)
        .status();
  }
  PACELINE_RETURN_IF_ERROR(before.status());
  // ABORTED if it is not that one any more.
  secret["metadata"]["resourceVersion"] =
      TextAt(*before, "/metadata/resourceVersion");
  return BodyOf(client_->Put(path, secret.dump(), "application/json"), what)
      .status();
}

absl::StatusOr<int> KubernetesSecrets::RemoveAll() {
  if (options_.labels.empty()) {
    return absl::InvalidArgumentError(
        "without labels all secrets of the namespace would be removed");
  }
  PACELINE_RETURN_IF_ERROR(Check(options_));
  const std::string selector =
      absl::StrJoin(options_.labels, ",", absl::PairFormatter("="));
  const std::string what = absl::StrCat("remove the secrets with ", selector);
  const httplib::Params wanted = {{"labelSelector", selector}};
  PACELINE_ASSIGN_OR_RETURN(
      const json list,
      BodyOf(client_->Get(Folder(), wanted, httplib::Headers()), what));
  int removed = 0;
  if (!list.contains("items")) return removed;
  for (const json& secret : list["items"]) {
    const std::string name = TextAt(secret, "/metadata/name");
    if (name.empty()) continue;  // The folder itself would be all of them.
    const absl::Status gone =
        BodyOf(client_->Delete(absl::StrCat(Folder(), "/", name)), what)
            .status();
    if (!absl::IsNotFound(gone)) PACELINE_RETURN_IF_ERROR(gone);
    ++removed;
  }
  return removed;
}

}  // namespace paceline
