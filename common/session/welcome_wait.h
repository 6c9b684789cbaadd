#ifndef PACELINE_COMMON_SESSION_WELCOME_WAIT_H_
#define PACELINE_COMMON_SESSION_WELCOME_WAIT_H_

#include <algorithm>

#include "absl/time/time.h"

namespace paceline {

// How long a stream that takes a session up waits for its welcome: a second at
// first, twice as long after each wait in vain, a lease at most. The
// coordinator that it went to may be frozen while another one leads; one to
// which a thousand members come at once needs longer. Not thread-safe.
class WelcomeWait {
 public:
  absl::Duration Within(absl::Duration lease) const {
    return std::min(wait_, lease);
  }
  void InVain() { wait_ *= 2; }
  void Welcomed() { wait_ = kFirst; }

 private:
  static constexpr absl::Duration kFirst = absl::Seconds(1);

  absl::Duration wait_ = kFirst;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SESSION_WELCOME_WAIT_H_
