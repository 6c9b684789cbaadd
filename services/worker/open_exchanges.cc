#include "services/worker/open_exchanges.h"

#include "common/link_connections.h"

namespace paceline {
namespace {

// Breaks after which what is repeated still counts.
constexpr int kRepeats = 3;

}  // namespace

void OpenExchanges::AddServer(size_t server, bool pushed) {
  Server& added = servers_[server];
  added.pushed = added.pushed || pushed;
}

void OpenExchanges::Begin(Kind kind, uint64_t number) {
  for (auto& [id, server] : servers_) {
    if (kind == &OpenAtServer::push && !server.pushed) continue;
    BeginAt(id, kind, number);
  }
}

void OpenExchanges::BeginAt(size_t server, Kind kind, uint64_t number) {
  Server& at = servers_.at(server);
  at.open.*kind = number;
  if (kind == &OpenAtServer::pull) at.open.pull_parts = 1;
  at.sent = 0;
  at.most_sent = 0;
}

void OpenExchanges::AskInParts(size_t server, uint64_t request,
                               uint32_t parts) {
  OpenAtServer& open = servers_.at(server).open;
  if (request == 0 || open.pull != request) return;
  open.pull_parts = (uint32_t{1} << parts) - 1;
}

bool OpenExchanges::End(size_t server, Kind kind, uint64_t number,
                        absl::Time now, uint32_t part) {
  const auto found = servers_.find(server);
  if (number == 0 || found == servers_.end() ||
      found->second.open.*kind != number) {
    return false;
  }
  OpenAtServer& open = found->second.open;
  if (kind == &OpenAtServer::pull) {
    if (part >= kMostConnections) return false;
    const uint32_t bit = uint32_t{1} << part;
    if ((open.pull_parts & bit) == 0) return false;
    open.pull_parts &= ~bit;
    if (open.pull_parts == 0) open.pull = 0;
  } else {
    open.*kind = 0;
  }
  Count(found->second, /*again=*/false, now);
  return true;
}

void OpenExchanges::EndAll(Kind kind) {
  for (auto& [id, server] : servers_) server.open.*kind = 0;
}

size_t OpenExchanges::Count(Kind kind) const {
  size_t open = 0;
  for (const auto& [id, server] : servers_) open += server.open.*kind != 0;
  return open;
}

absl::Status OpenExchanges::WhyNot(Kind kind) const {
  for (const auto& [id, server] : servers_) {
    if (server.open.*kind != 0 && !server.broke_with.ok()) {
      return server.broke_with;
    }
  }
  return absl::OkStatus();
}

void OpenExchanges::Came(size_t server, bool again, absl::Time now) {
  Count(servers_.at(server), again, now);
}

void OpenExchanges::Went(size_t server, absl::Time now) {
  Server& to = servers_.at(server);
  const bool again = ++to.sent <= to.most_sent;
  if (!again) to.most_sent = to.sent;
  Count(to, again, now);
}

void OpenExchanges::Count(Server& server, bool again, absl::Time now) {
  if (!again) server.breaks = 0;
  if (server.breaks <= kRepeats) last_progress_ = now;
}

void OpenExchanges::Suspend(size_t server, const absl::Status& status) {
  Server& from = servers_.at(server);
  from.broke_with = status;
  ++from.breaks;
}

void OpenExchanges::Resume(size_t server) {
  Server& from = servers_.at(server);
  from.broke_with = absl::OkStatus();
  from.sent = 0;
}

}  // namespace paceline
