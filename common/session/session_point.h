#ifndef PACELINE_COMMON_SESSION_SESSION_POINT_H_
#define PACELINE_COMMON_SESSION_SESSION_POINT_H_

#include <cstdint>

namespace paceline {

// How far a session has come, seen from one side.
struct SessionPoint {
  uint64_t id = 0;  // 0: it ends with its stream.
  // The last numbers.
  uint64_t sent = 0;
  uint64_t received = 0;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SESSION_SESSION_POINT_H_
