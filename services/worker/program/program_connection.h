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

  // Sends a whole frame, if it is not empty, and descriptors along with its
  // beginning. UNAVAILABLE: the program is gone, or a frame is torn; else as
  // `patience` says, and then this one may be torn.
  absl::Status Send(absl::string_view frame, const ProgramPatience& patience,
                    absl::Span<const int> descriptors = {});

  // Sends frames as far as the program's socket takes them at once; what is
  // left goes ahead of the next Send(), which also says so if the program is
  // gone.
  void SendAtOnce(absl::string_view frames);

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
  std::string left_;  // Of SendAtOnce().
  bool torn_ = false;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_CONNECTION_H_
