#ifndef PACELINE_COMMON_PROTO_TIME_H_
#define PACELINE_COMMON_PROTO_TIME_H_

#include <google/protobuf/timestamp.pb.h>

#include "absl/time/time.h"

namespace paceline {

// A time on the wire, to the microsecond.
inline google::protobuf::Timestamp ToProto(absl::Time time) {
  const int64_t micros = absl::ToUnixMicros(time);
  google::protobuf::Timestamp proto;
  proto.set_seconds(micros / 1'000'000);
  proto.set_nanos(static_cast<int32_t>(micros % 1'000'000 * 1'000));
  return proto;
}

}  // namespace paceline

#endif  // PACELINE_COMMON_PROTO_TIME_H_
