#ifndef PACELINE_SERVICES_CLI_UI_PAGE_ACCESS_H_
#define PACELINE_SERVICES_CLI_UI_PAGE_ACCESS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/http/http_server.h"

namespace paceline {

// Who may ask the server of the page for what. The server listens on loopback
// alone, where every program and every page in a browser of this machine can
// reach it; only the person to whom its address was printed may use it.
// Thread-safe.
class PageAccess {
 public:
  // `token` is the secret of this start; not empty.
  PageAccess(int port, std::string token)
      : port_(port), token_(std::move(token)) {}

  // For the page itself, which says nothing of jobs.
  //   PERMISSION_DENIED  it was asked for under another name than this
  //   machine's
  //                      own: that of a site whose address was made ours (DNS
  //                      rebinding).
  absl::Status CheckHost(const HttpRequest& request) const;

  // For what the page asks, all of which may say something of jobs or change
  // them. A page of another site can send no such request unless it is asked
  // for permission first, which nobody gives.
  //   PERMISSION_DENIED  another host, or a page of another origin asks.
  //   UNAUTHENTICATED    it has not the token.
  //   INVALID_ARGUMENT   it is no POST of JSON.
  absl::Status CheckCall(const HttpRequest& request) const;

 private:
  const int port_;
  const std::string token_;
};

// 256 bits of the system's chance, as hexadecimal digits.
std::string NewPageToken();

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_UI_PAGE_ACCESS_H_
