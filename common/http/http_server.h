#ifndef PACELINE_COMMON_HTTP_HTTP_SERVER_H_
#define PACELINE_COMMON_HTTP_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace paceline {

struct HttpRequest {
  bool post = false;          // A POST, with a body; else a GET or a HEAD.
  std::string path;           // "/metrics", without what follows a '?'.
  bool accepts_gzip = false;  // The body of the answer may be compressed so.
  // Headers, empty where they are absent, or come more than once.
  std::string host;
  std::string origin;
  std::string content_type;
  std::string authorization;
  std::string body;
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  bool gzipped = false;  // The body.
  // Further headers, by their names.
  std::vector<std::pair<std::string, std::string>> headers;
};

// Answers GET and HEAD over plain HTTP, and POST where it is told to, one
// request a connection, for probes, scrapes and a page of one person: few
// answers, any of which must come however many clients send nothing, send
// slowly or do not read. One thread has all connections and waits
// for none of them; whoever takes too long is cut off, and so is the oldest
// where there would be too many.
//
// Thread-safe. The destructor ends what is open and waits for no client.
class HttpServer {
 public:
  struct Limits {
    // From a connection's beginning to the end of its request, and then to the
    // end of its answer.
    absl::Duration request = absl::Seconds(5);
    absl::Duration answer = absl::Seconds(15);
    size_t connections = 256;
    // Answers on their way, which take memory.
    size_t answers = 16;
    size_t header_bytes = 8 << 10;
    // Of a POST; 0: there is none.
    size_t body_bytes = 0;
  };

  // Gives the answer; on any thread, also when the connection is gone. If it is
  // not called the connection ends without one.
  using Respond = absl::AnyInvocable<void(HttpAnswer) &&>;
  // Answers at once or later. Called on the server's only thread: it must not
  // block.
  using Handler = std::function<void(const HttpRequest& request, Respond)>;

  // Listens on `address`, "host:port"; port 0: the system chooses. A host's
  // name stands for its first IPv4 address, "" and "*" for all addresses.
  //   INVALID_ARGUMENT  it is none.
  //   UNAVAILABLE       it cannot be listened on: in use, or not ours.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(
      const std::string& address, Handler handler, const Limits& limits);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }

 private:
  class Connections;

  HttpServer(std::shared_ptr<Connections> connections, int port);

  const std::shared_ptr<Connections> connections_;
  const int port_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_HTTP_HTTP_SERVER_H_
