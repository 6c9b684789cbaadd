#ifndef PACELINE_SERVICES_CLI_ADMIN_LIST_ALL_H_
#define PACELINE_SERVICES_CLI_ADMIN_LIST_ALL_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "common/status.h"
#include "services/cli/admin/client.h"

namespace paceline {

// All pages of a list as one response without a page token, at most `limit`
// resources (0: all). `field` gives the repeated field of a response.
template <class Api, class Request, class Response, class Field>
absl::StatusOr<Response> ListAll(AdminClient& client,
                                 void (Api::*method)(grpc::ClientContext*,
                                                     const Request*, Response*,
                                                     grpc::ClientUnaryReactor*),
                                 Request request, int64_t limit, Field field) {
  constexpr int64_t kPage = 500;
  Response all;
  for (;;) {
    const int64_t left = limit > 0 ? limit - field(all)->size() : kPage;
    request.set_page_size(static_cast<int32_t>(std::min(left, kPage)));
    PACELINE_ASSIGN_OR_RETURN(Response page, client.Call(method, request));
    const std::string token = page.next_page_token();
    page.clear_next_page_token();
    all.MergeFrom(page);
    // A server may give more than was asked for.
    while (limit > 0 && field(all)->size() > limit) field(all)->RemoveLast();
    if (token.empty() || (limit > 0 && field(all)->size() >= limit)) return all;
    // One that never ends must not fill this machine's memory.
    if (token == request.page_token()) {
      return absl::InternalError(
          "the coordinator gave one page token twice: its list has no end");
    }
    request.set_page_token(token);
  }
}

// Pointers to the elements, as Printable takes them.
template <class Resource>
std::vector<const Resource*> Pointers(
    const google::protobuf::RepeatedPtrField<Resource>& resources) {
  return {resources.pointer_begin(), resources.pointer_end()};
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_LIST_ALL_H_
