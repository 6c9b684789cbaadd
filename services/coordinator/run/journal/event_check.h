#ifndef PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_EVENT_CHECK_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_EVENT_CHECK_H_

#include <cstdint>
#include <set>

#include "absl/status/status.h"
#include "protos/paceline/journal/run_event.pb.h"

namespace paceline {

// Looks at the events of a journal, in their order, before a run takes them
// again. Whatever bytes there are, no event may name what its run has not: a
// run that happens never does, and trusts that. Thread-compatible.
class EventCheck {
 public:
  // The servers with which the run begins; it has as many shards.
  explicit EventCheck(int servers) : shards_(servers), servers_(servers) {}

  // FAILED_PRECONDITION: no coordinator has recorded that of this run.
  absl::Status Take(const journal::RunEvent& event);

 private:
  absl::Status Server(int server) const;

  const int shards_;
  int servers_;  // So far.
  std::set<uint64_t> workers_;
};

// Part of it, and all that there is to the first event. FAILED_PRECONDITION: no
// machine's clock shows that.
absl::Status CheckTime(const journal::RunEvent& event);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_EVENT_CHECK_H_
