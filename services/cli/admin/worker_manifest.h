#ifndef PACELINE_SERVICES_CLI_ADMIN_WORKER_MANIFEST_H_
#define PACELINE_SERVICES_CLI_ADMIN_WORKER_MANIFEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace paceline {

// Workers that train with a program of their owner's, as a Deployment of
// Kubernetes. The pods are those of the chart's pools with a `program`.
struct WorkerManifest {
  std::string program;  // Its name, as in a job's `model: program:NAME`.
  std::string image;
  std::vector<std::string> command;  // Empty: the image's own.
  std::vector<std::string> env;      // NAME=VALUE each.
  std::string coordinator;           // host:port
  // A secret with tls.crt, tls.key and ca.crt; empty: without TLS.
  std::string tls_secret;
  std::string agent_image;
  std::string name;  // The Deployment's; empty: made of the program's.
  std::string pool;  // Empty: the program's name.
  bool evaluator = false;
  int64_t replicas = 1;
  int64_t gpus = 0;  // Of each program.
  std::string gpu_resource = "nvidia.com/gpu";
  // Quantities as Kubernetes writes them: what the program requests, and its
  // limit of memory.
  std::string cpu = "1";
  std::string memory = "4Gi";
  std::string shm_size = "1Gi";
  // All weights as fp32, "512Mi": the agent gets twice as much memory more.
  std::string weights_size = "512Mi";
  std::string data_claim;  // Mounted in /data, read only; empty: none.
  std::vector<std::string> node_selector;  // KEY=VALUE each.
};

// The YAML, ended by a line feed. INVALID_ARGUMENT, naming the flag, for what
// Kubernetes or the agent would refuse.
absl::StatusOr<std::string> WorkerManifestText(const WorkerManifest& manifest);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_WORKER_MANIFEST_H_
