#ifndef PACELINE_SERVICES_SIMULATOR_SHARED_LINK_H_
#define PACELINE_SERVICES_SIMULATOR_SHARED_LINK_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "services/simulator/nanos.h"

namespace paceline {

// One direction of a link that several transfers share. Each gets an equal part
// of the bandwidth. A transfer that cannot take its part, because its own side
// is slower, leaves the rest to the others (max-min fairness). Nothing here is
// random, so the same calls give the same moments.
//
// Every operation takes O(transfers). Moments must not go back.
// Thread-compatible.
class SharedLink {
 public:
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

  // REQUIRES: bytes_per_second > 0.
  explicit SharedLink(double bytes_per_second)
      : bytes_per_second_(bytes_per_second) {}

  // A transfer begins. Its own side takes at most `most` bytes a second.
  // REQUIRES: it is not under way; bytes > 0, most > 0.
  void Begin(Nanos now, uint32_t transfer, double bytes, double most);
  // The transfer is broken off, if it is under way.
  void Stop(Nanos now, uint32_t transfer);
  // When the next transfers end, unless one begins or stops before; kNever if
  // none is under way.
  Nanos NextEnd() const { return next_end_; }
  // Those that have ended by now, sorted: they are no longer under way.
  std::vector<uint32_t> TakeEnded(Nanos now);

 private:
  struct Transfer {
    uint32_t number = 0;
    double left = 0;  // Bytes.
    double most = 0;  // Bytes a second.
    double rate = 0;  // Likewise; what it gets now.
  };

  // What was carried until now.
  void Carry(Nanos now);
  // Gives each its part.
  void Divide();
  // How long the transfer still takes at its rate.
  static Nanos TimeLeft(const Transfer& transfer);

  const double bytes_per_second_;
  Nanos carried_ = 0;  // Until when.
  Nanos next_end_ = kNever;
  std::vector<Transfer> transfers_;  // By `most`, then by number.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_SHARED_LINK_H_
