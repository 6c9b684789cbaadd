#ifndef PACELINE_SERVICES_CLI_ADMIN_FIELD_SETTING_H_
#define PACELINE_SERVICES_CLI_ADMIN_FIELD_SETTING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/paceline/v1/jobs.pb.h"

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

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_FIELD_SETTING_H_
