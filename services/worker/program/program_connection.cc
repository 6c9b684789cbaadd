#include "services/worker/program/program_connection.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"

namespace paceline {
namespace {

// At once. Most frames are a few bytes.
constexpr size_t kReadBytes = size_t{64} << 10;

constexpr size_t kDescriptorsMax = 2;

absl::Status Gone() {
  return absl::UnavailableError("the program has closed its connection");
}

// One sendmsg(2) of what it takes.
ssize_t SendSome(int socket, absl::string_view bytes,
                 absl::Span<const int> descriptors) {
  iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))>
      control = {};
  if (!descriptors.empty()) {
    CHECK(descriptors.size() <= kDescriptorsMax);
    const size_t size = descriptors.size() * sizeof(int);
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(header), descriptors.data(), size);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

bool ProgramConnection::gone() const {
  pollfd look = {socket_.get(), POLLRDHUP, 0};
  return poll(&look, 1, 0) > 0 && look.revents != 0;
}

absl::Status ProgramConnection::Send(absl::string_view frame,
                                     const ProgramPatience& patience,
                                     absl::Span<const int> descriptors) {
  if (torn_) {
    return absl::UnavailableError("a frame to the program was broken off");
  }
  while (!left_.empty()) {
    const ssize_t sent = SendSome(socket_.get(), left_, {});
    if (sent > 0) {
      left_.erase(0, static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      PACELINE_RETURN_IF_ERROR(wake_.Await(socket_.get(), POLLOUT, patience));
    } else if (errno != EINTR) {
      return Gone();
    }
  }
  while (!frame.empty()) {
    const ssize_t sent = SendSome(socket_.get(), frame, descriptors);
    if (sent > 0) {
      frame.remove_prefix(static_cast<size_t>(sent));
      torn_ = !frame.empty();
      descriptors = {};
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      PACELINE_RETURN_IF_ERROR(wake_.Await(socket_.get(), POLLOUT, patience));
    } else if (errno != EINTR) {
      return Gone();
    }
  }
  return absl::OkStatus();
}

void ProgramConnection::SendAtOnce(absl::string_view frames) {
  left_.append(frames.data(), frames.size());
  if (torn_) return;
  const ssize_t sent = SendSome(socket_.get(), left_, {});
  if (sent > 0) left_.erase(0, static_cast<size_t>(sent));
}

absl::StatusOr<ProgramFrame> ProgramConnection::Receive(
    const ProgramPatience& patience) {
  while (true) {
    const absl::string_view left = absl::string_view(received_).substr(used_);
    if (left.size() >= kFrameHeaderBytes) {
      PACELINE_ASSIGN_OR_RETURN(
          const FrameHeader header,
          ParseFrameHeader(left.substr(0, kFrameHeaderBytes)));
      const size_t whole = kFrameHeaderBytes + header.length;
      if (left.size() >= whole) {
        ProgramFrame frame{header.kind, std::string(left.substr(
                                            kFrameHeaderBytes, header.length))};
        used_ += whole;
        return frame;
      }
    }
    PACELINE_RETURN_IF_ERROR(ReadMore(patience));
  }
}

absl::Status ProgramConnection::ReadMore(const ProgramPatience& patience) {
  received_.erase(0, used_);
  used_ = 0;
  const size_t before = received_.size();
  while (true) {
    received_.resize(before + kReadBytes);
    const ssize_t read = recv(socket_.get(), received_.data() + before,
                              kReadBytes, MSG_DONTWAIT);
    const int error = errno;
    received_.resize(before + static_cast<size_t>(std::max<ssize_t>(read, 0)));
    if (read > 0) return absl::OkStatus();
    if (read == 0) return Gone();
    if (error == EAGAIN || error == EWOULDBLOCK) {
      PACELINE_RETURN_IF_ERROR(wake_.Await(socket_.get(), POLLIN, patience));
    } else if (error != EINTR) {
      return Gone();
    }
  }
}

}  // namespace paceline
