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
                 "The program's name: workers train jobs whose model is "
                 "program:NAME.")
      ->type_name("NAME")
      ->required();
  app.add_option("--image", manifest.image, "The program's container image.")
      ->type_name("IMAGE")
      ->required();
  app.add_option("COMMAND", manifest.command,
                 "The program's command, after `--`. Default: the image's own.")
      ->type_name("");
  app.add_option("--env", manifest.env,
                 "A variable of the program's environment. May be given again.")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--gpus", manifest.gpus, "GPUs of each program.")
      ->check(CLI::Range(0, 1024).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--gpu-resource", manifest.gpu_resource,
                 "The name of GPUs in Kubernetes, as the device plugin gives "
                 "it.")
      ->type_name("RESOURCE")
      ->capture_default_str();
  app.add_option("--cpu", manifest.cpu,
                 "CPUs that the program requests, as a Kubernetes quantity.")
      ->type_name("QUANTITY")
      ->capture_default_str();
  app.add_option("--memory", manifest.memory,
                 "Memory that the program requests, which is also its limit.")
      ->type_name("QUANTITY")
      ->capture_default_str();
  app.add_option("--shm-size", manifest.shm_size,
                 "Size of the program's /dev/shm. It is a part of its memory.")
      ->type_name("QUANTITY")
      ->capture_default_str();
  app.add_option("--weights-size", manifest.weights_size,
                 "Size of all weights of the model as fp32. The agent gets "
                 "twice as much memory more, for weights and gradients.")
      ->type_name("QUANTITY")
      ->capture_default_str();
  app.add_option("--data-claim", manifest.data_claim,
                 "A volume claim that the program sees in /data, read only. "
                 "Default: none.")
      ->type_name("CLAIM");
}

void AddPlaceOptions(CLI::App& app, ManifestFlags& flags) {
  WorkerManifest& manifest = flags.manifest;
  app.add_option("--coordinator", manifest.coordinator,
                 "Address of the coordinator, as pods reach it.")
      ->type_name("HOST:PORT")
      ->required();
  app.add_option("--tls-secret", manifest.tls_secret,
                 "A secret with a worker's tls.crt, tls.key and ca.crt. "
                 "Default: none, and --insecure-plaintext is needed.")
      ->type_name("SECRET");
  app.add_flag("--insecure-plaintext", flags.insecure_plaintext,
               "Talk to the coordinator without TLS.");
  app.add_option("--agent-image", manifest.agent_image,
                 "The image of paceline's worker.")
      ->type_name("IMAGE")
      ->capture_default_str();
  app.add_option("--name", manifest.name,
                 "The name of the Deployment. Default: made from the program's "
                 "name.")
      ->type_name("NAME");
  app.add_option("--pool", manifest.pool,
                 "The pool of the workers. Default: the program's name.")
      ->type_name("POOL");
  app.add_flag("--evaluator", manifest.evaluator,
               "Make evaluators. Default: workers.");
  app.add_option("--replicas", manifest.replicas,
                 "Number of workers or evaluators.")
      ->check(CLI::Range(0, 100000).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--node-selector", manifest.node_selector,
                 "A label that nodes must have. May be given again.")
      ->type_name("KEY=VALUE")
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
