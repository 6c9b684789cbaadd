#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_SHARD_MAP_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_SHARD_MAP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace paceline {

// A parameter server, as a run may use it.
struct RunServer {
  std::string name;
  std::string failure_domain = {};  // Empty: unknown, another than all others'.
  bool replicates = false;          // It can be a backup, and have one.
};

// What a server says that it has.
struct HeldShard {
  int shard = 0;
  uint64_t epoch = 0;
  bool backup = false;
};

// What is to be done about a shard; the server is named by its number.

// The server makes room for the shard, as its backup, and reports.
struct HostBackup {
  int server = 0;
  int shard = 0;
  uint64_t epoch = 0;
};
// To the shard's primary: who its backup is now. It reports when that has
// everything, and when it cannot have it any more.
struct SetBackup {
  int server = 0;
  int shard = 0;
  uint64_t epoch = 0;
  std::optional<int> backup;  // Nothing: it has none.
  bool hold = false;  // Nothing is acknowledged until it has everything.
};
// To a backup: it is the shard's primary now, and answers.
struct PromoteBackup {
  int server = 0;
  int shard = 0;
  uint64_t epoch = 0;
  bool hold = false;  // As SetBackup's, until it has a backup itself.
};
// The server has nothing to do with the shard any more.
struct DropShard {
  int server = 0;
  int shard = 0;
  std::string reason;  // For people.
};
// The shard's new primary serves: workers are to be told.
struct ShardMoved {
  int shard = 0;
  int server = 0;
  uint64_t epoch = 0;
};
// The shard was lost with its server: the server makes room for it, as its
// primary, and reports.
struct RebuildShard {
  int server = 0;
  int shard = 0;
  uint64_t epoch = 0;
};
// The server has room for it: weights are to be written there, and Filled() is
// to be said.
struct FillShard {
  int server = 0;
  int shard = 0;
  uint64_t epoch = 0;
};
// No server has the shard any more, and none can have it again.
struct ShardLost {
  int server = 0;  // Which had it last.
  int shard = 0;
  std::string why;
};
// For people.
struct ShardNotice {
  const char* kind;  // Decision.kind of jobs.proto.
  std::string text;
  bool costs_work = true;
};

using ShardAction =
    std::variant<HostBackup, SetBackup, PromoteBackup, DropShard, ShardMoved,
                 RebuildShard, FillShard, ShardLost, ShardNotice>;

// One shard as the map has it.
struct MappedShard {
  enum class BackupState : uint8_t {
    kNone,
    kHosting,  // It was asked to make room.
    kFilling,  // It gets what the primary has.
    kReady,    // It has everything.
  };
  enum class Rebuilding : uint8_t {
    kNo,
    kWaiting,  // For a server.
    kHosting,  // The primary was asked to make room.
    kFilling,  // It gets weights.
  };

  int primary = 0;
  uint64_t epoch = 1;
  bool promoting = false;  // The primary does not serve yet.
  Rebuilding rebuilding = Rebuilding::kNo;
  int lost_with = 0;  // While it is rebuilt: who had it.
  absl::Time rebuild_until = absl::InfiniteFuture();
  bool lost = false;  // No server has it any more.
  BackupState state = BackupState::kNone;
  int backup = 0;  // Unless `state` is kNone.
  int64_t bytes = 0;
};

// One server.
struct MappedServer {
  RunServer is;
  bool leaving = false;
  bool gone = false;
  uint64_t link = 0;
  std::optional<absl::Time> absent_since;
};

// Which server is the primary of each shard of a run, and which its backup: the
// one place where that is decided. Only the map from shards to servers ever
// changes, not what a shard consists of.
//
// What makes it safe does not depend on any clock: a primary that has a backup
// acknowledges nothing that the backup has not, until this has told it that it
// has none; a backup that was promoted takes nothing from the primary before
// (`ReplicaLog`). So a primary may be replaced at the first suspicion.
//
// Pure and deterministic; actions are appended in the order in which they are
// to be done. Thread-compatible.
class ShardMap {
 public:
  struct Options {
    uint32_t replicas = 0;  // 1: each shard is to have a backup.
    bool strict = false;    // Without a backup nothing is acknowledged.
    // A primary whose link is broken for longer is replaced. It needs no proof:
    // a replacement costs little more than a blink.
    absl::Duration patience;
    // Until a server that had no room for a shard is asked again.
    absl::Duration retry;
    // So long a shard that was lost may be rebuilt; 0: it may not.
    absl::Duration rebuilding = absl::ZeroDuration();
  };
  using Actions = std::vector<ShardAction>;
  using Shard = MappedShard;
  using Server = MappedServer;
  using BackupState = Shard::BackupState;
  using Rebuilding = Shard::Rebuilding;

  // Shard i begins on server i, without a backup, for as many as there are.
  ShardMap(const Options& options, const std::vector<RunServer>& servers);

  // Shards have so many bytes of parameters.
  void SetBytes(const std::vector<int64_t>& bytes);
  // From now on shards have backups. Before that servers come and go, and
  // nothing is decided.
  void Begin(absl::Time now, Actions& actions);

  // Another one, with the next number; it hosts nothing yet.
  void Came(absl::Time now, const RunServer& server, Actions& actions);
  // Its link with the coordinator broke, or is whole again. `link` counts these
  // events of one server: of two that come in the wrong order the later one is
  // what holds.
  void LinkChanged(absl::Time now, int server, uint64_t link, bool connected,
                   Actions& actions);
  // Another life of the coordinator goes on: no server has a link, and until
  // `suspected` none is replaced for that.
  void CoordinatorRestarted(absl::Time now, absl::Time suspected);
  // A server whose link was broken has one again, to a coordinator that may not
  // have told it everything: it is told again. False if it lacks what only it
  // had; nothing changes then.
  bool Returned(absl::Time now, int server, const std::vector<HeldShard>& held,
                Actions& actions);
  // It is to have nothing any more, or may again.
  void SetLeaving(absl::Time now, int server, bool leaving, Actions& actions);
  // It will not come back, or has lost what it held.
  void Gone(absl::Time now, int server, Actions& actions);
  // The shard's primary hangs. False if there is no backup that could replace
  // it.
  bool Replace(int shard, Actions& actions);

  // What is said under another epoch, or by a server that has no such part in
  // the shard (any more), counts for nothing.
  void Reported(absl::Time now, int server, int shard, uint64_t epoch,
                const absl::Status& status, Actions& actions);
  // False if it counts for nothing.
  bool Promoted(absl::Time now, int server, int shard, uint64_t epoch,
                Actions& actions);

  // A shard that is rebuilt has its weights. False if that counts for nothing.
  bool Filled(absl::Time now, int shard, uint64_t epoch, Actions& actions);
  // Its weights do not come: another beginning.
  void RebuildAnew(absl::Time now, int shard, Actions& actions);
  // Nobody has weights for it, for that reason.
  void Unfillable(int shard, const std::string& why, Actions& actions);

  // What time brings about, and when.
  void TimePassed(absl::Time now, Actions& actions);
  absl::Time NextDeadline(absl::Time now) const;

  const std::vector<Shard>& shards() const { return shards_; }
  const std::vector<Server>& servers() const { return servers_; }
  const std::string& NameOf(int server) const {
    return servers_[server].is.name;
  }
  const std::string& PrimaryOf(int shard) const {
    return NameOf(shards_[shard].primary);
  }
  // The first shard that no server has any more.
  std::optional<int> Lost() const;
  // Whether it has a part in a shard; whether it alone has one.
  bool Hosts(int server) const;
  bool Needs(int server) const;
  // Whether what it has can go to other servers.
  bool CanHandOver(int server) const;
  // Parameters that it holds, its backups' included.
  int64_t BytesOn(int server) const;
  // Shards that are to have a backup, and whose backup has not everything.
  size_t without_backup() const;
  uint64_t failovers() const { return failovers_; }
  uint64_t rebuilt() const { return rebuilt_; }  // Shards, so far.

 private:
  // Decides about everything anew.
  void Settle(absl::Time now, Actions& actions);
  void SettleShard(absl::Time now, int shard, Actions& actions);
  PromoteBackup Promotion(int shard) const;
  void Promote(int shard, const std::string& why, Actions& actions);
  bool HasItsShards(int server, const std::vector<HeldShard>& held) const;
  // Tells the server again what it may not have heard of the shard.
  void TellPrimary(int shard, const HeldShard* held, Actions& actions);
  void TellBackup(int shard, const HeldShard* held, Actions& actions);
  // The backup is none any more.
  void Detach(int shard, const std::string& why, Actions& actions);
  void ChooseBackup(absl::Time now, int shard, Actions& actions);
  void BeginRebuilding(absl::Time now, int shard, Actions& actions);
  void SettleRebuilding(absl::Time now, int shard, Actions& actions);
  void Lose(int shard, const std::string& why, Actions& actions);

  static bool HasPart(int server, const Shard& shard);
  bool Usable(int server) const;  // It is there, and stays.
  bool WantsBackup(const Shard& shard) const;
  bool MayBackUp(int server, const Shard& shard) const;
  // When a broken link is reason enough.
  absl::Time SuspectedAt(int server) const;
  bool HasFailed(absl::Time now, int server) const;

  const Options options_;
  std::vector<Shard> shards_;
  std::vector<Server> servers_;
  bool begun_ = false;
  // Servers that had no room for a shard, and when they are asked again.
  std::map<std::pair<int, int>, absl::Time> refused_;  // By shard and server.
  absl::Time last_back_ = absl::InfinitePast();
  absl::Time trusted_until_ = absl::InfinitePast();  // Absent or not.
  uint64_t failovers_ = 0;
  uint64_t rebuilt_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_SHARD_MAP_H_
