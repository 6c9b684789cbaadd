#ifndef PACELINE_SERVICES_CLI_ADMIN_LOG_GROWTH_H_
#define PACELINE_SERVICES_CLI_ADMIN_LOG_GROWTH_H_

#include <vector>

#include "google/protobuf/repeated_field.h"
#include "protos/paceline/v1/types.pb.h"

namespace paceline {

using LogLines = google::protobuf::RepeatedPtrField<v1::LogLine>;

// The lines of `now` that are not in `before`, in their order. Both are all
// that a member kept at that time: of each source it has dropped lines at the
// front and added others at the end. If nothing of a source is in both, all of
// its lines are new. Pure.
std::vector<const v1::LogLine*> LinesSince(const LogLines& before,
                                           const LogLines& now);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_LOG_GROWTH_H_
