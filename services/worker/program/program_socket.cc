#include "services/worker/program/program_socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/peer_user.h"
#include "common/status.h"

namespace paceline {
namespace {

// Programs that call at once. One has the place; the others are told so.
constexpr int kBacklog = 8;

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--program-socket: a path of 1 to ", sizeof(address.sun_path) - 1,
        " bytes, not ", path.size()));
  }
  memcpy(address.sun_path, path.data(), path.size());
  return address;
}

absl::Status Failed(const std::string& path, absl::string_view doing) {
  return absl::ErrnoToStatus(
      errno, absl::StrCat("--program-socket ", path, ": cannot ", doing));
}

UniqueFd NewSocket() {
  return UniqueFd(
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Removes the socket of a process that is no more.
absl::Status RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0) return absl::OkStatus();
  if (!S_ISSOCK(found.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--program-socket ", path, ": there is something that is no socket"));
  }
  const UniqueFd caller = NewSocket();
  if (connect(caller.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof(address)) == 0 ||
      errno == EAGAIN) {
    return absl::AlreadyExistsError(
        absl::StrCat("--program-socket ", path,
                     ": another process listens there; give every worker of a "
                     "machine a path of its own"));
  }
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return Failed(path, "remove what another process has left");
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProgramSocket>> ProgramSocket::Listen(
    const std::string& path, const WakeUp* wake) {
  PACELINE_ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(path));
  PACELINE_RETURN_IF_ERROR(RemoveStale(path, address));
  UniqueFd listening = NewSocket();
  // From its first moment on: the file gets the mode that the socket has.
  if (!listening.valid() || !wake->valid() ||
      fchmod(listening.get(), 0600) != 0) {
    return Failed(path, "make a socket");
  }
  if (bind(listening.get(), reinterpret_cast<const sockaddr*>(&address),
           sizeof(address)) != 0) {
    return Failed(path, "be bound");
  }
  if (listen(listening.get(), kBacklog) != 0) {
    const absl::Status failed = Failed(path, "be listened at");
    unlink(path.c_str());
    return failed;
  }
  return absl::WrapUnique(new ProgramSocket(path, std::move(listening), wake));
}

ProgramSocket::ProgramSocket(std::string path, UniqueFd listening,
                             const WakeUp* wake)
    : path_(std::move(path)),
      listening_(std::move(listening)),
      wake_(*wake),
      thread_([this] { Serve(); }) {}

ProgramSocket::~ProgramSocket() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  end_.Wake();
  thread_.join();
  unlink(path_.c_str());
}

void ProgramSocket::Serve() {
  const auto ending = [this] {
    absl::MutexLock lock(&mu_);
    return ending_;
  };
  while (end_.Await(listening_.get(), POLLIN, {.stopped = ending}).ok()) {
    UniqueFd socket(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.valid()) {
      // Without descriptors, say: what waits stays, and would be seen at once.
      const ProgramPatience pause = {
          .deadline = Clock::Real().Now() + absl::Milliseconds(100),
          .stopped = ending};
      if (errno != EAGAIN) end_.Await(-1, 0, pause).IgnoreError();
      continue;
    }
    const int fd = socket.get();
    const auto program =
        std::make_shared<ProgramConnection>(std::move(socket), &wake_);
    const absl::Status admitted = Admit(program, fd);
    if (admitted.ok()) continue;
    LogWarning("a program is refused", {{"reason", Summary(admitted)}});
    // There is room for so little, or nobody reads it.
    program->Send(RefusedFrame(admitted), {.deadline = absl::InfinitePast()})
        .IgnoreError();
  }
}

absl::Status ProgramSocket::Admit(
    const std::shared_ptr<ProgramConnection>& program, int socket) {
  if (!PeerIsThisUser(socket)) {
    return absl::PermissionDeniedError(
        "the socket is for programs of the agent's own user");
  }
  absl::MutexLock lock(&mu_);
  const auto taken = taken_.lock();
  if ((taken != nullptr && !taken->gone()) ||
      (waiting_ != nullptr && !waiting_->gone())) {
    return absl::AlreadyExistsError(
        "another program is connected to this agent; an agent has one");
  }
  waiting_ = program;
  wake_.Wake();
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<ProgramConnection>> ProgramSocket::Take(
    const ProgramPatience& patience) {
  const auto take = [this]() -> std::shared_ptr<ProgramConnection> {
    absl::MutexLock lock(&mu_);
    if (waiting_ == nullptr) return nullptr;
    taken_ = waiting_;
    return std::exchange(waiting_, nullptr);
  };
  std::shared_ptr<ProgramConnection> program = take();
  while (program == nullptr || program->gone()) {
    // One that has gone without anything in hand is no loss.
    program = nullptr;
    bool came = false;
    const absl::Status waited =
        wake_.Await(-1, 0, {.deadline = patience.deadline, .stopped = [&] {
                              program = take();
                              came = program != nullptr;
                              return came || patience.stopped();
                            }});
    if (!came) return waited;
  }
  return program;
}

}  // namespace paceline
