#include "services/coordinator/fleet/server_choice.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace paceline {

absl::StatusOr<std::vector<ServerLink>> LeastLoaded(
    std::vector<LoadedServer> servers, uint32_t count) {
  if (servers.empty() || servers.size() < count) {
    return absl::UnavailableError(
        absl::StrCat("waits for ", std::max<uint32_t>(1, count),
                     " parameter servers: ", servers.size(), " connected"));
  }
  const auto by_name = [](const LoadedServer& a, const LoadedServer& b) {
    return a.link.name < b.link.name;
  };
  std::sort(servers.begin(), servers.end(), by_name);
  if (count > 0) {
    std::stable_sort(servers.begin(), servers.end(),
                     [](const LoadedServer& a, const LoadedServer& b) {
                       return a.bytes < b.bytes;
                     });
    servers.resize(count);
    std::sort(servers.begin(), servers.end(), by_name);
  }
  std::vector<ServerLink> picked;
  picked.reserve(servers.size());
  for (LoadedServer& server : servers) {
    picked.push_back(std::move(server.link));
  }
  return picked;
}

absl::Status CheckEnough(const std::vector<v1::Server>& servers,
                         size_t wanted) {
  size_t ready = 0;
  std::string others;
  for (const v1::Server& server : servers) {
    if (server.takes_jobs()) {
      ++ready;
    } else if (!server.leaving()) {
      absl::StrAppend(&others, "; ", server.name(), ": ",
                      server.folder_trouble());
    }
  }
  if (ready >= wanted) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("waits for ", wanted,
                                             " parameter servers: ", ready,
                                             " connected", others));
}

absl::Status CheckRoomOf(const v1::ServerHello& server, uint64_t needed,
                         uint64_t others, const ParadigmSpec& paradigm) {
  const uint64_t most = server.max_bytes();
  if (most == 0 || needed == 0 || needed + others <= most) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "server ", server.name(), " has no room for ", FormatParadigm(paradigm),
      ": with what it makes a server hold the job needs ", needed,
      " bytes there; other jobs have ", others, " of ", most,
      ". Choose another paradigm, end a job, add servers, or raise the "
      "servers' --max-parameter-bytes"));
}

}  // namespace paceline
