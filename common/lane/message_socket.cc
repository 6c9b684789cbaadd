#include "common/lane/message_socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/peer_user.h"

namespace paceline {
namespace {

// Taken from the system at once. Messages that carry nothing are some hundred
// bytes.
constexpr size_t kReceivedAtOnce = size_t{64} << 10;

// What a large message has needed beyond that is given back.
constexpr size_t kMostKept = size_t{4} << 20;

// More pieces than a message has.
constexpr size_t kMostPieces = 64;

int OptionOf(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof(value);
  return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

// What is left of the pieces behind their first `bytes`.
std::vector<absl::string_view> Behind(
    size_t bytes, absl::Span<const absl::string_view> pieces) {
  std::vector<absl::string_view> left;
  for (absl::string_view piece : pieces) {
    const size_t gone = std::min(bytes, piece.size());
    piece.remove_prefix(gone);
    bytes -= gone;
    if (!piece.empty()) left.push_back(piece);
  }
  return left;
}

}  // namespace

absl::StatusOr<std::array<UniqueFd, 2>> MessageSocket::Pair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    return absl::UnavailableError(
        absl::StrCat("no pair of sockets: ", strerror(errno)));
  }
  return std::array<UniqueFd, 2>{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

bool MessageSocket::IsEnd(int fd) {
  return OptionOf(fd, SO_DOMAIN) == AF_UNIX &&
         OptionOf(fd, SO_TYPE) == SOCK_STREAM && PeerIsThisUser(fd);
}

MessageSocket::Parts MessageSocket::PartsOf(UniqueFd end) {
  return {std::move(end), UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
}

MessageSocket::MessageSocket(Parts parts, size_t most, Handlers handlers)
    : parts_(std::move(parts)),
      most_(most),
      handlers_(std::move(handlers)),
      received_(kReceivedAtOnce),
      thread_([this] { Run(); }) {}

MessageSocket::~MessageSocket() {
  if (thread_.joinable()) Stop();
}

void MessageSocket::Stop() {
  End();
  thread_.join();
}

bool MessageSocket::Send(absl::Span<const absl::string_view> pieces) {
  uint32_t length = 0;
  std::vector<absl::string_view> all = {{length_.data(), length_.size()}};
  for (const absl::string_view piece : pieces) {
    length += static_cast<uint32_t>(piece.size());
    all.push_back(piece);
  }
  memcpy(length_.data(), &length, sizeof(length));
  {
    // The message before this one may have been cut off.
    absl::MutexLock lock(&mu_);
    if (ended_) return true;
  }
  const size_t sent = SendSome(all);
  if (sent == length_.size() + length) return true;
  {
    absl::MutexLock lock(&mu_);
    if (ended_) return true;
    unsent_ = Behind(sent, all);
  }
  Wake();
  return false;
}

size_t MessageSocket::SendSome(
    absl::Span<const absl::string_view> pieces) const {
  size_t in_all = 0;
  for (const absl::string_view piece : pieces) in_all += piece.size();
  size_t sent = 0;
  while (sent < in_all) {
    iovec parts[kMostPieces];
    size_t count = 0;
    for (const absl::string_view piece : Behind(sent, pieces)) {
      if (count == kMostPieces) break;
      parts[count++] = {const_cast<char*>(piece.data()), piece.size()};
    }
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    const ssize_t n =
        sendmsg(parts_.end.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
      sent += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      return sent;
    } else if (errno != EINTR) {
      return in_all;  // The other end is closed.
    }
  }
  return sent;
}

void MessageSocket::ReadOn() {
  {
    absl::MutexLock lock(&mu_);
    reading_ = true;
  }
  // The socket's own thread looks by itself.
  if (std::this_thread::get_id() != reader_.load()) Wake();
}

void MessageSocket::Pause() {
  absl::MutexLock lock(&mu_);
  reading_ = false;
}

void MessageSocket::Nudge() {
  {
    absl::MutexLock lock(&mu_);
    nudged_ = true;
  }
  Wake();
}

void MessageSocket::End() {
  {
    absl::MutexLock lock(&mu_);
    ended_ = true;
  }
  Wake();
}

void MessageSocket::Wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n =
      write(parts_.woken.get(), &one, sizeof(one));
}

void MessageSocket::Run() {
  reader_ = std::this_thread::get_id();
  int16_t events = 0;
  while (Next(events)) {
    // One that is closed would be told of whatever was asked.
    pollfd waited[] = {{events == 0 ? -1 : parts_.end.get(), events, 0},
                       {parts_.woken.get(), POLLIN, 0}};
    if (poll(waited, 2, /*timeout=*/-1) < 0) continue;
    if (waited[1].revents != 0) {
      uint64_t count = 0;
      [[maybe_unused]] const ssize_t n =
          read(parts_.woken.get(), &count, sizeof(count));
    }
    const int16_t closed = POLLHUP | POLLERR;
    if ((events & POLLOUT) != 0 && (waited[0].revents & (POLLOUT | closed))) {
      SendMore();
    }
    if ((events & POLLIN) != 0 && (waited[0].revents & (POLLIN | closed))) {
      Receive();
    }
  }
}

bool MessageSocket::Next(int16_t& events) {
  HandOut();  // What has come may have been left when reading was stopped.
  bool nudged = false;
  bool unsent = false;
  bool ended = false;
  {
    absl::MutexLock lock(&mu_);
    ended = ended_;
    nudged = std::exchange(nudged_, false) && !ended;
    if (ended) unsent = !std::exchange(unsent_, {}).empty();
  }
  if (unsent) handlers_.on_sent();
  if (nudged) {
    handlers_.on_nudged();
    HandOut();  // It may have begun to read.
  }
  // After these: they may send.
  absl::MutexLock lock(&mu_);
  events = 0;
  if (reading_ && open_) events |= POLLIN;
  if (!unsent_.empty()) events |= POLLOUT;
  return !ended;
}

void MessageSocket::SendMore() {
  std::vector<absl::string_view> unsent;
  {
    absl::MutexLock lock(&mu_);
    unsent = unsent_;
  }
  size_t in_all = 0;
  for (const absl::string_view piece : unsent) in_all += piece.size();
  const size_t sent = SendSome(unsent);
  {
    absl::MutexLock lock(&mu_);
    unsent_ = Behind(sent, unsent);
  }
  // Before that the owner sends nothing.
  if (sent == in_all) handlers_.on_sent();
}

void MessageSocket::Receive() {
  if (end_ == received_.size()) {
    // A message that is longer than all that is there makes room for itself.
    std::copy(received_.begin() + begin_, received_.end(), received_.begin());
    end_ -= std::exchange(begin_, 0);
    if (end_ == received_.size()) received_.resize(2 * received_.size());
  }
  const ssize_t n = recv(parts_.end.get(), received_.data() + end_,
                         received_.size() - end_, MSG_DONTWAIT);
  if (n > 0) {
    end_ += static_cast<size_t>(n);
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    EndReading(absl::OkStatus());
  }
}

void MessageSocket::HandOut() {
  while (reading() && end_ - begin_ >= kLengthBytes) {
    uint32_t length = 0;
    memcpy(&length, received_.data() + begin_, sizeof(length));
    if (length > most_) {
      return EndReading(absl::ResourceExhaustedError(absl::StrCat(
          "a message of ", length, " bytes; ", most_, " are the most")));
    }
    if (end_ - begin_ < kLengthBytes + length) return;
    const absl::string_view message(received_.data() + begin_ + kLengthBytes,
                                    length);
    begin_ += kLengthBytes + length;
    handlers_.on_message(message);
    if (begin_ == end_) begin_ = end_ = 0;
  }
  if (end_ == 0 && received_.size() > kMostKept) {
    std::vector<char>(kReceivedAtOnce).swap(received_);
  }
}

bool MessageSocket::reading() {
  absl::MutexLock lock(&mu_);
  return reading_ && open_ && !ended_;
}

void MessageSocket::EndReading(const absl::Status& why) {
  {
    absl::MutexLock lock(&mu_);
    open_ = false;
  }
  handlers_.on_end(why);
}

}  // namespace paceline
