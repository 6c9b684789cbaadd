#ifndef PACELINE_SERVICES_PARAMETER_SERVER_SERVER_TURN_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_SERVER_TURN_H_

#include "absl/time/time.h"
#include "services/parameter_server/server_metrics.h"
#include "services/parameter_server/shard.h"

namespace paceline {

// What a server does between commands, about ten times a second: ends pulls
// that waited too long, and keeps the gauges up to date.
void TakeServerTurn(const Shard& shard, absl::Time now, ServerMetrics& metrics);

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_SERVER_TURN_H_
