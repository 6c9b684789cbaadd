#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_GONE_MEMBERS_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_GONE_MEMBERS_H_

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace paceline {

// What is known of the members that have gone last, for those who look for
// them. Thread-safe.
class GoneMembers {
 public:
  static constexpr size_t kKept = 1'000;

  // `name`: "workers/w0". `why`: what its session ended with; OK: it left.
  void Note(const std::string& name, absl::Time when, const absl::Status& why);

  // NOT_FOUND with that, of a member that is not connected, and what whoever
  // wants to read its log can do.
  absl::Status NotConnected(absl::string_view type,
                            const std::string& name) const;

 private:
  struct Member {
    std::string name;
    absl::Time when;
    absl::Status why;
  };

  mutable absl::Mutex mu_;
  std::deque<Member> members_ ABSL_GUARDED_BY(mu_);  // The last one is last.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_GONE_MEMBERS_H_
