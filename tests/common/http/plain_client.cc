#include "tests/common/http/plain_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr timeval kPatience = {.tv_sec = 30, .tv_usec = 0};

}  // namespace

PlainClient::PlainClient(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(socket_.get(), reinterpret_cast<sockaddr*>(&address),
                    sizeof(address)),
            0)
      << strerror(errno);
  for (const int direction : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    EXPECT_EQ(setsockopt(socket_.get(), SOL_SOCKET, direction, &kPatience,
                         sizeof(kPatience)),
              0);
  }
}

bool PlainClient::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string PlainClient::ReadToEnd() {
  std::string all;
  char part[1 << 14];
  while (true) {
    const ssize_t got = recv(socket_.get(), part, sizeof(part), 0);
    if (got > 0) {
      all.append(part, static_cast<size_t>(got));
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    // The other side has closed it, perhaps without reading all.
    const bool closed = got == 0 || errno == ECONNRESET;
    EXPECT_TRUE(closed) << strerror(errno) << " after: " << all.substr(0, 200);
    return all;
  }
}

PlainAnswer Exchange(int port, absl::string_view request) {
  PlainClient client(port);
  client.Send(request);
  const std::string all = client.ReadToEnd();
  PlainAnswer answer;
  const size_t end = all.find("\r\n\r\n");
  if (end == std::string::npos || all.rfind("HTTP/1.", 0) != 0 ||
      !absl::SimpleAtoi(all.substr(9, 3), &answer.status)) {
    ADD_FAILURE() << "no answer of HTTP: " << all.substr(0, 200);
    return answer;
  }
  answer.head = all.substr(0, end + 2);
  answer.body = all.substr(end + 4);
  return answer;
}

PlainAnswer Get(int port, absl::string_view path) {
  return Exchange(port,
                  absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n"));
}

std::vector<PlainClient> Silent(int count, int port, absl::string_view bytes) {
  std::vector<PlainClient> clients;
  for (int i = 0; i < count; ++i) clients.emplace_back(port).Send(bytes);
  return clients;
}

}  // namespace paceline
