#ifndef PACELINE_TESTS_INTEGRATION_GENERIC_CALL_H_
#define PACELINE_TESTS_INTEGRATION_GENERIC_CALL_H_

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace paceline {

// Calls any method, streaming or not, without its stub: sends the one
// serialized message `request`, half closes, and returns the first message that
// comes back; what may follow it is not waited for. The error has its details
// as payloads. `authorization`: values of that metadata, as they are.
//   NOT_FOUND  of an empty stream too, which ended well without a message.
absl::StatusOr<std::string> CallGenerically(
    const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
    const std::string& request,
    const std::vector<std::string>& authorization = {});

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_GENERIC_CALL_H_
