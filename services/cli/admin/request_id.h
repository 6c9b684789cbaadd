#ifndef PACELINE_SERVICES_CLI_ADMIN_REQUEST_ID_H_
#define PACELINE_SERVICES_CLI_ADMIN_REQUEST_ID_H_

#include <cstdint>
#include <string>

namespace paceline {

// The version-4 UUID of 128 bits of chance, as text: RFC 4122 fixes six.
std::string UuidOf(uint64_t high, uint64_t low);

// A fresh one, of the system's chance: a request that is sent again after a
// broken connection is then known as the same.
std::string NewRequestId();

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_REQUEST_ID_H_
