#include "common/connections/connection_accounts.h"

namespace paceline {

std::shared_ptr<ConnectionAccount> ConnectionAccounts::Open(
    absl::string_view peer) {
  auto account = std::make_shared<ConnectionAccount>();
  absl::MutexLock lock(&mu_);
  by_peer_.insert_or_assign(peer, account);
  return account;
}

void ConnectionAccounts::Close(absl::string_view peer,
                               const ConnectionAccount* account) {
  absl::MutexLock lock(&mu_);
  const auto it = by_peer_.find(peer);
  if (it != by_peer_.end() && it->second.get() == account) by_peer_.erase(it);
}

std::shared_ptr<ConnectionAccount> ConnectionAccounts::Find(
    absl::string_view peer) const {
  absl::MutexLock lock(&mu_);
  const auto it = by_peer_.find(peer);
  return it == by_peer_.end() ? nullptr : it->second;
}

}  // namespace paceline
