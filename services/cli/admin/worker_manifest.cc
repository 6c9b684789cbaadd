#include "services/cli/admin/worker_manifest.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/host_port.h"
#include "common/plain_name.h"
#include "common/status.h"
#include "services/cli/admin/output/format.h"
#include "services/cli/json_fields.h"

namespace paceline {
namespace {

constexpr char kSocketFolder[] = "/run/paceline";
constexpr char kSocket[] = "/run/paceline/program.sock";
constexpr int64_t kUser = 65532;
// A pod's name, which is the worker's, is this much longer than its
// Deployment's.
constexpr size_t kPodSuffix = 17;
// What an agent needs beside weights and gradients.
constexpr int64_t kAgentRequestMebibytes = 256;
constexpr int64_t kAgentLimitMebibytes = 1024;

absl::Status Wrong(absl::string_view flag, absl::string_view value,
                   absl::string_view want) {
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " \"", value, "\": ", want));
}

absl::Status CheckObjectName(absl::string_view flag, absl::string_view name,
                             size_t length_max) {
  const auto fits = [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '-';
  };
  if (!name.empty() && name.size() <= length_max &&
      std::all_of(name.begin(), name.end(), fits) &&
      absl::ascii_islower(static_cast<unsigned char>(name.front())) &&
      name.back() != '-') {
    return absl::OkStatus();
  }
  return Wrong(flag, name,
               absl::StrCat("want 1 to ", length_max,
                            " small letters, digits and '-', beginning with a "
                            "letter and not ending with '-'"));
}

// "512Mi", "1.5Gi", "250m", "2".
absl::Status CheckQuantity(absl::string_view flag, absl::string_view text) {
  absl::string_view number = text;
  for (const absl::string_view unit :
       {"Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "m", "k", "M", "G", "T", "P"}) {
    if (absl::ConsumeSuffix(&number, unit)) break;
  }
  const bool digits = std::all_of(
      number.begin(), number.end(),
      [](unsigned char c) { return absl::ascii_isdigit(c) || c == '.'; });
  double value = 0;
  if (digits && absl::SimpleAtod(number, &value) && value > 0) {
    return absl::OkStatus();
  }
  return Wrong(flag, text, "want a quantity above 0, as 512Mi, 1.5Gi or 250m");
}

absl::StatusOr<int64_t> ParseMebibytes(absl::string_view flag,
                                       absl::string_view text) {
  constexpr int64_t kMost = int64_t{1} << 30;
  absl::string_view number = text;
  const int64_t scale = absl::ConsumeSuffix(&number, "Gi")   ? 1024
                        : absl::ConsumeSuffix(&number, "Mi") ? 1
                                                             : 0;
  int64_t value = 0;
  if (scale != 0 && absl::SimpleAtoi(number, &value) && value > 0 &&
      value <= kMost / scale) {
    return value * scale;
  }
  return Wrong(flag, text, "want a whole number of Mi or Gi, as 512Mi");
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

absl::StatusOr<Pairs> ParsePairs(absl::string_view flag,
                                 const std::vector<std::string>& texts) {
  Pairs pairs;
  for (const std::string& text : texts) {
    std::pair<std::string, std::string> pair =
        absl::StrSplit(text, absl::MaxSplits('=', 1));
    if (pair.first.empty() || text.find('=') == std::string::npos) {
      return Wrong(flag, text, "want KEY=VALUE");
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

Json Mount(absl::string_view name, absl::string_view path,
           bool read_only = false) {
  Json mount = {{"name", name}, {"mountPath", path}};
  if (read_only) mount["readOnly"] = true;
  return mount;
}

Json Variable(absl::string_view name, absl::string_view value) {
  return {{"name", name}, {"value", value}};
}

Json Probe(absl::string_view path, int period, int timeout, int failures) {
  Json probe;
  probe["httpGet"] = {{"path", path}, {"port", "metrics"}};
  probe["periodSeconds"] = period;
  if (timeout != 0) probe["timeoutSeconds"] = timeout;
  probe["failureThreshold"] = failures;
  return probe;
}

Json ContainerSecurity() {
  Json security = {{"allowPrivilegeEscalation", false},
                   {"readOnlyRootFilesystem", true}};
  security["capabilities"]["drop"] = Json::array({"ALL"});
  return security;
}

Json AgentContainer(const WorkerManifest& manifest, int64_t arenas) {
  Json agent = {{"name", "agent"},
                {"image", manifest.agent_image},
                {"imagePullPolicy", "IfNotPresent"},
                {"command", Json::array({"paceline-worker"})}};
  Json& args = agent["args"];
  args.push_back(absl::StrCat("--coordinator=", manifest.coordinator));
  args.push_back("--name=$(POD_NAME)");
  args.push_back(absl::StrCat("--pool=", manifest.pool));
  if (manifest.evaluator) args.push_back("--evaluator");
  args.push_back("--device=cpu");
  args.push_back(absl::StrCat("--program=", manifest.program));
  args.push_back(absl::StrCat("--program-socket=", kSocket));
  args.push_back("--metrics=0.0.0.0:9090");
  args.push_back("--grace=20s");
  if (manifest.tls_secret.empty()) {
    args.push_back("--insecure-plaintext");
  } else {
    args.push_back("--tls-cert=/tls/tls.crt");
    args.push_back("--tls-key=/tls/tls.key");
    args.push_back("--tls-ca=/tls/ca.crt");
  }
  agent["ports"] =
      Json::array({{{"name", "metrics"}, {"containerPort", 9090}}});
  Json name = {{"name", "POD_NAME"}};
  name["valueFrom"]["fieldRef"]["fieldPath"] = "metadata.name";
  // A runtime would otherwise hand it the program's GPUs, and all others.
  agent["env"] =
      Json::array({name, Variable("NVIDIA_VISIBLE_DEVICES", "void")});
  agent["startupProbe"] = Probe("/healthz", 1, 0, 60);
  agent["livenessProbe"] = Probe("/healthz", 10, 5, 6);
  agent["readinessProbe"] = Probe("/readyz", 2, 2, 2);
  agent["securityContext"] = ContainerSecurity();
  agent["resources"]["requests"] = {
      {"cpu", "250m"},
      {"memory", absl::StrCat(kAgentRequestMebibytes + arenas, "Mi")}};
  agent["resources"]["limits"] = {
      {"memory", absl::StrCat(kAgentLimitMebibytes + arenas, "Mi")}};
  agent["volumeMounts"] = Json::array({Mount("program", kSocketFolder)});
  if (!manifest.tls_secret.empty()) {
    agent["volumeMounts"].push_back(Mount("tls", "/tls", /*read_only=*/true));
  }
  return agent;
}

Json ProgramContainer(const WorkerManifest& manifest, const Pairs& env) {
  Json program = {{"name", "program"},
                  {"image", manifest.image},
                  {"imagePullPolicy", "IfNotPresent"}};
  if (!manifest.command.empty()) program["command"] = manifest.command;
  program["env"] = Json::array({Variable("PACELINE_PROGRAM", kSocket),
                                // A user without a home.
                                Variable("HOME", "/tmp")});
  if (manifest.gpus == 0) {
    program["env"].push_back(Variable("NVIDIA_VISIBLE_DEVICES", "void"));
  }
  for (const auto& [name, value] : env) {
    program["env"].push_back(Variable(name, value));
  }
  program["securityContext"] = ContainerSecurity();
  Json& resources = program["resources"];
  resources["requests"] = {{"cpu", manifest.cpu}, {"memory", manifest.memory}};
  resources["limits"] = {{"memory", manifest.memory}};
  if (manifest.gpus > 0) {
    const std::string count = absl::StrCat(manifest.gpus);
    resources["requests"][manifest.gpu_resource] = count;
    resources["limits"][manifest.gpu_resource] = count;
  }
  program["volumeMounts"] =
      Json::array({Mount("program", kSocketFolder), Mount("shm", "/dev/shm"),
                   Mount("tmp", "/tmp")});
  if (!manifest.data_claim.empty()) {
    program["volumeMounts"].push_back(
        Mount("data", "/data", /*read_only=*/true));
  }
  return program;
}

Json Volumes(const WorkerManifest& manifest) {
  Json socket = {{"name", "program"}};
  socket["emptyDir"] = {{"medium", "Memory"}, {"sizeLimit", "1Mi"}};
  Json tmp = {{"name", "tmp"}, {"emptyDir", Json::object()}};
  Json shm = {{"name", "shm"}};
  shm["emptyDir"] = {{"medium", "Memory"}, {"sizeLimit", manifest.shm_size}};
  Json volumes = Json::array({socket, tmp, shm});
  if (!manifest.data_claim.empty()) {
    Json data = {{"name", "data"}};
    data["persistentVolumeClaim"] = {{"claimName", manifest.data_claim},
                                     {"readOnly", true}};
    volumes.push_back(data);
  }
  if (!manifest.tls_secret.empty()) {
    Json tls = {{"name", "tls"}};
    // Octal 0440.
    tls["secret"] = {{"secretName", manifest.tls_secret}, {"defaultMode", 288}};
    volumes.push_back(tls);
  }
  return volumes;
}

// One user in both containers: the agent refuses others at its socket.
Json PodSecurity() {
  Json security = {{"runAsNonRoot", true},
                   {"runAsUser", kUser},
                   {"runAsGroup", kUser},
                   {"fsGroup", kUser},
                   {"fsGroupChangePolicy", "OnRootMismatch"}};
  security["seccompProfile"]["type"] = "RuntimeDefault";
  return security;
}

// No more pods than `replicas` at any time: each may hold the last GPU.
Json Strategy(int64_t replicas) {
  if (replicas == 1) return {{"type", "Recreate"}};
  Json strategy = {{"type", "RollingUpdate"}};
  strategy["rollingUpdate"] = {{"maxSurge", 0}, {"maxUnavailable", "25%"}};
  return strategy;
}

absl::Status Check(const WorkerManifest& manifest) {
  PACELINE_RETURN_IF_ERROR(CheckPlainName("--program", manifest.program));
  PACELINE_RETURN_IF_ERROR(CheckPlainName("--pool", manifest.pool));
  PACELINE_RETURN_IF_ERROR(
      CheckObjectName("--name", manifest.name, kPlainNameMax - kPodSuffix));
  for (const auto& [flag, image] :
       {std::pair("--image", &manifest.image),
        std::pair("--agent-image", &manifest.agent_image)}) {
    if (image->empty() || image->find(' ') != std::string::npos) {
      return Wrong(flag, *image, "want an image, as registry.lab/resnet:7");
    }
  }
  const HostPort address = SplitHostPort(manifest.coordinator);
  if (address.host.empty() || !address.port.has_value()) {
    return Wrong("--coordinator", manifest.coordinator,
                 "want host:port, as pods reach it");
  }
  PACELINE_RETURN_IF_ERROR(CheckPort(manifest.coordinator));
  PACELINE_RETURN_IF_ERROR(CheckQuantity("--cpu", manifest.cpu));
  PACELINE_RETURN_IF_ERROR(CheckQuantity("--memory", manifest.memory));
  return CheckQuantity("--shm-size", manifest.shm_size);
}

absl::StatusOr<Json> Document(const WorkerManifest& manifest) {
  PACELINE_RETURN_IF_ERROR(Check(manifest));
  PACELINE_ASSIGN_OR_RETURN(
      const int64_t weights,
      ParseMebibytes("--weights-size", manifest.weights_size));
  PACELINE_ASSIGN_OR_RETURN(const Pairs env, ParsePairs("--env", manifest.env));
  PACELINE_ASSIGN_OR_RETURN(
      const Pairs nodes, ParsePairs("--node-selector", manifest.node_selector));
  const Json selector = {{"app.kubernetes.io/name", "paceline"},
                         {"app.kubernetes.io/instance", manifest.name},
                         {"app.kubernetes.io/component",
                          manifest.evaluator ? "evaluator" : "worker"}};
  Json document = {{"apiVersion", "apps/v1"}, {"kind", "Deployment"}};
  document["metadata"] = {{"name", manifest.name}, {"labels", selector}};
  Json& spec = document["spec"];
  spec["replicas"] = manifest.replicas;
  spec["selector"]["matchLabels"] = selector;
  spec["strategy"] = Strategy(manifest.replicas);
  spec["template"]["metadata"]["labels"] = selector;
  Json& pod = spec["template"]["spec"];
  pod["automountServiceAccountToken"] = false;
  pod["enableServiceLinks"] = false;
  pod["securityContext"] = PodSecurity();
  pod["terminationGracePeriodSeconds"] = 30;
  for (const auto& [key, value] : nodes) pod["nodeSelector"][key] = value;
  pod["containers"] = Json::array(
      {AgentContainer(manifest, 2 * weights), ProgramContainer(manifest, env)});
  pod["volumes"] = Volumes(manifest);
  return document;
}

}  // namespace

absl::StatusOr<std::string> WorkerManifestText(const WorkerManifest& manifest) {
  WorkerManifest whole = manifest;
  if (whole.pool.empty()) whole.pool = whole.program;
  if (whole.name.empty()) {
    whole.name =
        absl::StrCat("paceline-",
                     absl::StrReplaceAll(absl::AsciiStrToLower(whole.program),
                                         {{"_", "-"}, {".", "-"}}),
                     whole.evaluator ? "-evaluator" : "");
  }
  PACELINE_ASSIGN_OR_RETURN(const Json document, Document(whole));
  return YamlText(document);
}

}  // namespace paceline
