#ifndef PACELINE_COMMON_LANE_LANE_DOOR_H_
#define PACELINE_COMMON_LANE_LANE_DOOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "common/lane/memory_lane.h"
#include "common/lane/message_socket.h"
#include "common/unique_fd.h"

namespace paceline {

// The same of two processes of one user on one machine, and of no others. Empty
// where the system does not tell.
std::string HostKey();

// How another process of this machine hands over a lane, or a socket. It is
// told by a stream on which both ends have shown who they are.
struct LaneInvitation {
  std::string address;  // A Unix socket without a file.
  std::string token;    // Good for one of them.
};

// Where other processes of this machine hand over their lanes and sockets: a
// Unix socket without a file, so that a process that is killed leaves nothing
// behind. It takes only what the same user sends, and only by invitation.
// Thread-safe.
class LaneDoor {
 public:
  // As the system says, if there can be none.
  static absl::StatusOr<std::unique_ptr<LaneDoor>> Open();
  ~LaneDoor();
  LaneDoor(const LaneDoor&) = delete;
  LaneDoor& operator=(const LaneDoor&) = delete;

  // Calls `taken` at most once, from the door's thread, which it must not hold
  // up. The lane has the memory of the other end that could be mapped, and its
  // socket.
  using Taken = std::function<void(std::unique_ptr<MemoryLane> lane)>;
  // `own`: memory that whoever comes is given to read, or null. The lane may
  // refer to it.
  LaneInvitation Invite(Taken taken,
                        std::shared_ptr<const SharedMemory> own = nullptr);
  // The same for an end of a MessageSocket::Pair() alone.
  using SocketTaken = std::function<void(MessageSocket::Parts socket)>;
  LaneInvitation InviteSocket(SocketTaken taken);
  // Nobody shall come by it any more; a call may be under way.
  void Withdraw(const std::string& token);

 private:
  LaneDoor(std::string address, UniqueFd listening, UniqueFd ending);

  struct LaneInvited {
    Taken taken;
    std::shared_ptr<const SharedMemory> own;  // May be null.
  };
  using Invited = std::variant<LaneInvited, SocketTaken>;

  LaneInvitation InviteFor(Invited invited);

  void Serve();
  // What one caller hands over, or why not.
  absl::Status Take(int caller);
  static absl::Status TakeLane(int caller, LaneInvited invited,
                               absl::Span<UniqueFd> handed);
  static absl::Status TakeSocket(const SocketTaken& taken, UniqueFd handed);

  const std::string address_;
  const UniqueFd listening_;
  const UniqueFd ending_;  // An eventfd.

  absl::Mutex mu_;
  std::random_device entropy_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, Invited> invited_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;  // Last: it uses everything above.
};

// Makes a lane as MemoryLane::Make() and hands it over there, and `own`, if it
// is not null, to be read. With `socket` a MessageSocket::Pair() comes with it.
// The other end has it a little later, and says so by its stream, and whether
// it can read `own` and has a socket. With `theirs`, the other end's memory is
// waited for, a second at most; without it, the lane has none.
// UNAVAILABLE if nobody of this user listens there or has room for a caller.
// REQUIRES: the descriptor of `own` is not closed.
absl::StatusOr<std::unique_ptr<MemoryLane>> HandOverLane(
    const LaneInvitation& invitation, uint64_t bytes,
    const SharedMemory* own = nullptr, bool theirs = false,
    bool socket = false);

// Hands one end of a MessageSocket::Pair() over, to an invitation for a socket,
// and returns the other. The errors of HandOverLane(), and UNAVAILABLE where
// the system has no more descriptors.
absl::StatusOr<MessageSocket::Parts> HandOverSocket(
    const LaneInvitation& invitation);

}  // namespace paceline

#endif  // PACELINE_COMMON_LANE_LANE_DOOR_H_
