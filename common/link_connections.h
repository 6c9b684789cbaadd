#ifndef PACELINE_COMMON_LINK_CONNECTIONS_H_
#define PACELINE_COMMON_LINK_CONNECTIONS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace paceline {

// Between one worker and one parameter server.
inline constexpr uint32_t kMostConnections = 16;
// To one parameter server, from all workers of a run.
inline constexpr uint32_t kMostConnectionsToServer = 256;

// How many connections a link of so many Mb/s is worth; 0: it is not known.
// One connection is one core on either side, which is enough for 10 Gb/s.
constexpr uint32_t ConnectionsAt(int64_t megabits) {
  if (megabits >= 100'000) return 8;
  if (megabits >= 50'000) return 4;
  return megabits >= 25'000 ? 2 : 1;
}

// Between a worker and a server that want so many (0: they know of one alone),
// if as many `streams` of workers as that are to share the server.
constexpr uint32_t ConnectionsBetween(uint32_t worker, uint32_t server,
                                      uint32_t streams) {
  const uint32_t share =
      kMostConnectionsToServer / std::max(streams, uint32_t{1});
  return std::clamp(std::min({worker, server, share}), uint32_t{1},
                    kMostConnections);
}

// Which of `parts` connections each of a server's blocks goes by, given their
// elements in the order of HostJob.blocks: each by the one that has least so
// far. By turns, all weights could be on one connection and all biases on the
// other. Both ends know it by this alone.
inline std::vector<uint32_t> DealBlocks(absl::Span<const int64_t> elements,
                                        uint32_t parts) {
  std::vector<uint32_t> dealt;
  dealt.reserve(elements.size());
  std::vector<int64_t> has(parts, 0);
  for (const int64_t size : elements) {
    const auto least = std::min_element(has.begin(), has.end());
    *least += size;
    dealt.push_back(static_cast<uint32_t>(least - has.begin()));
  }
  return dealt;
}

}  // namespace paceline

#endif  // PACELINE_COMMON_LINK_CONNECTIONS_H_
