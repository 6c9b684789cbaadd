#include <string>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/worker_manifest.h"

namespace paceline {
namespace {

constexpr char kExamples[] = R"(
Examples:
  paceline worker manifest --program resnet --image registry.lab/resnet:7 \
    --coordinator train-paceline-coordinator.training.svc:7070 \
    --tls-secret train-paceline-tls-worker --gpus 1 --replicas 4 \
    -- python3 /app/train.py | kubectl -n training apply -f -
The chart of paceline makes the same of pools with a `program`.)";

struct ManifestFlags {
  WorkerManifest manifest;
  bool insecure_plaintext = false;
};

absl::Status PrintManifest(Session& session, const ManifestFlags& flags) {
  if (flags.insecure_plaintext == !flags.manifest.tls_secret.empty()) {
    return absl::InvalidArgumentError(
        "give either --tls-secret, with the certificate that the coordinator "
        "asks for, or --insecure-plaintext");
  }
  PACELINE_ASSIGN_OR_RETURN(const std::string text,
                            WorkerManifestText(flags.manifest));
  return session.Write(text);
}

void AddProgramOptions(CLI::App& app, WorkerManifest& manifest) {
  app.add_option("--program", manifest.program,
                 "What it can train: NAME of a job's `model: program:NAME`")
      ->required();
  app.add_option("--image", manifest.image, "The program's image")->required();
  app.add_option("COMMAND", manifest.command,
                 "After `--`: the program's command; without, the image's own");
  app.add_option("--env", manifest.env,
                 "NAME=VALUE in the program's environment; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--gpus", manifest.gpus, "GPUs of each program")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--gpu-resource", manifest.gpu_resource,
                 "What the device plugin calls them")
      ->capture_default_str();
  app.add_option("--cpu", manifest.cpu, "CPUs that the program requests")
      ->capture_default_str();
  app.add_option("--memory", manifest.memory,
                 "Memory that the program requests, and its limit")
      ->capture_default_str();
  app.add_option("--shm-size", manifest.shm_size,
                 "Of its /dev/shm, which counts to its memory")
      ->capture_default_str();
  app.add_option(
         "--weights-size", manifest.weights_size,
         "All the model's weights as fp32; the agent gets twice as much "
         "memory more, for weights and gradients")
      ->capture_default_str();
  app.add_option("--data-claim", manifest.data_claim,
                 "A claim that the program sees in /data, read only");
}

void AddPlaceOptions(CLI::App& app, ManifestFlags& flags) {
  WorkerManifest& manifest = flags.manifest;
  app.add_option("--coordinator", manifest.coordinator,
                 "host:port, as pods reach it")
      ->required();
  app.add_option("--tls-secret", manifest.tls_secret,
                 "A secret with a worker's tls.crt, tls.key and ca.crt");
  app.add_flag("--insecure-plaintext", flags.insecure_plaintext,
               "The coordinator has no TLS");
  app.add_option("--agent-image", manifest.agent_image, "paceline's worker")
      ->capture_default_str();
  app.add_option("--name", manifest.name,
                 "The Deployment's; without, made of the program's name");
  app.add_option("--pool", manifest.pool,
                 "The workers' pool; without, the program's name");
  app.add_flag("--evaluator", manifest.evaluator,
               "Evaluators instead of workers");
  app.add_option("--replicas", manifest.replicas, "How many")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  app.add_option("--node-selector", manifest.node_selector,
                 "KEY=VALUE, a label that nodes must have; may be repeated")
      ->allow_extra_args(false);
}

}  // namespace

void AddManifestCommand(CLI::App& worker, ChosenCommand& chosen) {
  const auto command = AddPlainCommand<ManifestFlags>(
      worker, "manifest",
      "Print a Deployment of workers that train with a program", chosen,
      &PrintManifest);
  command.flags->manifest.agent_image =
      absl::StrCat("paceline/worker-cpu:", PACELINE_VERSION);
  AddProgramOptions(*command.app, command.flags->manifest);
  AddPlaceOptions(*command.app, *command.flags);
  command.app->footer(kExamples);
}

}  // namespace paceline
