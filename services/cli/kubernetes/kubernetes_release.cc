#include "services/cli/kubernetes/kubernetes_release.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace paceline {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

constexpr char kCoordinatorSuffix[] = "-coordinator";

// `fallback` for what is absent or of another type.
template <class Value>
Value At(const json& object, const char* pointer, Value fallback) {
  const Pointer place(pointer);
  if (!object.contains(place)) return fallback;
  const json& found = object.at(place);
  const bool fits = found.type() == json(fallback).type() ||
                    (found.is_number_integer() && json(fallback).is_number());
  return fits ? found.get<Value>() : fallback;
}

json ListAt(const json& object, const char* pointer) {
  return At(object, pointer, json(json::array()));
}

void ReadService(const json& service, KubernetesRelease& release) {
  // Without an address it is the name of one of two coordinators.
  if (At<std::string>(service, "/spec/clusterIP", "") == "None") return;
  for (const json& port : ListAt(service, "/spec/ports")) {
    if (At<std::string>(port, "/name", "") != "grpc") continue;
    release.service = At<std::string>(service, "/metadata/name", "");
    release.port = At<int64_t>(port, "/port", 0);
  }
  for (const json& way : ListAt(service, "/status/loadBalancer/ingress")) {
    release.host = At<std::string>(way, "/hostname", "");
    if (release.host.empty()) release.host = At<std::string>(way, "/ip", "");
    if (!release.host.empty()) return;
  }
}

bool UsesTls(const json& stateful_set) {
  for (const json& volume :
       ListAt(stateful_set, "/spec/template/spec/volumes")) {
    if (At<std::string>(volume, "/name", "") == "tls") return true;
  }
  return false;
}

}  // namespace

std::string ReleaseSelector(absl::string_view release) {
  return absl::StrCat("app.kubernetes.io/instance=", release,
                      ",app.kubernetes.io/component=coordinator");
}

absl::StatusOr<KubernetesRelease> ReadRelease(const json& objects) {
  KubernetesRelease release;
  for (const json& object : ListAt(objects, "/items")) {
    const std::string kind = At<std::string>(object, "/kind", "");
    if (kind == "Service") ReadService(object, release);
    if (kind == "StatefulSet" && UsesTls(object)) release.tls = true;
  }
  if (release.service.empty() || release.port == 0) {
    return absl::NotFoundError("there is no service of a coordinator");
  }
  release.admin_secret = absl::StrCat(
      absl::StripSuffix(release.service, kCoordinatorSuffix), "-tls-admin");
  return release;
}

absl::StatusOr<CertificateStore::Texts> ReadCertificate(const json& secret) {
  CertificateStore::Texts texts;
  for (const char* const name :
       {CertificateStore::kCertificate, CertificateStore::kKey,
        CertificateStore::kAuthority}) {
    const std::string value =
        At<std::string>(At(secret, "/data", json(json::object())),
                        absl::StrCat("/", name).c_str(), "");
    if (value.empty() || !absl::Base64Unescape(value, &texts[name])) {
      return absl::FailedPreconditionError(
          absl::StrCat("the secret has no ", name));
    }
  }
  return texts;
}

}  // namespace paceline
