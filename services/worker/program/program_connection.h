#ifndef PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_CONNECTION_H_
#define PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_CONNECTION_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/unique_fd.h"
#include "services/worker/program/program_messages.h"
#include "services/worker/program/wake_up.h"

namespace paceline {

struct ProgramFrame {
  FrameKind kind = FrameKind::kHello;
  std::string body;
};

// The agent's end of a program's connection. Thread-compatible, but that gone()
// may be called from any thread.
class ProgramConnection {
 public:
  // `wake` outlives it.
  ProgramConnection(UniqueFd socket, const WakeUp* wake)
      : socket_(std::move(socket)), wake_(*wake) {}

  // Whether the program has closed it, whatever it has said before.
  bool gone() const;
  // Whether a frame was sent in part: what followed would be taken for its
  // rest.
  bool torn() const { return torn_; }

  // Sends a whole frame, and descriptors along with its beginning. UNAVAILABLE:
  // the program is gone; else as `patience` says, and then the frame may be
  // torn. REQUIRES: none is.
  absl::Status Send(absl::string_view frame, const ProgramPatience& patience,
                    absl::Span<const int> descriptors = {});

  // The program's next frame. UNAVAILABLE: it is gone; INVALID_ARGUMENT: what
  // it sends is no frame; else as `patience` says, and nothing is lost then.
  absl::StatusOr<ProgramFrame> Receive(const ProgramPatience& patience);

 private:
  // Takes in what has come, waiting for it if need be.
  absl::Status ReadMore(const ProgramPatience& patience);

  const UniqueFd socket_;
  const WakeUp& wake_;
  std::string received_;  // From used_ on it is in no frame yet.
  size_t used_ = 0;
  bool torn_ = false;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_CONNECTION_H_
