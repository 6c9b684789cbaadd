#ifndef PACELINE_COMMON_OBJECT_STORE_WEB_CALLER_H_
#define PACELINE_COMMON_OBJECT_STORE_WEB_CALLER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace paceline {

struct WebCall {
  std::string method = "GET";
  std::string url;
  std::map<std::string, std::string> headers;
  absl::string_view body;  // Outlives the call.
  // It fails once nothing has moved for so long, or it has lasted so long.
  absl::Duration silence = absl::Seconds(20);
  absl::Duration most = absl::Minutes(10);
  uint64_t most_bytes = uint64_t{64} << 20;  // Of the answer's body.
};

struct WebAnswer {
  int code = 0;
  std::map<std::string, std::string> headers;  // By name in lower case.
  std::string body;
};

// Calls HTTP servers, over connections that stay open between calls. A process
// that has one ignores SIGPIPE from then on. Thread-safe.
class WebCaller {
 public:
  // Trusts the authorities in `ca_file`; empty: those of the library.
  explicit WebCaller(std::string ca_file);
  ~WebCaller();
  WebCaller(const WebCaller&) = delete;
  WebCaller& operator=(const WebCaller&) = delete;

  // What the server says, whatever the code; a redirection is not followed.
  // UNAVAILABLE: there is no connection, or it broke. DEADLINE_EXCEEDED.
  // FAILED_PRECONDITION: the server's certificate is not to be trusted.
  // RESOURCE_EXHAUSTED: the answer is too long.
  absl::StatusOr<WebAnswer> Call(const WebCall& call);

 private:
  // One of libcurl's handles, which has a connection of its own.
  struct CloseHandle {
    void operator()(void* handle) const;
  };
  using Handle = std::unique_ptr<void, CloseHandle>;

  Handle Take();
  void GiveBack(Handle handle);

  const std::string ca_file_;
  absl::Mutex mu_;
  std::vector<Handle> idle_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_COMMON_OBJECT_STORE_WEB_CALLER_H_
