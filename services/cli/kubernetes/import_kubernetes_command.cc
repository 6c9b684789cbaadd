#include "services/cli/kubernetes/import_kubernetes_command.h"

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/plain_name.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/connection.h"
#include "services/cli/certificates/certificate_store.h"
#include "services/cli/kubernetes/kubectl.h"
#include "services/cli/kubernetes/kubernetes_release.h"

namespace paceline {
namespace {

struct ImportFlags {
  std::string release;
  std::string space;         // Of Kubernetes.
  std::string kube_context;  // Of kubectl.
  std::string name;
  std::string address;
  std::string secret;
};

absl::StatusOr<Kubectl> FindKubectl(const Session& session,
                                    const ImportFlags& flags) {
  std::vector<std::string> words;
  if (!flags.kube_context.empty()) {
    words.push_back(absl::StrCat("--context=", flags.kube_context));
  }
  if (!flags.space.empty()) {
    words.push_back(absl::StrCat("--namespace=", flags.space));
  }
  return Kubectl::Find(session.console().environment("PATH"), std::move(words));
}

absl::StatusOr<KubernetesRelease> FindRelease(const Kubectl& kubectl,
                                              const ImportFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(const nlohmann::json objects,
                            kubectl.Get({"services,statefulsets", "--selector",
                                         ReleaseSelector(flags.release)}));
  absl::StatusOr<KubernetesRelease> release = ReadRelease(objects);
  if (release.ok()) return release;
  const std::string place = flags.space.empty()
                                ? "kubectl's namespace"
                                : absl::StrCat("namespace ", flags.space);
  return Annotate(release.status(),
                  absl::StrCat("release ", flags.release, " in ", place,
                               " (`helm list --all-namespaces` shows all; -n "
                               "names another namespace)"));
}

// Where the context's certificate is from now on.
absl::Status FetchCertificate(const Session& session, const Kubectl& kubectl,
                              const std::string& secret,
                              const std::string& name,
                              ConnectionFlags& connection) {
  const absl::StatusOr<nlohmann::json> found = kubectl.Get({"secret", secret});
  if (absl::IsNotFound(found.status())) {
    return Annotate(found.status(),
                    "name the secret of your certificate with --secret");
  }
  PACELINE_RETURN_IF_ERROR(found.status());
  const auto texts = ReadCertificate(*found);
  if (!texts.ok()) return Annotate(texts.status(), secret);
  const std::filesystem::path config =
      ConfigFilePath(session.console().environment);
  CertificateFolder folder(
      std::filesystem::absolute(config.parent_path() / "certificates"));
  PACELINE_RETURN_IF_ERROR(folder.Put(name, *texts));
  const std::string place = folder.PlaceOf(name);
  connection.settings["tls-cert"] = absl::StrCat(place, "/tls.crt");
  connection.settings["tls-key"] = absl::StrCat(place, "/tls.key");
  connection.settings["tls-ca"] = absl::StrCat(place, "/ca.crt");
  return absl::OkStatus();
}

std::string AddressOf(const ImportFlags& flags,
                      const KubernetesRelease& release) {
  if (!flags.address.empty()) return flags.address;
  const std::string host = release.host.empty() ? "localhost" : release.host;
  return absl::StrContains(host, ':')
             ? absl::StrCat("[", host, "]:", release.port)
             : absl::StrCat(host, ":", release.port);
}

// The call that makes `localhost:PORT` the coordinator's address.
std::string PortForward(const ImportFlags& flags,
                        const KubernetesRelease& release) {
  std::string line = "kubectl";
  if (!flags.kube_context.empty()) {
    absl::StrAppend(&line, " --context ", flags.kube_context);
  }
  if (!flags.space.empty()) absl::StrAppend(&line, " -n ", flags.space);
  absl::StrAppend(&line, " port-forward service/", release.service, " ",
                  release.port);
  return line;
}

absl::Status ImportKubernetes(Session& session, const ImportFlags& flags) {
  const std::string& name = flags.name.empty() ? flags.release : flags.name;
  PACELINE_RETURN_IF_ERROR(CheckPlainName("RELEASE", flags.release));
  PACELINE_RETURN_IF_ERROR(CheckPlainName("--name", name));
  if (ConfigFilePath(session.console().environment).empty()) {
    return absl::FailedPreconditionError(
        "there is no place for a config file: set PACELINE_CONFIG");
  }
  PACELINE_ASSIGN_OR_RETURN(const Kubectl kubectl, FindKubectl(session, flags));
  PACELINE_ASSIGN_OR_RETURN(const KubernetesRelease release,
                            FindRelease(kubectl, flags));
  const bool forwarded = flags.address.empty() && release.host.empty();
  ConnectionFlags connection;
  connection.settings = {{"address", AddressOf(flags, release)},
                         {"tls-cert", ""},
                         {"tls-key", ""},
                         {"tls-ca", ""}};
  if (release.tls) {
    PACELINE_RETURN_IF_ERROR(FetchCertificate(
        session, kubectl,
        flags.secret.empty() ? release.admin_secret : flags.secret, name,
        connection));
  }
  PACELINE_RETURN_IF_ERROR(SetContext(session, name, connection));
  if (forwarded) {
    session.Note(absl::StrCat(
        "the coordinator is reached through Kubernetes while this runs: ",
        PortForward(flags, release)));
  }
  return absl::OkStatus();
}

}  // namespace

void AddImportKubernetesCommand(CLI::App& root, ChosenCommand& chosen) {
  const auto command = AddPlainCommand<ImportFlags>(
      *root.get_subcommand("config"), "import-kubernetes",
      "Make a context of a Helm release", chosen, &ImportKubernetes);
  CLI::App& app = *command.app;
  ImportFlags& flags = *command.flags;
  app.add_option("RELEASE", flags.release, "The name of the Helm release.")
      ->type_name("")
      ->required();
  app.add_option("-n,--namespace", flags.space,
                 "The release's namespace in Kubernetes. Default: kubectl's.")
      ->type_name("NAMESPACE");
  app.add_option("--kube-context", flags.kube_context,
                 "The context of kubectl. Default: its current one.")
      ->type_name("CONTEXT");
  app.add_option("--name", flags.name,
                 "The name of the new context. Default: that of the release.")
      ->type_name("CONTEXT");
  app.add_option("--address", flags.address,
                 "Where the coordinator is reached. Default: at the service's "
                 "load balancer, or at localhost.")
      ->type_name("HOST:PORT");
  app.add_option("--secret", flags.secret,
                 "The secret with your certificate. Default: the "
                 "administrator's, as the chart names it.")
      ->type_name("NAME");
  app.footer(
      "\nThe certificate is written into `certificates/CONTEXT` beside the "
      "config file. Run\nthe command again when the cluster has renewed it.\n\n"
      "Examples:\n"
      "  paceline config import-kubernetes train -n training\n"
      "  kubectl -n training port-forward service/train-paceline-coordinator "
      "7070 &\n"
      "  paceline job list");
}

}  // namespace paceline
