#ifndef PACELINE_SERVICES_COORDINATOR_RUN_RUN_SERVERS_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_RUN_SERVERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/rpc/stream_registry.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/run/course/course.h"

namespace paceline {

// A parameter server's stream, to which a run sends its commands.
using ServerPeer = OutgoingStream<v1::ServerCommand>;

// A parameter server that a run may use.
struct ServerLink {
  uint64_t member = 0;  // Its number in the fleet; 0: it is not there yet.
  std::string name;
  std::string address;  // "host:port", for workers.
  std::weak_ptr<ServerPeer> stream;
  std::string failure_domain = {};
  bool replicates = false;    // It can be a backup, and have one.
  bool counts_rules = false;  // It says how much it has room for.
  uint32_t connections = 0;   // Of use to it from one worker.
  bool drains_ahead = false;  // It takes what is announced.
};

// The servers of one run: how each is reached, by the number that its course
// gives it, and what of the model they have, as others are told of it.
// Thread-compatible.
class RunServers {
 public:
  explicit RunServers(std::vector<ServerLink> servers);

  // False if the member is one already, or is to be.
  bool Announce(uint64_t member) { return announced_.insert(member).second; }
  // An announced one, with the next number.
  void Add(const ServerLink& server) { servers_.push_back(server); }

  // The server with that number is reached so from now on.
  void Attach(int server, const ServerLink& link);

  int size() const { return static_cast<int>(servers_.size()); }
  const ServerLink& at(int server) const { return servers_[server]; }
  // Of the member with that number in the fleet.
  std::optional<int> Find(uint64_t member) const;

  // From now on shards have these blocks, and are where the map says.
  void Place(const RunCourse& course);
  // Whoever begins from now on finds the shard there.
  void Move(int shard, int server, uint64_t epoch);
  const std::vector<v1::Shard>& shards() const { return shards_; }
  // How many connections a worker opens to a shard's primary that may open
  // `its`, if the run has so many members, evaluators included.
  uint32_t ConnectionsTo(int server, uint32_t its, size_t members) const;
  // The shards, as that worker is told of them.
  v1::BeginJob BeginFor(uint32_t its, size_t members) const;

  // What a server has of the model, without the job's name.
  static std::vector<v1::HostedShard> On(int server, const ShardMap& map);

 private:
  std::vector<ServerLink> servers_;
  std::set<uint64_t> announced_;
  std::vector<v1::Shard> shards_;
  std::vector<int> primaries_;  // Of the shards.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_RUN_SERVERS_H_
