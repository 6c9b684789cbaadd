#ifndef PACELINE_COMMON_RPC_CONNECTIONS_FLAG_H_
#define PACELINE_COMMON_RPC_CONNECTIONS_FLAG_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/connections/link_speed.h"
#include "common/link_connections.h"
#include "common/rpc/coordinator_addresses.h"

namespace paceline {

// --connections of workers and servers, towards each `peer`; 0: as many as the
// link is worth.
inline void AddConnections(CLI::App& app, uint32_t& connections,
                           const std::string& peer) {
  app.add_option("--connections", connections,
                 absl::StrCat("Connections with each ", peer,
                              " at most; 0: as many as the speed of the link "
                              "asks for"))
      ->check(CLI::Range(uint32_t{0}, kMostConnections))
      ->capture_default_str();
}

// What a member says to the coordinators that it dials: `flag`, or what the
// link by which the first of them is reached is worth.
inline uint32_t ConnectionsTowards(const std::string& coordinators,
                                   uint32_t flag) {
  if (flag > 0) return flag;
  return ConnectionsAt(
      LinkSpeedTo(SplitCoordinatorAddresses(coordinators).front()));
}

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_CONNECTIONS_FLAG_H_
