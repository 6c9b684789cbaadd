#include "services/cli/certificates/certificate_commands.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status.h"
#include "services/cli/certificates/certificate_store.h"
#include "services/cli/certificates/ensure_certificates.h"
#include "services/cli/certificates/kubernetes_secrets.h"

namespace paceline {
namespace {

// As long as the authority.
constexpr int64_t kMostDays = 3650;

struct LabelFlags {
  std::vector<std::string> labels;
};

struct EnsureFlags : LabelFlags {
  std::vector<std::string> certificates;
  std::string folder;
  std::string secrets;
  int64_t days = 365;
  int64_t renew_before_days = 60;
};

absl::StatusOr<std::map<std::string, std::string>> ParseLabels(
    const LabelFlags& flags) {
  std::map<std::string, std::string> labels;
  for (const std::string& label : flags.labels) {
    const std::vector<std::string> sides =
        absl::StrSplit(label, absl::MaxSplits('=', 1));
    if (sides.size() != 2 || sides[0].empty() || sides[1].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--label ", label, ": want KEY=VALUE"));
    }
    labels[sides[0]] = sides[1];
  }
  return labels;
}

absl::StatusOr<KubernetesSecrets::Options> SecretsOfThisPod(
    const LabelFlags& flags) {
  KubernetesSecrets::Options options;
  PACELINE_ASSIGN_OR_RETURN(options.api, KubernetesApi::OfThisPod());
  PACELINE_ASSIGN_OR_RETURN(options.labels, ParseLabels(flags));
  return options;
}

absl::StatusOr<std::unique_ptr<CertificateStore>> OpenStore(
    const EnsureFlags& flags) {
  if (flags.folder.empty() == flags.secrets.empty()) {
    return absl::InvalidArgumentError(
        "want either --directory or --kubernetes-secrets");
  }
  if (!flags.folder.empty()) {
    if (!flags.labels.empty()) {
      return absl::InvalidArgumentError("--label is for secrets");
    }
    return std::make_unique<CertificateFolder>(flags.folder);
  }
  PACELINE_ASSIGN_OR_RETURN(KubernetesSecrets::Options options,
                            SecretsOfThisPod(flags));
  options.prefix = flags.secrets;
  PACELINE_RETURN_IF_ERROR(KubernetesSecrets::Check(options));
  return std::make_unique<KubernetesSecrets>(std::move(options));
}

absl::Status Ensure(Session& session, const EnsureFlags& flags) {
  std::vector<WantedCertificate> wanted;
  std::set<std::string> names;
  for (const std::string& text : flags.certificates) {
    PACELINE_ASSIGN_OR_RETURN(wanted.emplace_back(),
                              ParseWantedCertificate(text));
    if (!names.insert(wanted.back().name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(wanted.back().name, " is asked for twice"));
    }
  }
  if (flags.renew_before_days >= flags.days) {
    return absl::InvalidArgumentError(
        "--renew-before-days: must be less than --days, or every call would "
        "exchange all");
  }
  PACELINE_ASSIGN_OR_RETURN(const auto store, OpenStore(flags));
  CertificateLifetimes lifetimes;
  lifetimes.certificate = absl::Hours(24) * flags.days;
  lifetimes.renew_before = absl::Hours(24) * flags.renew_before_days;
  absl::Status written;
  const absl::Status ensured = EnsureCertificates(
      wanted, lifetimes, session.console().now(), *store,
      [&](absl::string_view line) {
        written.Update(session.Write(absl::StrCat(line, "\n")));
      });
  PACELINE_RETURN_IF_ERROR(ensured);
  return written;
}

absl::Status Remove(Session& session, const LabelFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(KubernetesSecrets::Options options,
                            SecretsOfThisPod(flags));
  PACELINE_ASSIGN_OR_RETURN(const int removed,
                            KubernetesSecrets(std::move(options)).RemoveAll());
  return session.Write(absl::StrCat(removed, " secrets removed\n"));
}

CLI::Option* AddLabels(CLI::App& command, LabelFlags& flags, const char* help) {
  return command.add_option("--label", flags.labels, help)
      ->type_name("KEY=VALUE");
}

}  // namespace

void AddCertificateCommands(CLI::App& root, ChosenCommand& chosen) {
  CLI::App& certificate = *root.add_subcommand(
      "certificate", "Certificates of a cluster's own authority");
  certificate.require_subcommand(1);
  const auto ensure = AddPlainCommand<EnsureFlags>(
      certificate, "ensure",
      "Issue what is missing or ends soon; may be repeated", chosen, &Ensure);
  EnsureFlags& flags = *ensure.flags;
  ensure.app
      ->add_option(
          "CERTIFICATE", flags.certificates,
          "A certificate, as NAME=ROLE/IDENTITY[,HOST...]. NAME is its "
          "folder, or the end of its secret's name.")
      ->type_name("")
      ->required();
  ensure.app
      ->add_option("--directory", flags.folder,
                   "Keep the certificates in this folder: NAME/tls.crt, "
                   "tls.key and ca.crt. The authority's are in ca/. "
                   "Default: none; give this or --kubernetes-secrets.")
      ->type_name("DIR");
  ensure.app
      ->add_option("--kubernetes-secrets", flags.secrets,
                   "Keep the certificates as secrets of this pod's namespace. "
                   "Their names begin with PREFIX-. "
                   "Default: none; give this or --directory.")
      ->type_name("PREFIX");
  AddLabels(*ensure.app, flags,
            "A label of the secrets. May be given again. Default: none.");
  ensure.app
      ->add_option("--days", flags.days,
                   "Days for which new certificates are valid.")
      ->check(CLI::Range(int64_t{1}, kMostDays).description(""))
      ->type_name("DAYS")
      ->capture_default_str();
  ensure.app
      ->add_option("--renew-before-days", flags.renew_before_days,
                   "Renew certificates that end within so many days.")
      ->check(CLI::Range(int64_t{0}, kMostDays).description(""))
      ->type_name("DAYS")
      ->capture_default_str();
  ensure.app->footer(
      "\nExample: paceline certificate ensure --directory tls \\\n"
      "  coordinator=coordinator/coordinator,coordinator.lab,10.0.0.2 \\\n"
      "  s0=server/s0,s0.lab w0=worker/w0 alice=admin/alice");
  const auto remove = AddPlainCommand<LabelFlags>(
      certificate, "remove-secrets",
      "Delete all secrets of the own pod's namespace with the given labels",
      chosen, &Remove);
  AddLabels(*remove.app, *remove.flags,
            "A label that the secrets have. May be given again.")
      ->required();
}

}  // namespace paceline
