#include "common/lane/lane_door.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "common/lane/message_socket.h"
#include "common/peer_user.h"
#include "common/status.h"

namespace paceline {
namespace {

// Of 128 random bits, in hex.
constexpr size_t kTokenBytes = 32;

// What comes back with a descriptor.
constexpr absl::string_view kHere = "h";

// A caller that has connected sends what it has at once.
constexpr int kPatienceMs = 1000;

std::string DrawToken(std::random_device& entropy) {
  std::string token;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&token,
                    absl::StrFormat("%08x", static_cast<uint32_t>(entropy())));
  }
  return token;
}

// A name that begins with a zero is no file.
struct Address {
  sockaddr_un name = {};
  socklen_t size = 0;
};

absl::StatusOr<Address> AddressOf(absl::string_view text) {
  Address address;
  address.name.sun_family = AF_UNIX;
  if (text.empty() || text.size() + 1 > sizeof(address.name.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("an address of ", text.size(), " bytes"));
  }
  memcpy(address.name.sun_path + 1, text.data(), text.size());
  address.size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return address;
}

UniqueFd NewSocket() {
  return UniqueFd(
      socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

absl::Status Failed(absl::string_view doing) {
  return absl::UnavailableError(
      absl::StrCat("nothing is shared with a process of this machine: ", doing,
                   ": ", strerror(errno)));
}

// Of gradients or weights. They take no memory here, but addresses.
constexpr uint64_t kMostReferredTo = uint64_t{1} << 40;

// A message of a token and one to three descriptors: a lane's, and then that of
// memory that its maker refers to and that of a socket; or a socket's alone.
constexpr size_t kMostDescriptors = 3;
struct Handed {
  std::string token;
  std::array<UniqueFd, kMostDescriptors> fds;
};

Handed Receive(int caller) {
  Handed handed;
  handed.token.resize(kTokenBytes);
  iovec part = {handed.token.data(), handed.token.size()};
  std::array<int, kMostDescriptors> fds;
  fds.fill(-1);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(fds))> control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  // Not what is there for its alignment, in which another one would find room.
  message.msg_controllen = CMSG_LEN(sizeof(fds));
  const ssize_t read =
      recvmsg(caller, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (read >= 0 && header != nullptr && header->cmsg_level == SOL_SOCKET &&
      header->cmsg_type == SCM_RIGHTS) {
    const size_t bytes = header->cmsg_len - CMSG_LEN(0);
    memcpy(fds.data(), CMSG_DATA(header), std::min(bytes, sizeof(fds)));
    for (size_t i = 0; i < fds.size(); ++i) handed.fds[i].Reset(fds[i]);
  }
  if (read != static_cast<ssize_t>(kTokenBytes)) handed.token.clear();
  return handed;
}

bool SendHanded(int socket, absl::string_view token,
                absl::Span<const int> fds) {
  iovec part = {const_cast<char*>(token.data()), token.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))>
      control = {};
  const size_t bytes = fds.size() * sizeof(int);
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(bytes);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(bytes);
  memcpy(CMSG_DATA(header), fds.data(), bytes);
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(token.size());
}

// A socket to who listens there.
absl::StatusOr<UniqueFd> Call(const LaneInvitation& invitation) {
  PACELINE_ASSIGN_OR_RETURN(const Address address,
                            AddressOf(invitation.address));
  UniqueFd caller = NewSocket();
  if (!caller.valid() ||
      connect(caller.get(), reinterpret_cast<const sockaddr*>(&address.name),
              address.size) != 0) {
    return Failed("cannot connect");
  }
  if (!PeerIsThisUser(caller.get())) {
    return absl::UnavailableError("another user listens there");
  }
  return caller;
}

absl::Status HandOver(int caller, const LaneInvitation& invitation,
                      absl::Span<const int> fds) {
  if (invitation.token.size() != kTokenBytes ||
      !SendHanded(caller, invitation.token, fds)) {
    return Failed("cannot hand it over");
  }
  return absl::OkStatus();
}

// Null if it is no memory that can be mapped safely.
std::unique_ptr<const SharedMemory> MapToRead(UniqueFd fd) {
  if (!fd.valid()) return nullptr;
  auto mapped = SharedMemory::Map(std::move(fd), kMostReferredTo,
                                  SharedMemory::Access::kRead);
  if (!mapped.ok()) return nullptr;
  (*mapped)->CloseDescriptor();
  return *std::move(mapped);
}

}  // namespace

std::string HostKey() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  if (!std::getline(file, boot) || boot.empty()) return "";
  return absl::StrCat(absl::StripAsciiWhitespace(boot), "-", geteuid());
}

absl::StatusOr<std::unique_ptr<LaneDoor>> LaneDoor::Open() {
  std::random_device entropy;
  const std::string text =
      absl::StrCat("paceline-lane-", getpid(), "-", DrawToken(entropy));
  PACELINE_ASSIGN_OR_RETURN(const Address address, AddressOf(text));
  UniqueFd listening = NewSocket();
  UniqueFd ending(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!listening.valid() || !ending.valid() ||
      bind(listening.get(), reinterpret_cast<const sockaddr*>(&address.name),
           address.size) != 0 ||
      listen(listening.get(), SOMAXCONN) != 0) {
    return Failed("cannot listen");
  }
  return absl::WrapUnique(
      new LaneDoor(text, std::move(listening), std::move(ending)));
}

LaneDoor::LaneDoor(std::string address, UniqueFd listening, UniqueFd ending)
    : address_(std::move(address)),
      listening_(std::move(listening)),
      ending_(std::move(ending)),
      thread_([this] { Serve(); }) {}

LaneDoor::~LaneDoor() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(ending_.get(), &one, sizeof(one));
  thread_.join();
}

LaneInvitation LaneDoor::Invite(Taken taken,
                                std::shared_ptr<const SharedMemory> own) {
  return InviteFor(LaneInvited{std::move(taken), std::move(own)});
}

LaneInvitation LaneDoor::InviteSocket(SocketTaken taken) {
  return InviteFor(std::move(taken));
}

LaneInvitation LaneDoor::InviteFor(Invited invited) {
  absl::MutexLock lock(&mu_);
  std::string token = DrawToken(entropy_);
  invited_[token] = std::move(invited);
  return {address_, std::move(token)};
}

void LaneDoor::Withdraw(const std::string& token) {
  absl::MutexLock lock(&mu_);
  invited_.erase(token);
}

void LaneDoor::Serve() {
  while (true) {
    pollfd waited[] = {{listening_.get(), POLLIN, 0},
                       {ending_.get(), POLLIN, 0}};
    if (poll(waited, 2, -1) < 0) continue;
    if (waited[1].revents != 0) return;
    const UniqueFd caller(
        accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    // Without descriptors, say: what waits is seen again at once.
    if (!caller.valid()) poll(&waited[1], 1, /*timeout=*/100);
    // Who calls notices that nothing comes of it, and does without.
    if (caller.valid()) Take(caller.get()).IgnoreError();
  }
}

absl::Status LaneDoor::Take(int caller) {
  if (!PeerIsThisUser(caller)) {
    return absl::PermissionDeniedError("the caller is of another user");
  }
  pollfd waited[] = {{caller, POLLIN, 0}, {ending_.get(), POLLIN, 0}};
  if (poll(waited, 2, kPatienceMs) <= 0 || waited[0].revents == 0) {
    return absl::DeadlineExceededError("the caller says nothing");
  }
  Handed handed = Receive(caller);
  Invited invited;
  {
    absl::MutexLock lock(&mu_);
    const auto found = invited_.find(handed.token);
    if (found == invited_.end()) {
      return absl::PermissionDeniedError("the caller is not invited");
    }
    invited = std::move(found->second);
    invited_.erase(found);
  }
  if (auto* const lane = std::get_if<LaneInvited>(&invited)) {
    return TakeLane(caller, std::move(*lane), absl::MakeSpan(handed.fds));
  }
  return TakeSocket(std::get<SocketTaken>(invited), std::move(handed.fds[0]));
}

absl::Status LaneDoor::TakeLane(int caller, LaneInvited invited,
                                absl::Span<UniqueFd> handed) {
  // Without them, everything goes through the rings, and gRPC.
  UniqueFd socket;
  std::unique_ptr<const SharedMemory> theirs;
  for (UniqueFd& fd : handed.subspan(1)) {
    if (!fd.valid()) continue;
    if (MessageSocket::IsEnd(fd.get())) {
      socket = std::move(fd);
    } else {
      theirs = MapToRead(std::move(fd));
    }
  }
  PACELINE_ASSIGN_OR_RETURN(
      std::unique_ptr<MemoryLane> lane,
      MemoryLane::Of(std::move(handed[0]), std::move(theirs)));
  if (socket.valid()) lane->Take(MessageSocket::PartsOf(std::move(socket)));
  // Should it not arrive, the other end does without.
  if (invited.own != nullptr &&
      SendHanded(caller, kHere, {invited.own->fd()})) {
    lane->ReferTo(std::move(invited.own));
  }
  invited.taken(std::move(lane));
  return absl::OkStatus();
}

absl::Status LaneDoor::TakeSocket(const SocketTaken& taken, UniqueFd handed) {
  if (!handed.valid() || !MessageSocket::IsEnd(handed.get())) {
    return absl::InvalidArgumentError("no socket was handed over");
  }
  MessageSocket::Parts socket = MessageSocket::PartsOf(std::move(handed));
  if (!socket.valid()) return absl::UnavailableError("no more descriptors");
  taken(std::move(socket));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<MemoryLane>> HandOverLane(
    const LaneInvitation& invitation, uint64_t bytes, const SharedMemory* own,
    bool theirs, bool socket) {
  PACELINE_ASSIGN_OR_RETURN(const UniqueFd caller, Call(invitation));
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<MemoryLane> lane,
                            MemoryLane::Make(bytes));
  std::vector<int> fds = {lane->fd()};
  if (own != nullptr) fds.push_back(own->fd());
  UniqueFd other_end;
  if (auto pair = MessageSocket::Pair(); socket && pair.ok()) {
    lane->Take(MessageSocket::PartsOf(std::move((*pair)[0])));
    other_end = std::move((*pair)[1]);
    if (lane->has_socket()) fds.push_back(other_end.get());
  }
  PACELINE_RETURN_IF_ERROR(HandOver(caller.get(), invitation, fds));
  lane->CloseDescriptor();
  pollfd answer = {caller.get(), POLLIN, 0};
  if (theirs && poll(&answer, 1, kPatienceMs) > 0) {
    lane->Take(MapToRead(std::move(Receive(caller.get()).fds[0])));
  }
  return lane;
}

absl::StatusOr<MessageSocket::Parts> HandOverSocket(
    const LaneInvitation& invitation) {
  PACELINE_ASSIGN_OR_RETURN(const UniqueFd caller, Call(invitation));
  PACELINE_ASSIGN_OR_RETURN(auto pair, MessageSocket::Pair());
  MessageSocket::Parts socket = MessageSocket::PartsOf(std::move(pair[0]));
  if (!socket.valid()) return absl::UnavailableError("no more descriptors");
  PACELINE_RETURN_IF_ERROR(HandOver(caller.get(), invitation, {pair[1].get()}));
  return socket;
}

}  // namespace paceline
