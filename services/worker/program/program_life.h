#ifndef PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_LIFE_H_
#define PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_LIFE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/worker/program/program_connection.h"
#include "services/worker/program/program_process.h"
#include "services/worker/program/program_socket.h"

namespace paceline {

// One program, from its connection to its end; with its process, if the agent
// has started it. Thread-compatible.
//
// Errors: UNAVAILABLE, the program is dead, and how it died, as far as that is
// known; ABORTED, its process has ended by itself; CANCELLED and
// DEADLINE_EXCEEDED as ProgramPatience says; everything else is what the
// program did wrong, or its own word (`failed`).
class ProgramLife {
 public:
  // Starts `command` if there is one, and waits for a program that says hello.
  // FAILED_PRECONDITION also for a program of another protocol.
  static absl::StatusOr<std::unique_ptr<ProgramLife>> Begin(
      ProgramSocket* socket, const ProgramCommand& command,
      const ProgramPatience& patience);

  // `where` is for the error: "in step 812".
  absl::Status Send(absl::string_view frame, const ProgramPatience& patience,
                    absl::string_view where,
                    absl::Span<const int> descriptors = {});
  // For threads that must not wait for how a program ended: UNAVAILABLE if it
  // has gone, and the next Send() says more.
  absl::Status Tell(absl::string_view frame, const ProgramPatience& patience);
  // For them as well: as ProgramConnection::gone() and SendAtOnce().
  bool gone() const { return connection_->gone(); }
  void SendAtOnce(absl::string_view frames);
  // The program's next frame, but for `failed`.
  absl::StatusOr<ProgramFrame> Receive(const ProgramPatience& patience,
                                       absl::string_view where);

  // Tells the program what it has done wrong, and returns that.
  absl::Status Refuse(const absl::Status& wrong);

  // Ends it: it is sent `last_word`, a frame, has `grace` to finish, and is
  // ended with its process otherwise (ProgramProcess::End()). `hurried` is
  // asked ten times a second: at once, then. How its process ended is logged,
  // unless an error has said so.
  void End(absl::string_view last_word, absl::Duration grace,
           const std::function<bool()>& hurried);

  // What it says of itself, for logs.
  const std::string& language() const { return hello_.language; }
  int64_t pid() const { return hello_.pid; }

 private:
  ProgramLife() = default;

  absl::Status AwaitConnection(ProgramSocket& socket,
                               const ProgramPatience& patience);
  absl::Status AwaitHello();
  // That it is dead.
  absl::Status Died(absl::string_view where);

  std::shared_ptr<ProgramConnection> connection_;
  // Null: somebody else's. Killed before the connection closes, which a program
  // would take for the end of its loop.
  std::unique_ptr<ProgramProcess> process_;
  ProgramHello hello_;
  bool over_ = false;       // The last word has been said.
  bool described_ = false;  // An error has said how its process ended.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_LIFE_H_
