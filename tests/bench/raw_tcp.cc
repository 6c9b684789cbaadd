#include "tests/bench/raw_tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "common/check.h"
#include "common/clock.h"

namespace paceline {
namespace {

constexpr size_t kPiece = 1 << 20;

sockaddr* AsSocketAddress(sockaddr_in& address) {
  return reinterpret_cast<sockaddr*>(&address);
}

// A listening socket on a free port of loopback, and that port's address.
int Listen(sockaddr_in& address) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(listener >= 0);
  address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  CHECK(bind(listener, AsSocketAddress(address), size) == 0);
  CHECK(listen(listener, 1) == 0);
  CHECK(getsockname(listener, AsSocketAddress(address), &size) == 0);
  return listener;
}

}  // namespace

double RawTcpSeconds(size_t bytes) {
  sockaddr_in address;
  const int listener = Listen(address);
  const int sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(connect(sender, AsSocketAddress(address), sizeof(address)) == 0);
  const int receiver = accept(listener, nullptr, nullptr);
  CHECK(receiver >= 0);
  const std::vector<char> source(kPiece, 'x');
  std::vector<char> sink(kPiece);

  const Clock& clock = Clock::Real();
  const absl::Time began = clock.Now();
  std::thread writer([&] {
    for (size_t left = bytes; left > 0;) {
      const ssize_t sent =
          send(sender, source.data(), std::min(left, kPiece), 0);
      CHECK(sent > 0);
      left -= sent;
    }
  });
  for (size_t left = bytes; left > 0;) {
    const ssize_t got = recv(receiver, sink.data(), kPiece, 0);
    CHECK(got > 0);
    left -= got;
  }
  const double seconds = absl::ToDoubleSeconds(clock.Now() - began);
  writer.join();
  for (const int fd : {listener, sender, receiver}) close(fd);
  return seconds;
}

}  // namespace paceline
