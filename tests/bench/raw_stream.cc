#include "tests/bench/raw_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "common/check.h"

namespace paceline {
namespace {

constexpr size_t kHotPiece = 1 << 20;

sockaddr* AsSocketAddress(sockaddr_in& address) {
  return reinterpret_cast<sockaddr*>(&address);
}

void SendAll(int to, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(to, bytes.data(), bytes.size(), 0);
    CHECK(sent > 0);
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

}  // namespace

RawStream RawStream::Tcp() {
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  CHECK(listener.get() >= 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  CHECK(bind(listener.get(), AsSocketAddress(address), size) == 0);
  CHECK(listen(listener.get(), 1) == 0);
  CHECK(getsockname(listener.get(), AsSocketAddress(address), &size) == 0);
  const int sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(connect(sender, AsSocketAddress(address), size) == 0);
  const int receiver = accept(listener.get(), nullptr, nullptr);
  CHECK(receiver >= 0);
  return RawStream(sender, receiver);
}

RawStream RawStream::Unix() {
  std::array<int, 2> ends = {};
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return RawStream(ends[0], ends[1]);
}

void RawStream::SendHot(size_t bytes) {
  const std::vector<char> source(kHotPiece, 'x');
  std::vector<char> sink(kHotPiece);
  std::thread sender([&] {
    for (size_t left = bytes; left > 0; left -= std::min(left, kHotPiece)) {
      SendAll(sender_.get(), {source.data(), std::min(left, kHotPiece)});
    }
  });
  for (size_t left = bytes; left > 0;) {
    const ssize_t got = recv(receiver_.get(), sink.data(), kHotPiece, 0);
    CHECK(got > 0);
    left -= static_cast<size_t>(got);
  }
  sender.join();
}

void RawStream::Send(size_t pieces, const Work& work) {
  std::thread sender([&] {
    for (size_t i = 0; i < pieces; ++i) SendAll(sender_.get(), work.give(i));
  });
  for (size_t i = 0; i < pieces; ++i) {
    const absl::Span<char> room = work.room(i);
    CHECK(recv(receiver_.get(), room.data(), room.size(), MSG_WAITALL) ==
          static_cast<ssize_t>(room.size()));
    work.take(i);
  }
  sender.join();
}

}  // namespace paceline
