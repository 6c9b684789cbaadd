#ifndef PACELINE_SERVICES_COORDINATOR_STORE_LOG_FRAMES_H_
#define PACELINE_SERVICES_COORDINATOR_STORE_LOG_FRAMES_H_

#include <cstdint>
#include <optional>
#include <string>

namespace paceline {

// FILE-wal as SQLite reads it after a restart: a header and frames, each with a
// checksum over all before it. From the first that does not hold on it takes
// them for the rest of an older log, and says nothing. A connection that is
// open does not look at checksums.

// Drawn anew whenever the log begins anew.
struct LogSalts {
  uint32_t first = 0;
  uint32_t second = 0;

  friend bool operator==(const LogSalts&, const LogSalts&) = default;
};

struct LogFrames {
  LogSalts salts;
  int64_t sound = 0;  // So many from the first on.
};

// Nothing if the header is not one. Reads no more than `most` frames.
std::optional<LogFrames> ReadLogFrames(const std::string& path, int64_t most);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STORE_LOG_FRAMES_H_
