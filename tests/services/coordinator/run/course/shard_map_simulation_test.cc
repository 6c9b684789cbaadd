#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/overloaded.h"
#include "gtest/gtest.h"
#include "services/coordinator/run/course/shard_map.h"
#include "tests/common/seed_count.h"

namespace paceline {
namespace {

// Servers that do what they are told, over links that break, and a map that
// tells them. A push is a number; a server's content is the set of those that
// it has.
class Cluster {
 public:
  explicit Cluster(uint32_t seed, bool strict)
      : random_(seed),
        map_({.replicas = 1,
              .strict = strict,
              .patience = absl::Milliseconds(300),
              .retry = absl::Seconds(3)},
             Named(kServers)) {
    for (int i = 0; i < kServers; ++i) {
      processes_.emplace_back();
      processes_[i].parts[i] = {.role = Role::kPrimary, .epoch = 1};
    }
    map_.SetBytes({10, 20, 30});
    Decide([&](auto& actions) { map_.Begin(now_, actions); });
  }

  void Run(int steps) {
    for (int i = 0; i < steps && violation_.empty(); ++i) {
      now_ += absl::Milliseconds(static_cast<int>(random_() % 20));
      Step();
    }
    // The last fault is over: everything comes to rest.
    faults_ = false;
    for (int i = 0; i < 5000 && violation_.empty(); ++i) {
      now_ += absl::Milliseconds(50);
      Mend();
      DeliverAll();
      Decide([&](auto& actions) { map_.TimePassed(now_, actions); });
      if (i > 100 && map_.without_backup() == 0) break;
    }
    DeliverAll();
    if (map_.Lost()) return Break("a shard is lost");
    if (map_.without_backup() > 0) return Break("a shard stays alone");
    for (int shard = 0; shard < kServers; ++shard) CheckHolds(shard);
  }
  const std::string& violation() const { return violation_; }
  size_t acknowledged() const {
    size_t all = 0;
    for (const auto& of : acknowledged_) all += of.size();
    return all;
  }
  uint64_t failovers() const { return map_.failovers(); }
  uint64_t restarts() const { return restarts_; }

 private:
  static constexpr int kServers = 3;

  enum class Role { kNone, kBackup, kPrimary, kReplaced };
  struct Part {
    Role role = Role::kNone;
    uint64_t epoch = 0;
    std::set<int> content = {};
    bool filled = false;  // A backup.
    // A primary.
    std::optional<int> backup = {};
    uint64_t stream = 0;     // Of its number, to the backup; 0: none.
    bool suspended = false;  // The stream broke.
    bool hold = false;
    bool filled_it = false;  // Nothing is acknowledged alone any more.
    size_t behind = 0;       // What it lacks of what was.
    bool ready = false;
    std::deque<int> sent = {};   // Not at the backup; kFilled ends the fill.
    std::set<int> waiting = {};  // For an acknowledgement.
    std::deque<int> back = {};   // Acknowledged by the backup, on its way.
    std::function<void()> said = {};  // Of the copy, the last that was.
  };
  static constexpr int kFilled = -1;
  struct Process {
    bool alive = true;
    bool linked = true;
    bool registers_anew = false;  // For another life of the coordinator.
    uint64_t link = 0;
    std::map<int, Part> parts;  // By shard.
    std::deque<ShardAction> commands;
    std::deque<std::function<void()>> words;  // To the coordinator.
  };

  static std::vector<RunServer> Named(int count) {
    std::vector<RunServer> servers;
    for (int i = 0; i < count; ++i) {
      servers.push_back({.name = absl::StrCat("s", i), .replicates = true});
    }
    return servers;
  }
  int Pick(size_t count) { return static_cast<int>(random_() % count); }
  void Break(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  template <class Decision>
  void Decide(Decision decision) {
    ShardMap::Actions actions;
    decision(actions);
    for (const ShardAction& action : actions) {
      std::visit(Overloaded{[&](const ShardMoved& moved) {
                              serves_[moved.shard] = moved.server;
                            },
                            [](const ShardNotice&) {}, [](const ShardLost&) {},
                            [&](const auto& order) {
                              Process& to = processes_[order.server];
                              if (to.alive) to.commands.push_back(order);
                            }},
                 action);
    }
  }

  void Step() {
    switch (random_() % 12) {
      case 0:
      case 1:
      case 2:
        return Push();
      case 3:
        return Decide([&](auto& actions) { map_.TimePassed(now_, actions); });
      case 4:
        if (random_() % 12 == 0) return Kill();
        if (random_() % 40 == 0) return Restart();
        return;
      case 5:
        if (random_() % 8 == 0) return CutStream();
        return;
      case 6:
        if (random_() % 8 == 0) return CutLink();
        return;
      case 7:
        if (random_() % 10 == 0) Leave();
        return;
      case 8:
        if (random_() % 3 == 0) Mend();
        return;
      default:
        for (int i = 0; i < 8; ++i) Deliver(Pick(processes_.size()));
    }
  }

  // To whoever thinks that it is the shard's primary: also one that was
  // replaced and does not know.
  void Push() {
    const int shard = Pick(kServers);
    Process& at = processes_[Pick(processes_.size())];
    const auto part = at.parts.find(shard);
    if (!at.alive || part == at.parts.end() ||
        part->second.role != Role::kPrimary) {
      return;
    }
    Part& of = part->second;
    // So many workers, each of which waits for its last push.
    if (of.waiting.size() >= 4) return;
    const int push = ++pushes_;
    of.content.insert(push);
    of.waiting.insert(push);
    if (of.stream != 0) of.sent.push_back(push);
    Acknowledge(shard, of);
  }

  // What may be acknowledged now.
  void Acknowledge(int shard, Part& of) {
    if (of.suspended || of.role != Role::kPrimary) return;
    const bool alone = of.stream == 0 || !of.filled_it;
    if (!alone || of.hold) return;
    for (const int push : of.waiting) Acknowledged(shard, of, push);
    of.waiting.clear();
  }
  void Acknowledged(int shard, const Part& by, int push) {
    // What the backup had before it was promoted may be on its way yet.
    if (by.epoch < promoted_[shard] && !had_[shard].contains(push)) {
      Break(absl::StrCat("shard ", shard, ": epoch ", by.epoch,
                         " acknowledges after epoch ", promoted_[shard]));
    }
    acknowledged_[shard].insert(push);
  }

  void Deliver(int server) {
    Process& at = processes_[server];
    if (!at.alive) return;
    const int what = Pick(4);
    if (what == 0 && at.linked && !at.commands.empty()) {
      const ShardAction action = at.commands.front();
      at.commands.pop_front();
      Obey(server, action);
    } else if (what == 1 && at.linked && !at.words.empty()) {
      const auto word = at.words.front();
      at.words.pop_front();
      word();
    } else if (!at.parts.empty()) {
      const auto part = std::next(at.parts.begin(), Pick(at.parts.size()));
      what == 2 ? DeliverEntry(server, part->first, part->second)
                : DeliverBack(server, part->first, part->second);
    }
  }
  void DeliverAll() {
    for (int turn = 0; turn < 400; ++turn) {
      for (size_t i = 0; i < processes_.size(); ++i) {
        Deliver(static_cast<int>(i));
      }
    }
  }

  Part* FollowerOf(int shard, const Part& primary) {
    if (primary.stream == 0) return nullptr;
    Process& at = processes_[*primary.backup];
    const auto part = at.parts.find(shard);
    if (!at.alive || part == at.parts.end()) return nullptr;
    if (part->second.epoch != primary.epoch) return nullptr;
    return part->second.role == Role::kBackup ? &part->second : nullptr;
  }
  void DeliverEntry(int server, int shard, Part& of) {
    if (of.role != Role::kPrimary || of.sent.empty()) return;
    Part* const backup = FollowerOf(shard, of);
    if (backup == nullptr) return StreamBroke(server, shard, of);
    const int entry = of.sent.front();
    of.sent.pop_front();
    if (entry == kFilled) {
      backup->filled = true;
    } else {
      backup->content.insert(entry);
    }
    of.back.push_back(entry);
  }
  void DeliverBack(int server, int shard, Part& of) {
    if (of.role != Role::kPrimary || of.back.empty() || of.stream == 0) return;
    const int entry = of.back.front();
    of.back.pop_front();
    if (entry != kFilled) {
      if (of.filled_it && of.waiting.erase(entry) > 0) {
        Acknowledged(shard, of, entry);
      }
      if (of.behind > 0 && --of.behind == 0) Complete(server, shard, of);
      return;
    }
    of.filled_it = true;
    of.behind = of.sent.size() + of.back.size();
    // Everything from before the fill lies in it.
    for (const int push : std::set<int>(of.waiting)) {
      if (absl::c_linear_search(of.sent, push) ||
          absl::c_linear_search(of.back, push)) {
        continue;
      }
      Acknowledged(shard, of, push);
      of.waiting.erase(push);
    }
    if (of.behind == 0) Complete(server, shard, of);
  }
  void Complete(int server, int shard, Part& of) {
    of.ready = true;
    Report(server, shard, of.epoch, absl::OkStatus());
  }
  void StreamBroke(int server, int shard, Part& of) {
    of.stream = 0;
    of.ready = false;
    of.filled_it = false;
    of.behind = 0;
    of.sent.clear();
    of.back.clear();
    of.suspended = true;
    // The backup says so if it was promoted; then the primary is none.
    const Process& at = processes_[*of.backup];
    const auto part = at.parts.find(shard);
    if (at.alive && part != at.parts.end() &&
        part->second.role == Role::kPrimary) {
      of.role = Role::kReplaced;
      return;
    }
    Report(server, shard, of.epoch, absl::UnavailableError("broken"));
  }
  void Report(int server, int shard, uint64_t epoch, absl::Status status) {
    Say(server, shard, [=, this] {
      Decide([&](auto& actions) {
        map_.Reported(now_, server, shard, epoch, status, actions);
      });
    });
  }
  // Again if the coordinator restarts.
  void Say(int server, int shard, std::function<void()> word) {
    Process& at = processes_[server];
    at.words.push_back(word);
    const auto part = at.parts.find(shard);
    if (part != at.parts.end()) part->second.said = std::move(word);
  }

  void Obey(int server, const ShardAction& action) {
    std::visit(Overloaded{[&](const HostBackup& a) {
                            processes_[server].parts[a.shard] = {
                                .role = Role::kBackup, .epoch = a.epoch};
                            Report(server, a.shard, a.epoch, absl::OkStatus());
                          },
                          [&](const SetBackup& a) { Set(server, a); },
                          [&](const PromoteBackup& a) { Promote(server, a); },
                          [&](const DropShard& a) {
                            processes_[server].parts.erase(a.shard);
                          },
                          [](const auto&) {}},
               action);
  }
  void Set(int server, const SetBackup& set) {
    const auto part = processes_[server].parts.find(set.shard);
    if (part == processes_[server].parts.end() ||
        part->second.role != Role::kPrimary) {
      return;
    }
    Part& of = part->second;
    of.epoch = set.epoch;
    of.suspended = false;
    of.hold = set.hold;
    of.ready = false;
    of.filled_it = false;
    of.behind = 0;
    of.backup = set.backup;
    of.sent.clear();
    of.back.clear();
    of.stream = set.backup ? ++streams_ : 0;
    if (of.stream != 0) {
      of.sent.assign(of.content.begin(), of.content.end());
      of.sent.push_back(kFilled);
    }
    Acknowledge(set.shard, of);
  }
  void Promote(int server, const PromoteBackup& promote) {
    const auto part = processes_[server].parts.find(promote.shard);
    if (part == processes_[server].parts.end() || !part->second.filled) {
      return Break("one was promoted that has not everything");
    }
    Part& of = part->second;
    of.role = Role::kPrimary;
    of.epoch = promote.epoch;
    promoted_[promote.shard] = promote.epoch;
    had_[promote.shard] = of.content;
    CheckContent(promote.shard, of);
    Say(server, promote.shard, [=, this] {
      Decide([&](auto& actions) {
        map_.Promoted(now_, server, promote.shard, promote.epoch, actions);
      });
    });
  }

  bool Sound() const {
    if (map_.without_backup() > 0) return false;
    int alive = 0;
    for (const Process& process : processes_) {
      if (process.alive && !process.linked) return false;
      alive += process.alive ? 1 : 0;
    }
    for (const ShardMap::Shard& shard : map_.shards()) {
      if (shard.promoting) return false;
    }
    return alive == kServers;
  }
  // One at a time, and the next when all is well again: so much is promised.
  void Kill() {
    if (!Sound()) return;
    const int server = Pick(processes_.size());
    Process& dies = processes_[server];
    if (!dies.alive) return;
    dies.alive = false;
    dies.parts.clear();
    dies.commands.clear();
    dies.words.clear();
    Decide([&](auto& actions) {
      map_.LinkChanged(now_, server, ++dies.link, false, actions);
    });
  }
  void CutStream() {
    const int server = Pick(processes_.size());
    for (auto& [shard, part] : processes_[server].parts) {
      if (part.role == Role::kPrimary && part.stream != 0) {
        return StreamBroke(server, shard, part);
      }
    }
  }
  void CutLink() {
    const int server = Pick(processes_.size());
    Process& at = processes_[server];
    if (!at.alive || !at.linked || !Sound()) return;
    at.linked = false;
    Decide([&](auto& actions) {
      map_.LinkChanged(now_, server, ++at.link, false, actions);
    });
  }
  void Leave() {
    if (!Sound()) return;
    const int server = Pick(processes_.size());
    if (!processes_[server].alive) return;
    const bool leaving = !map_.servers()[server].leaving;
    Decide([&](auto& actions) {
      map_.SetLeaving(now_, server, leaving, actions);
    });
  }
  // What was on its way to the coordinator or from it is lost.
  void Restart() {
    for (Process& process : processes_) {
      process.commands.clear();
      process.words.clear();
      process.linked = false;
      process.registers_anew = process.alive;
    }
    Decide([&](auto& /*actions*/) {
      map_.CoordinatorRestarted(now_, now_ + absl::Seconds(1));
    });
    ++restarts_;
  }
  // False if the map takes it for another process.
  bool Return(int server) {
    Process& at = processes_[server];
    at.registers_anew = false;
    at.linked = true;
    at.link = 0;
    std::vector<HeldShard> held;
    for (const auto& [shard, part] : at.parts) {
      held.push_back({shard, part.epoch, part.role != Role::kPrimary});
    }
    bool taken = false;
    Decide([&](auto& actions) {
      taken = !map_.servers()[server].gone &&
              map_.Returned(now_, server, held, actions);
    });
    if (!taken) return false;
    for (const auto& [shard, part] : at.parts) {
      if (part.said) at.words.push_back(part.said);
    }
    return true;
  }
  // What is dead is started anew, what is cut is whole again.
  void Mend() {
    for (size_t i = 0; i < processes_.size(); ++i) {
      const int server = static_cast<int>(i);
      Process& at = processes_[i];
      const bool leaving = map_.servers()[i].leaving;
      if (leaving && !map_.servers()[i].gone) {
        Decide([&](auto& actions) {
          map_.SetLeaving(now_, server, false, actions);
        });
      }
      if (at.registers_anew) {
        if (Return(server)) continue;
        // It is to have nothing of the shards.
        at.alive = false;
        at.parts.clear();
      }
      if (at.alive && !at.linked) {
        at.linked = true;
        Decide([&](auto& actions) {
          map_.LinkChanged(now_, server, ++at.link, true, actions);
        });
      } else if (!at.alive && !map_.servers()[i].gone) {
        processes_.emplace_back();
        Decide([&](auto& actions) { map_.Gone(now_, server, actions); });
        Decide([&](auto& actions) {
          map_.Came(now_, {.name = "new", .replicates = true}, actions);
        });
        return;
      }
    }
  }

  void CheckContent(int shard, const Part& part) {
    for (const int push : acknowledged_[shard]) {
      if (part.content.contains(push)) continue;
      return Break(absl::StrCat("shard ", shard, " has lost push ", push));
    }
  }
  void CheckHolds(int shard) {
    const int primary = map_.shards()[shard].primary;
    Process& at = processes_[primary];
    const auto part = at.parts.find(shard);
    if (!at.alive || part == at.parts.end() ||
        part->second.role != Role::kPrimary) {
      return Break(absl::StrCat("nobody serves shard ", shard));
    }
    CheckContent(shard, part->second);
    if (part->second.suspended) Break("it stays suspended");
    if (!part->second.waiting.empty()) Break("a push is never acknowledged");
  }

  std::mt19937 random_;
  absl::Time now_ = absl::UnixEpoch();
  ShardMap map_;
  std::deque<Process> processes_;
  std::map<int, int> serves_;
  std::map<int, uint64_t> promoted_;  // The epoch of the last that was.
  std::map<int, std::set<int>> had_;  // What it had then.
  std::vector<std::set<int>> acknowledged_ =
      std::vector<std::set<int>>(kServers);
  int pushes_ = 0;
  uint64_t streams_ = 0;
  uint64_t restarts_ = 0;
  bool faults_ = true;
  std::string violation_;
};

TEST(ShardMapSimulation, NothingAcknowledgedIsLostWhateverSingleProcessDies) {
  const Seeds seeds(400);
  size_t acknowledged = 0;
  uint64_t failovers = 0;
  uint64_t restarts = 0;
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    Cluster cluster(static_cast<uint32_t>(seed), /*strict=*/seed % 4 == 0);
    cluster.Run(3000);
    ASSERT_EQ(cluster.violation(), "") << "seed " << seed;
    acknowledged += cluster.acknowledged();
    failovers += cluster.failovers();
    restarts += cluster.restarts();
  }
  EXPECT_GT(acknowledged, 100 * seeds.count);
  EXPECT_GT(failovers, seeds.count);
  EXPECT_GT(restarts, seeds.count);
}

}  // namespace
}  // namespace paceline
