#ifndef PACELINE_TESTS_COMMON_HTTP_PLAIN_CLIENT_H_
#define PACELINE_TESTS_COMMON_HTTP_PLAIN_CLIENT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/unique_fd.h"

namespace paceline {

// A connection to a port of 127.0.0.1 that sends and reads what the test says:
// also a client of HTTP that stops half-way. Thread-compatible.
class PlainClient {
 public:
  // The test fails if there is no connection.
  explicit PlainClient(int port);

  // False if the other side has closed the connection.
  bool Send(absl::string_view bytes);
  // Everything until the other side closes. The test fails where that takes
  // half a minute.
  std::string ReadToEnd();

 private:
  UniqueFd socket_;
};

struct PlainAnswer {
  int status = 0;
  std::string head;  // The status line and the headers.
  std::string body;
};

// What comes for these bytes. The test fails if it is no answer of HTTP.
PlainAnswer Exchange(int port, absl::string_view request);
PlainAnswer Get(int port, absl::string_view path);

// So many connections that have sent `bytes` and say no more.
std::vector<PlainClient> Silent(int count, int port, absl::string_view bytes);

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_HTTP_PLAIN_CLIENT_H_
