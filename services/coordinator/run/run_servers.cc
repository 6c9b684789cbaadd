#include "services/coordinator/run/run_servers.h"

#include <algorithm>
#include <utility>

#include "common/link_connections.h"
#include "services/coordinator/run/wire.h"

namespace paceline {
namespace {

std::optional<v1::HostedShard::Role> RoleIn(const ShardMap::Shard& shard,
                                            int server) {
  if (shard.primary == server) return v1::HostedShard::PRIMARY;
  if (shard.state == ShardMap::BackupState::kNone || shard.backup != server) {
    return std::nullopt;
  }
  return shard.state == ShardMap::BackupState::kReady
             ? v1::HostedShard::BACKUP
             : v1::HostedShard::FILLING;
}

}  // namespace

RunServers::RunServers(std::vector<ServerLink> servers)
    : servers_(std::move(servers)) {
  for (const ServerLink& server : servers_) announced_.insert(server.member);
}

void RunServers::Attach(int server, const ServerLink& link) {
  announced_.insert(link.member);
  servers_[server] = link;
}

std::optional<int> RunServers::Find(uint64_t member) const {
  const auto found = std::ranges::find(servers_, member, &ServerLink::member);
  if (found == servers_.end()) return std::nullopt;
  return static_cast<int>(found - servers_.begin());
}

void RunServers::Place(const RunCourse& course) {
  const auto& shards = course.shards().shards();
  shards_ = ToShards(shards.size(), course.model().tensors, course.blocks());
  primaries_.assign(shards.size(), 0);
  for (size_t i = 0; i < shards.size(); ++i) {
    Move(static_cast<int>(i), shards[i].primary, shards[i].epoch);
  }
}

void RunServers::Move(int shard, int server, uint64_t epoch) {
  shards_[shard].set_address(servers_[server].address);
  shards_[shard].set_epoch(epoch);
  primaries_[shard] = server;
}

uint32_t RunServers::ConnectionsTo(int server, uint32_t its,
                                   size_t members) const {
  const auto hosted =
      std::max<size_t>(std::ranges::count(primaries_, server), 1);
  return ConnectionsBetween(its, servers_[server].connections,
                            static_cast<uint32_t>(members * hosted));
}

v1::BeginJob RunServers::BeginFor(uint32_t its, size_t members) const {
  v1::BeginJob begin;
  for (size_t i = 0; i < shards_.size(); ++i) {
    v1::Shard& shard = *begin.add_shards();
    shard = shards_[i];
    shard.set_connections(ConnectionsTo(primaries_[i], its, members));
  }
  return begin;
}

std::vector<v1::HostedShard> RunServers::On(int server, const ShardMap& map) {
  std::vector<v1::HostedShard> hosted;
  for (size_t i = 0; i < map.shards().size(); ++i) {
    const auto role = RoleIn(map.shards()[i], server);
    if (!role.has_value()) continue;
    v1::HostedShard shard;
    shard.set_role(*role);
    shard.set_shard(static_cast<uint32_t>(i));
    shard.set_epoch(map.shards()[i].epoch);
    shard.set_bytes(static_cast<uint64_t>(map.shards()[i].bytes));
    hosted.push_back(std::move(shard));
  }
  return hosted;
}

}  // namespace paceline
