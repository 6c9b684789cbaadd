#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_LOG_VIEW_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_LOG_VIEW_H_

#include <string>

#include "google/protobuf/repeated_field.h"
#include "protos/paceline/v1/types.pb.h"

namespace paceline {

// A log for people, a line each: the time, the severity, the message, and the
// fields as KEY=VALUE in the order of their keys. What others wrote cannot
// break a line or move the cursor.
//
//   2026-11-28T02:00:00.125Z WARNING  registering anew  pause=100ms
//   2026-11-28T02:00:01.250Z program  Traceback (most recent call last):
std::string LogText(
    const google::protobuf::RepeatedPtrField<v1::LogLine>& lines);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_LOG_VIEW_H_
