#ifndef PACELINE_COMMON_RPC_COORDINATOR_ADDRESSES_H_
#define PACELINE_COMMON_RPC_COORDINATOR_ADDRESSES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// Where a coordinator may be that leads: of "c0.lab:7070,c1.lab:7070" each, or
// one address behind which it is always found. At least one.
inline std::vector<std::string> SplitCoordinatorAddresses(
    absl::string_view list) {
  return absl::StrSplit(list, ',');
}

// These addresses, one after the other. Thread-safe.
class CoordinatorAddresses {
 public:
  explicit CoordinatorAddresses(absl::string_view list)
      : addresses_(SplitCoordinatorAddresses(list)) {}

  // For the next attempt: one after the other.
  std::string Next() {
    absl::MutexLock lock(&mu_);
    return addresses_[next_++ % addresses_.size()];
  }
  // The one of the last attempt leads, for it has decided something: the next
  // one goes there again. Another one may hang, and cost a second to find out.
  void Stay() {
    absl::MutexLock lock(&mu_);
    next_ += addresses_.size() - 1;
  }

 private:
  const std::vector<std::string> addresses_;
  absl::Mutex mu_;
  size_t next_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_COORDINATOR_ADDRESSES_H_
