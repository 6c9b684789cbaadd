#ifndef PACELINE_SERVICES_PARAMETER_SERVER_ANNOUNCED_CLOSING_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_ANNOUNCED_CLOSING_H_

#include <atomic>
#include <cstdint>

namespace paceline {

// A closing that the coordinator expects to order next: of one round, once it
// has so many gradients.
struct AnnouncedClosing {
  int64_t closing = 0;
  uint64_t round = 0;
  uint32_t gradients = 0;  // At least 1.
  double rate = 0;
};

// One that is not over. Thread-safe.
struct OpenAnnouncement {
  OpenAnnouncement(const AnnouncedClosing& closing, uint32_t blocks)
      : what(closing), undrained(blocks) {}

  const AnnouncedClosing what;
  std::atomic<uint32_t> undrained;  // Blocks that are not drained ahead.
};

// What was taken from a block before its closing was ordered.
struct DrainedAhead {
  int64_t closing = 0;  // 0: nothing ever was.
  uint64_t samples = 0;
  double square = 0;  // Of a trained block: of the sum's elements.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_ANNOUNCED_CLOSING_H_
