#include "services/worker/open_exchanges.h"

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
  at.sent = 0;
  at.most_sent = 0;
}

bool OpenExchanges::End(size_t server, Kind kind, uint64_t number,
                        absl::Time now) {
  const auto found = servers_.find(server);
  if (number == 0 || found == servers_.end() ||
      found->second.open.*kind != number) {
    return false;
  }
  found->second.open.*kind = 0;
  if (kind == &OpenAtServer::pull) found->second.open.torn = false;
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
