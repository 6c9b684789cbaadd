#ifndef PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_AGENT_H_
#define PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_AGENT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/worker/computation_source.h"
#include "services/worker/program/private_folder.h"
#include "services/worker/program/program_failures.h"
#include "services/worker/program/program_life.h"
#include "services/worker/program/program_socket.h"
#include "services/worker/program/wake_up.h"

namespace paceline {

inline constexpr absl::string_view kProgramSocket =
    "/run/paceline/program.sock";

// Makes a worker the agent of programs: for each assignment of a job with the
// model "program:NAME" one of them attaches. It is started for that, or
// connects by itself, before the assignment or after.
class ProgramAgent final : public ComputationSource {
 public:
  struct Options {
    std::string name;    // Of the program.
    std::string worker;  // Its worker's.
    bool evaluator = false;
    // Where programs connect; empty: kProgramSocket, or with a command a place
    // that nobody else knows.
    std::string socket;
    ProgramCommand command;  // Starts a program.
    // How long a program may take to connect. The coordinator asks some times
    // more: a container that dies again and again waits for minutes between two
    // starts.
    absl::Duration connect_timeout = absl::Minutes(2);
    // How long it may take to finish once its part has ended; then SIGTERM, and
    // as long again.
    absl::Duration grace = absl::Seconds(5);
  };

  // Errors of ProgramSocket::Listen; INVALID_ARGUMENT also for a name that no
  // program can have.
  static absl::StatusOr<std::unique_ptr<ProgramAgent>> Create(Options options);
  // Kills what still runs; nobody can connect any more.
  ~ProgramAgent() override;

  absl::StatusOr<std::unique_ptr<Computation>> Prepare(
      const v1::Assignment& assignment, DType wire,
      const std::function<bool()>& stopped) override;
  void End(const v1::Stop& stop, const std::function<bool()>& hurried) override;
  void Wake() override { wake_.Wake(); }

  const std::string& socket() const { return socket_->path(); }

 private:
  explicit ProgramAgent(Options options) : options_(std::move(options)) {}

  absl::Status Listen();
  // Up to where the program has attached.
  absl::StatusOr<std::unique_ptr<Computation>> TryToPrepare(
      const v1::Assignment& assignment, DType wire,
      const std::function<bool()>& stopped);

  const Options options_;
  const WakeUp wake_;
  std::unique_ptr<PrivateFolder> folder_;  // Of the socket; null: none.
  std::unique_ptr<ProgramSocket> socket_;
  ProgramFailures failures_;
  std::unique_ptr<ProgramLife> life_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_AGENT_H_
