#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_SESSION_BOOK_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_SESSION_BOOK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/work_queue.h"
#include "services/coordinator/fleet/member_session.h"

namespace paceline {

// The sessions of one kind of members, which it owns until they are over.
// Thread-safe.
template <class In, class Out>
class SessionBook {
 public:
  using Session = MemberSession<In, Out>;

  // A new session of the member of that name, which can be taken up again if
  // `resumable`. REQUIRES: its Handle() before its first Attach(), and Remove()
  // once it is over.
  std::shared_ptr<Session> Open(const std::string& name, bool resumable,
                                size_t max_queued) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    uint64_t id = 0;
    // Nobody must guess it, and another life of the coordinator does not know
    // it.
    while (resumable && (id == 0 || by_id_.contains(id))) {
      id = (uint64_t{entropy_()} << 32) | entropy_();
    }
    auto session = std::make_shared<Session>(id, name, max_queued);
    if (id != 0) by_id_.emplace(id, session);
    return session;
  }

  // One that began in another life of the coordinator. REQUIRES: as Open().
  void Adopt(std::shared_ptr<Session> session) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    const uint64_t id = session->id();
    by_id_.emplace(id, std::move(session));
  }

  // ABORTED if there is none of that number and name.
  absl::StatusOr<std::shared_ptr<Session>> Find(uint64_t id,
                                                const std::string& name) {
    absl::MutexLock lock(&mu_);
    const auto it = by_id_.find(id);
    if (it == by_id_.end() || it->second->name() != name) {
      return absl::AbortedError(
          "the session is over, or of another life of the coordinator: "
          "register anew");
    }
    return it->second;
  }

  void Remove(uint64_t id) {
    std::shared_ptr<Session> last;  // Dies after the lock is released.
    absl::MutexLock lock(&mu_);
    const auto it = by_id_.find(id);
    if (it == by_id_.end()) return;
    last = std::move(it->second);
    by_id_.erase(it);
  }

  // Ends it on a thread of the book's own.
  void EndSoon(std::shared_ptr<Session> session) {
    ending_.Submit([session = std::move(session)] { session->End(); });
  }

 private:
  absl::Mutex mu_;
  std::random_device entropy_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, std::shared_ptr<Session>> by_id_ ABSL_GUARDED_BY(mu_);
  // At most once for each session. Last: its tasks use the above.
  WorkQueue ending_{1, size_t{1} << 40};
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_SESSION_BOOK_H_
