#ifndef PACELINE_COMMON_SECURITY_METHOD_ROLES_H_
#define PACELINE_COMMON_SECURITY_METHOD_ROLES_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "protos/paceline/v1/access.pb.h"

namespace paceline {

// Who may call which method, as the protos say (access.proto). Thread-safe.
class MethodRoles {
 public:
  // Of "/paceline.v1.JobService/GetJob". Empty for a method that names none and
  // for one that is not linked into this program. Valid as long as this is.
  absl::Span<const v1::Role> Of(absl::string_view method);

 private:
  absl::Mutex mu_;
  // What has been asked for; only methods that exist, so it stays small.
  absl::node_hash_map<std::string, std::vector<v1::Role>> known_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_METHOD_ROLES_H_
