#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_SHORT_AGE_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_SHORT_AGE_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"

namespace paceline {

// "45s", "5m", "3h20m", "2d3h", "40d". Less than nothing is "0s".
std::string ShortDuration(absl::Duration duration);

// From then until `now`; empty if `then` is not set.
std::string ShortAge(const google::protobuf::Timestamp& then, absl::Time now);

// "2026-11-21T10:00:00Z"; empty if it is not set.
std::string TimeText(const google::protobuf::Timestamp& time);

// "640 B", "1.5 KiB", "80.0 GiB".
std::string BytesText(uint64_t bytes);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_SHORT_AGE_H_
