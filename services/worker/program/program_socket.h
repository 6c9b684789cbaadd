#ifndef PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_SOCKET_H_
#define PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_SOCKET_H_

#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/unique_fd.h"
#include "services/worker/program/program_connection.h"
#include "services/worker/program/wake_up.h"

namespace paceline {

// Where programs connect: a Unix socket for this user alone. One program has
// the place until it is gone; whoever comes while it is there hears `refused`.
// Thread-safe.
class ProgramSocket {
 public:
  // INVALID_ARGUMENT for a path that is too long for a socket or names what is
  // none; ALREADY_EXISTS if somebody listens there; otherwise as the system
  // says, with the path. What a process that died has left there is removed.
  // `wake` outlives it and all connections.
  static absl::StatusOr<std::unique_ptr<ProgramSocket>> Listen(
      const std::string& path, const WakeUp* wake);
  // Nobody can connect any more.
  ~ProgramSocket();
  ProgramSocket(const ProgramSocket&) = delete;
  ProgramSocket& operator=(const ProgramSocket&) = delete;

  // The program that has connected. It has the place until it is gone or the
  // connection is no more.
  absl::StatusOr<std::shared_ptr<ProgramConnection>> Take(
      const ProgramPatience& patience) ABSL_LOCKS_EXCLUDED(mu_);

  const std::string& path() const { return path_; }

 private:
  ProgramSocket(std::string path, UniqueFd listening, const WakeUp* wake);

  void Serve();
  // Why it cannot have the place; OK if it has.
  absl::Status Admit(const std::shared_ptr<ProgramConnection>& program,
                     int socket) ABSL_LOCKS_EXCLUDED(mu_);

  const std::string path_;
  const UniqueFd listening_;
  const WakeUp& wake_;  // Of the connections, for whoever waits for them.
  const WakeUp end_;    // Of this.

  absl::Mutex mu_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<ProgramConnection> waiting_ ABSL_GUARDED_BY(mu_);
  std::weak_ptr<ProgramConnection> taken_ ABSL_GUARDED_BY(mu_);

  std::thread thread_;  // Last: it uses the above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_SOCKET_H_
