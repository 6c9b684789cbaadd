#ifndef PACELINE_SERVICES_CLI_ADMIN_JOB_FILE_H_
#define PACELINE_SERVICES_CLI_ADMIN_JOB_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "yaml-cpp/yaml.h"

namespace paceline {

// What `paceline job update --set FIELD=VALUE` asks for.
struct JobUpdate {
  // With `update_mask` and those fields of `job`.
  v1::UpdateJobRequest request;
  // Labels or annotations change one by one: the job's present ones are needed
  // for the others to stay.
  bool needs_present = false;
  struct MapChange {
    bool annotation = false;  // Else a label.
    std::string key;
    bool remove = false;
    std::string value;
  };
  std::vector<MapChange> map_changes;
};

// From "spec.learning_rate=0.01", "spec.stop.epochs=5", "labels.team=vision",
// "spec.workers.max=null" (back to the default; of a map: removes the key).
// Names may be camelCase too; a value is YAML, but a text is taken as it is.
// INVALID_ARGUMENT, with BadRequest details, naming all that is wrong. Pure.
absl::StatusOr<JobUpdate> ParseJobUpdate(const std::vector<std::string>& sets);

// The present job's maps, as the update changes them, into its request.
void ApplyMapChanges(const v1::Job& present, JobUpdate* update);

// Larger files are no job files.
inline constexpr size_t kJobFileBytesMax = size_t{1} << 20;

// The jobs of a YAML (or JSON) text: one a document, as
//
//   name: mnist-lenet5        # Or namespaces/team/jobs/mnist-lenet5.
//   labels: {team: vision}
//   spec:
//     model: lenet5
//     data: mnist:/data/mnist
//     stop: {epochs: 3}
//
// What only a server writes (state, uid, times, etag) is dropped, so that what
// `paceline job get -o yaml` prints can be created again. INVALID_ARGUMENT,
// with BadRequest details that name line and field of all that is wrong, or
// with the line of a YAML error. Pure.
absl::StatusOr<std::vector<v1::Job>> ParseJobFile(absl::string_view text);

// As above, for one document that has been read.
absl::StatusOr<v1::Job> JobOfYaml(const YAML::Node& node);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_JOB_FILE_H_
