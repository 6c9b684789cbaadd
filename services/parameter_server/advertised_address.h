#ifndef PACELINE_SERVICES_PARAMETER_SERVER_ADVERTISED_ADDRESS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_ADVERTISED_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// The address, "host:port", that workers are told to dial. `advertise` is what
// the flag says, port 0 for the one listened on; if it is empty, the address
// listened on is taken. INVALID_ARGUMENT, with what to do, for an address that
// no other machine could dial, such as 0.0.0.0.
absl::StatusOr<std::string> AdvertisedAddress(absl::string_view advertise,
                                              absl::string_view listening);

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_ADVERTISED_ADDRESS_H_
