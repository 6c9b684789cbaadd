#ifndef PACELINE_TESTS_COMMON_LOOPBACK_SOCKET_H_
#define PACELINE_TESTS_COMMON_LOOPBACK_SOCKET_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"
#include "gtest/gtest.h"

namespace paceline {

// A port of this machine where the test says what happens. Whoever connects is
// let in by the kernel and hears nothing.
class LoopbackSocket {
 public:
  LoopbackSocket() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(fd_.get(), any, size), 0);
    EXPECT_EQ(listen(fd_.get(), 5), 0);
    EXPECT_EQ(getsockname(fd_.get(), any, &size), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }

  const std::string& address() const { return address_; }

  // The next connection; waits for it.
  UniqueFd Accept() { return UniqueFd(accept(fd_.get(), nullptr, nullptr)); }

  // From now on nobody listens there.
  void Close() { fd_.Reset(); }

 private:
  UniqueFd fd_;
  std::string address_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_LOOPBACK_SOCKET_H_
