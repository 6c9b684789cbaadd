#ifndef PACELINE_SERVICES_COORDINATOR_PROCESS_OWN_ADDRESS_H_
#define PACELINE_SERVICES_COORDINATOR_PROCESS_OWN_ADDRESS_H_

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// Where a coordinator is, in either role: if any free port will do, the first
// role gets one, and the next one listens there again. Thread-safe.
class OwnAddress {
 public:
  // `advertise`: where others reach it; empty: as it listens.
  OwnAddress(std::string listen, std::string advertise)
      : advertise_(std::move(advertise)), listen_(std::move(listen)) {}

  std::string listen() const {
    absl::MutexLock lock(&mu_);
    return listen_;
  }
  std::string advertised() const {
    return advertise_.empty() ? listen() : advertise_;
  }
  // It listens.
  void Bound(std::string address) {
    absl::MutexLock lock(&mu_);
    listen_ = std::move(address);
  }

 private:
  const std::string advertise_;
  mutable absl::Mutex mu_;
  std::string listen_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_PROCESS_OWN_ADDRESS_H_
