#include "services/cli/certificates/kubernetes_secrets.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status.h"

namespace paceline {
namespace {

using nlohmann::json;

constexpr size_t kLongestName = 63;

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

std::string KubernetesSecrets::Folder() const {
  return absl::StrCat("/api/v1/namespaces/", api_.name_space(), "/secrets");
}

std::string KubernetesSecrets::PlaceOf(const std::string& name) const {
  return absl::StrCat("secret ", options_.prefix, "-", name);
}

absl::StatusOr<CertificateStore::Texts> KubernetesSecrets::Get(
    const std::string& name) {
  const std::string what = absl::StrCat("read ", PlaceOf(name));
  PACELINE_ASSIGN_OR_RETURN(
      const json secret,
      api_.Get(absl::StrCat(Folder(), "/", options_.prefix, "-", name), what));
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
                   {"namespace", api_.name_space()},
                   {"labels", options_.labels}}}};
  for (const auto& [key, text] : texts) {
    secret["data"][key] = absl::Base64Escape(text);
  }
  const std::string what = absl::StrCat("write ", PlaceOf(name));
  const std::string path =
      absl::StrCat(Folder(), "/", options_.prefix, "-", name);
  const auto before = api_.Get(path, what);
  if (absl::IsNotFound(before.status())) {
    return api_.Post(Folder(), secret, what).status();
  }
  PACELINE_RETURN_IF_ERROR(before.status());
  // ABORTED if it is not that one any more.
  secret["metadata"]["resourceVersion"] =
      KubernetesApi::TextAt(*before, "/metadata/resourceVersion");
  return api_.Put(path, secret, what).status();
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
  PACELINE_ASSIGN_OR_RETURN(const json list,
                            api_.List(Folder(), selector, what));
  int removed = 0;
  if (!list.contains("items")) return removed;
  for (const json& secret : list["items"]) {
    const std::string name = KubernetesApi::TextAt(secret, "/metadata/name");
    if (name.empty()) continue;  // The folder itself would be all of them.
    const absl::Status gone =
        api_.Delete(absl::StrCat(Folder(), "/", name), what).status();
    if (!absl::IsNotFound(gone)) PACELINE_RETURN_IF_ERROR(gone);
    ++removed;
  }
  return removed;
}

}  // namespace paceline
