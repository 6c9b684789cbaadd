#ifndef PACELINE_COMMON_LOG_TOLD_LOG_H_
#define PACELINE_COMMON_LOG_TOLD_LOG_H_

#include <functional>

#include "absl/types/span.h"
#include "common/log/log_ring.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "protos/paceline/v1/types.pb.h"

namespace paceline {

// A ring, and whose lines it keeps.
struct KeptLog {
  v1::LogLine::Source source;
  const LogRing* ring;
};

// The answer to the coordinator's question: the last lines of all `logs`, in
// the order of their times.
v1::LogTold TellLog(const v1::TellLog& question,
                    absl::Span<const KeptLog> logs);

// The same, as a member has it that tells its log. Safe from any thread, and
// quick: it may be called by gRPC's own. Null: it tells none.
using LogTeller = std::function<v1::LogTold(const v1::TellLog& question)>;

}  // namespace paceline

#endif  // PACELINE_COMMON_LOG_TOLD_LOG_H_
