// Servers die and links break between the real parts that must hold then: the
// map of shards, sessions, replica logs and shards. Their processes, workers
// and network are virtual.

#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/overloaded.h"
#include "common/rng.h"
#include "common/session/received_log.h"
#include "common/session/sent_log.h"
#include "services/coordinator/run/course/shard_map.h"
#include "services/parameter_server/job_shard.h"
#include "tests/common/seed_count.h"

namespace paceline {
namespace {

constexpr int kServers = 3;
constexpr int kShards = 3;
constexpr int kWorkers = 3;
// Each push of a shard adds 1 to an element of its own: the weights say which
// pushes are in them, and how often.
constexpr uint32_t kTags = 256;
constexpr uint32_t kBatch = 4;
constexpr absl::Duration kSilence = absl::Milliseconds(500);

ShardConfig Config(bool backup) {
  ShardConfig config;
  config.blocks.push_back({.id = 0, .tensor = "tags", .size = kTags});
  config.optimizer = *ParseOptimizerSpec("sgd");
  config.batch_size = kBatch;
  config.backup = backup;
  return config;
}

std::shared_ptr<JobShard> MakeJob(bool backup, uint64_t epoch) {
  std::shared_ptr<JobShard> job = *JobShard::Create(Config(backup));
  job->set_epoch(epoch);
  const std::vector<float> zeros(kTags);
  if (!backup) {
    EXPECT_TRUE(job->SetBlock(0, Payload::OfFloats(zeros.data(), zeros.size()),
                              DType::kF32)
                    .ok());
  }
  return job;
}

std::vector<float> WeightsOf(JobShard& job) {
  const absl::StatusOr<PulledBlocks> taken = job.TakeBlocks();
  if (!taken.ok()) return {};
  const float* const weights = taken->blocks[0].state->weights();
  return {weights, weights + kTags};
}

// A control stream between the coordinator and a server, and the session that
// outlives it. What is on its way when it breaks is lost.
class ControlLink {
 public:
  using Act = std::function<void()>;

  bool up() const { return up_; }
  void Order(Act act) { Say(kDown, std::move(act)); }
  void Answer(Act act) { Say(kUp, std::move(act)); }

  // The next message of a side arrives, if there is one. False: there is none.
  bool Deliver(int side) {
    if (!up_ || way_[side].empty()) return false;
    const Message message = way_[side].front();
    way_[side].pop_front();
    Hear(side, message);
    return true;
  }
  void Cut(Rng& rng) {
    for (const int side : {kDown, kUp}) {
      for (uint64_t left = rng.Below(way_[side].size() + 1); left > 0; --left) {
        Deliver(side);
      }
      way_[side].clear();
    }
    up_ = false;
  }
  void TakeUp() {
    up_ = true;
    for (const int side : {kDown, kUp}) {
      EXPECT_TRUE(sent_[side].Resume(received_[side].last()).ok());
      for (const auto& kept : sent_[side].kept()) {
        way_[side].push_back(kept.message);
      }
    }
  }

 private:
  static constexpr int kDown = 0;  // To the server.
  static constexpr int kUp = 1;
  struct Message {
    void set_number(uint64_t to) { number = to; }

    uint64_t number = 0;
    uint64_t acknowledged = 0;
    Act act;
  };

  void Say(int side, Act act) {
    Message message{.act = std::move(act)};
    EXPECT_TRUE(sent_[side].Add(message, 1));
    message.acknowledged = received_[1 - side].Tell();
    if (up_) way_[side].push_back(std::move(message));
  }
  void Hear(int side, const Message& message) {
    EXPECT_TRUE(sent_[1 - side].Acknowledge(message.acknowledged).ok());
    const absl::StatusOr<bool> is_new = received_[side].Take(message.number);
    EXPECT_TRUE(is_new.ok()) << is_new.status();
    if (is_new.ok() && *is_new) message.act();
  }

  bool up_ = true;
  SentLog<Message> sent_[2] = {SentLog<Message>({.messages = 10'000}),
                               SentLog<Message>({.messages = 10'000})};
  ReceivedLog received_[2];  // By who has sent it.
  std::deque<Message> way_[2];
};

// A stream from a shard's primary to its backup.
struct ReplicaPipe {
  uint64_t following = 0;
  int backup = 0;
  uint64_t epoch = 0;
  bool filling = true;
  uint32_t blocks = 0;  // Given to the fill.
  std::deque<ReplicaLog::Outgoing> way = {};
  std::deque<uint64_t> back = {};          // Acknowledgements.
  std::shared_ptr<JobShard> to = nullptr;  // Once it has joined.
  uint64_t entries = 0;                    // That have arrived.
  bool half_open = false;                  // Nothing arrives any more.
  absl::Time progress = {};
};

// A server's part in a shard.
struct Part {
  std::shared_ptr<JobShard> job;
  std::unique_ptr<ReplicaPipe> pipe = nullptr;
  ControlLink::Act said = {};  // Of the copy, the last that was.
};

struct Process {
  bool alive = true;
  bool registers_anew = false;  // For another life of the coordinator.
  bool slow = false;
  uint64_t link_changes = 0;
  std::map<int, Part> parts = {};  // By shard.
  std::unique_ptr<ControlLink> link = std::make_unique<ControlLink>();
};

// Who pushes to one shard, one push after the other.
struct Writer {
  uint64_t incarnation = 0;
  int64_t iteration = 0;
  std::optional<uint32_t> open = std::nullopt;  // The tag of its push.
  int server = 0;  // That it believes to have the shard.
};

// A server's word to a writer that a push is taken, on its way.
struct Acknowledgement {
  size_t writer = 0;
  int64_t iteration = 0;
};

class Cluster {
 public:
  explicit Cluster(uint64_t seed)
      : rng_(seed),
        map_({.replicas = 1,
              .strict = seed % 4 == 0,
              .patience = absl::Milliseconds(300),
              .retry = absl::Seconds(3)},
             Named()) {
    for (int i = 0; i < kServers; ++i) {
      processes_.emplace_back();
      processes_[i].parts[i].job = MakeJob(/*backup=*/false, /*epoch=*/1);
    }
    for (int shard = 0; shard < kShards; ++shard) {
      for (int worker = 0; worker < kWorkers; ++worker) {
        writers_.push_back(
            {.incarnation = 1 + writers_.size(), .server = shard});
      }
    }
    map_.SetBytes({10, 20, 30});
    Decide([&](auto& actions) { map_.Begin(now_, actions); });
  }

  void Run(int steps) {
    for (int i = 0; i < steps && violation_.empty(); ++i) {
      now_ += absl::Milliseconds(static_cast<int>(rng_.Below(20)));
      Step();
    }
    Heal();
    if (map_.Lost()) return Break("a shard is lost");
    if (map_.without_backup() > 0) return Break("a shard stays alone");
    for (int shard = 0; shard < kShards; ++shard) CheckEnd(shard);
  }

  const std::string& violation() const { return violation_; }
  uint64_t acknowledged() const { return acknowledged_; }
  uint64_t failovers() const { return map_.failovers(); }
  uint64_t restarts() const { return restarts_; }
  uint64_t silent() const { return silent_; }

 private:
  static std::vector<RunServer> Named() {
    std::vector<RunServer> servers;
    for (int i = 0; i < kServers; ++i) {
      servers.push_back({.name = absl::StrCat("s", i), .replicates = true});
    }
    return servers;
  }
  static int ShardOf(size_t writer) {
    return static_cast<int>(writer) / kWorkers;
  }
  int AnyProcess() { return static_cast<int>(rng_.Below(processes_.size())); }
  void Break(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  void Step() {
    switch (rng_.Below(14)) {
      case 0:
      case 1:
      case 2:
        return Push(rng_.Below(writers_.size()));
      case 3:
        return Decide([&](auto& actions) { map_.TimePassed(now_, actions); });
      case 4:
        if (rng_.Chance(1, 6)) return Kill();
        if (rng_.Chance(1, 12)) return Restart();
        return;
      case 5:
        if (rng_.Chance(1, 30)) return BreakPipe();
        return;
      case 6:
        if (rng_.Chance(1, 8)) return CutLink();
        return;
      case 7:
        if (rng_.Chance(1, 10)) return Leave();
        return;
      case 8:
        if (rng_.Chance(1, 3)) return Mend();
        return;
      case 9:
        // Of a worker and a server; what was on its way is lost.
        if (rng_.Chance(1, 4)) acknowledgements_.clear();
        return;
      case 10: {
        Process& at = processes_[AnyProcess()];
        if (at.slow ? rng_.Chance(1, 8) : rng_.Chance(1, 60)) at.slow ^= true;
        return;
      }
      default:
        for (int i = 0; i < 30; ++i) Deliver(AnyProcess());
        return TakeAcknowledgement();
    }
  }

  // The last fault is over: everything comes to rest.
  void Heal() {
    for (Process& process : processes_) {
      process.slow = false;
      for (auto& [shard, part] : process.parts) {
        if (part.pipe != nullptr) part.pipe->half_open = false;
      }
    }
    for (int i = 0; i < 5000 && violation_.empty(); ++i) {
      now_ += absl::Milliseconds(50);
      Mend();
      for (size_t writer = 0; writer < writers_.size(); ++writer) {
        if (writers_[writer].open.has_value()) Push(writer);
      }
      DeliverAll();
      Decide([&](auto& actions) { map_.TimePassed(now_, actions); });
      if (i > 100 && map_.without_backup() == 0 && !AnyOpen()) break;
    }
    DeliverAll();
  }
  bool AnyOpen() const {
    for (const Writer& writer : writers_) {
      if (writer.open.has_value()) return true;
    }
    return false;
  }

  // The workers' side.

  // Again if it is not acknowledged; to whom it believes to have the shard.
  void Push(size_t number) {
    Writer& writer = writers_[number];
    const int shard = ShardOf(number);
    if (!writer.open.has_value()) {
      if (tags_[shard] == kTags) return;
      writer.open = tags_[shard]++;
      ++writer.iteration;
    }
    Process& at = processes_[writer.server];
    const auto part = at.parts.find(shard);
    if (!at.alive || part == at.parts.end() || !part->second.job->serving()) {
      return;
    }
    JobShard& job = *part->second.job;
    std::vector<float> gradient(kTags);
    gradient[*writer.open] = -1;
    const auto taken = job.Push(
        {.incarnation = writer.incarnation,
         .iteration = writer.iteration,
         .samples = kBatch,
         .rate = 1},
        Payload::OfFloats(gradient.data(), gradient.size()), DType::kF32);
    if (!taken.ok()) return;  // It was stopped: another server has the shard.
    job.log().WhenHeld([this, number, shard, at = writer.server, &job,
                        iteration = writer.iteration, tag = *writer.open] {
      Acknowledged(shard, at, job.epoch(), tag);
      acknowledgements_.push_back({number, iteration});
    });
  }
  // A server says so; whether its word arrives is another matter.
  void Acknowledged(int shard, int server, uint64_t epoch, uint32_t tag) {
    const auto [by, first] = speaks_.try_emplace({shard, epoch}, server);
    if (by->second != server) {
      Break(absl::StrCat("shard ", shard, ": servers ", by->second, " and ",
                         server, " acknowledge in epoch ", epoch));
    }
    // What its backup had before it was promoted may be on its way yet.
    if (epoch < promoted_[shard] && had_[shard][tag] == 0) {
      Break(absl::StrCat("shard ", shard, ": epoch ", epoch,
                         " acknowledges after epoch ", promoted_[shard]));
    }
    if (told_[shard].insert(tag).second) ++acknowledged_;
  }
  void TakeAcknowledgement() {
    if (acknowledgements_.empty()) return;
    const Acknowledgement word = acknowledgements_.front();
    acknowledgements_.pop_front();
    Writer& writer = writers_[word.writer];
    if (writer.iteration == word.iteration) writer.open.reset();
  }

  // What moves.

  void Deliver(int server) {
    Process& at = processes_[server];
    if (!at.alive || (at.slow && !rng_.Chance(1, 30))) return;
    const uint64_t what = rng_.Below(5);
    if (what < 2) {
      at.link->Deliver(static_cast<int>(what));
      return;
    }
    if (at.parts.empty()) return;
    const auto it = std::next(at.parts.begin(),
                              static_cast<int>(rng_.Below(at.parts.size())));
    const int shard = it->first;
    Part& part = it->second;
    if (part.pipe == nullptr) return;
    if (what == 2) Pump(part);
    if (what == 3) DeliverEntry(server, shard, part);
    if (what == 4) DeliverBack(server, shard, part);
  }
  void DeliverAll() {
    for (int turn = 0; turn < 400; ++turn) {
      for (size_t i = 0; i < processes_.size(); ++i) {
        Deliver(static_cast<int>(i));
      }
      TakeAcknowledgement();
    }
  }

  // A block of the fill comes between entries, as it does in ReplicaStream.
  void Pump(Part& part) {
    ReplicaPipe& pipe = *part.pipe;
    auto entry = part.job->log().Take(pipe.following);
    if (pipe.filling && (!entry.has_value() || rng_.Chance(1, 4))) {
      pipe.filling = part.job->FillFurther(pipe.following, pipe.blocks++);
    }
    if (entry.has_value()) pipe.way.push_back(*std::move(entry));
  }
  void DeliverEntry(int server, int shard, Part& part) {
    ReplicaPipe& pipe = *part.pipe;
    if (part.job->log().awaits_acknowledgement() &&
        now_ - pipe.progress > kSilence) {
      ++silent_;
      return PipeBroke(server, shard, absl::DeadlineExceededError("silent"));
    }
    if (pipe.half_open || pipe.way.empty()) return;
    const Process& to = processes_[pipe.backup];
    if (to.slow && !rng_.Chance(1, 30)) return;
    if (pipe.to == nullptr) {
      const absl::Status joined = Join(to, shard, pipe);
      if (!joined.ok()) return PipeBroke(server, shard, joined);
    }
    const ReplicaLog::Outgoing entry = std::move(pipe.way.front());
    pipe.way.pop_front();
    const absl::Status taken = to.alive ? pipe.to->Replay(entry.entry)
                                        : absl::UnavailableError("it is dead");
    if (!taken.ok()) return PipeBroke(server, shard, taken);
    pipe.progress = now_;
    ++pipe.entries;
    if (entry.acknowledge) pipe.back.push_back(pipe.entries);
  }
  // As ReplicationService does.
  static absl::Status Join(const Process& to, int shard, ReplicaPipe& pipe) {
    const auto part = to.parts.find(shard);
    if (!to.alive || part == to.parts.end()) {
      return absl::UnavailableError("nobody is there");
    }
    JobShard& job = *part->second.job;
    if (job.serving() || pipe.epoch < job.epoch()) {
      return absl::AbortedError("the epoch is over");
    }
    if (pipe.epoch != job.epoch()) return absl::NotFoundError("another epoch");
    const absl::Status begun = job.BeginReplay([](const absl::Status&) {});
    if (begun.ok()) pipe.to = part->second.job;
    return begun;
  }
  void DeliverBack(int server, int shard, Part& part) {
    ReplicaPipe& pipe = *part.pipe;
    if (pipe.half_open || pipe.back.empty()) return;
    const uint64_t entries = pipe.back.front();
    pipe.back.pop_front();
    pipe.progress = now_;
    const absl::StatusOr<bool> complete =
        part.job->log().Acknowledged(pipe.following, entries);
    if (!complete.ok()) return PipeBroke(server, shard, complete.status());
    if (*complete) Report(server, shard, pipe.epoch, absl::OkStatus());
  }
  // As ReplicaStream and CommandRunner do.
  void PipeBroke(int server, int shard, const absl::Status& why) {
    Part& part = processes_[server].parts.at(shard);
    const std::unique_ptr<ReplicaPipe> pipe = std::move(part.pipe);
    part.job->log().Suspend(pipe->following);
    if (absl::IsAborted(why)) part.job->Stop(why.message());
    Report(server, shard, pipe->epoch, why);
  }

  // What a server says and does.

  void Report(int server, int shard, uint64_t epoch, const absl::Status& how) {
    Say(server, shard, [=, this] {
      Decide([&](auto& actions) {
        map_.Reported(now_, server, shard, epoch, how, actions);
      });
    });
  }
  // Again if the coordinator restarts.
  void Say(int server, int shard, ControlLink::Act act) {
    Process& at = processes_[server];
    at.link->Answer(act);
    const auto part = at.parts.find(shard);
    if (part != at.parts.end()) part->second.said = std::move(act);
  }
  void Obey(int server, const ShardAction& action) {
    std::visit(Overloaded{[&](const HostBackup& a) {
                            Drop(server, a.shard);
                            processes_[server].parts[a.shard].job =
                                MakeJob(/*backup=*/true, a.epoch);
                            Report(server, a.shard, a.epoch, absl::OkStatus());
                          },
                          [&](const SetBackup& a) { Set(server, a); },
                          [&](const PromoteBackup& a) { Promote(server, a); },
                          [&](const DropShard& a) { Drop(server, a.shard); },
                          [](const auto&) {}},
               action);
  }
  void Drop(int server, int shard) {
    auto& parts = processes_[server].parts;
    const auto part = parts.find(shard);
    if (part == parts.end()) return;
    part->second.job->Stop("dropped");
    parts.erase(part);
  }
  void Set(int server, const SetBackup& set) {
    const auto found = processes_[server].parts.find(set.shard);
    if (found == processes_[server].parts.end()) return;
    Part& part = found->second;
    JobShard& job = *part.job;
    if (!job.serving() || set.epoch <= job.epoch()) return;
    job.set_epoch(set.epoch);
    part.pipe.reset();
    if (!set.backup.has_value()) return job.log().End(set.hold);
    const auto following = job.Replicate(0, set.hold, [] {});
    if (!following.ok()) {
      return Report(server, set.shard, set.epoch, following.status());
    }
    part.pipe = std::make_unique<ReplicaPipe>();
    part.pipe->following = *following;
    part.pipe->backup = *set.backup;
    part.pipe->epoch = set.epoch;
    part.pipe->progress = now_;
  }
  void Promote(int server, const PromoteBackup& promote) {
    const int shard = promote.shard;
    const auto part = processes_[server].parts.find(shard);
    if (part == processes_[server].parts.end()) {
      return Break("one was promoted that has nothing");
    }
    JobShard& job = *part->second.job;
    if (job.serving()) return;
    if (promote.hold) job.log().End(/*hold=*/true);
    const auto last = job.BecomePrimary();
    if (!last.ok()) return Break(std::string(last.status().message()));
    job.set_epoch(promote.epoch);
    promoted_[shard] = promote.epoch;
    had_[shard] = WeightsOf(job);
    CheckContent(shard, job);
    Say(server, shard, [=, this, epoch = promote.epoch] {
      Decide([&](auto& actions) {
        map_.Promoted(now_, server, shard, epoch, actions);
      });
    });
  }

  // The coordinator's side.

  template <class Decision>
  void Decide(Decision decision) {
    ShardMap::Actions actions;
    decision(actions);
    for (const ShardAction& action : actions) {
      std::visit(
          Overloaded{[&](const ShardMoved& moved) {
                       for (int i = 0; i < kWorkers; ++i) {
                         writers_[moved.shard * kWorkers + i].server =
                             moved.server;
                       }
                     },
                     [](const ShardNotice&) {}, [](const ShardLost&) {},
                     [&](const auto& order) {
                       Process& to = processes_[order.server];
                       if (!to.alive) return;
                       to.link->Order([this, server = order.server, action] {
                         Obey(server, action);
                       });
                     }},
          action);
    }
  }

  // Faults.

  // All is well: so much is promised of one fault at a time.
  bool Sound() const {
    if (map_.without_backup() > 0) return false;
    int alive = 0;
    for (const Process& process : processes_) {
      if (process.alive && !process.link->up()) return false;
      if (process.registers_anew) return false;
      alive += process.alive ? 1 : 0;
    }
    for (const ShardMap::Shard& shard : map_.shards()) {
      if (shard.promoting) return false;
    }
    return alive == kServers;
  }
  void Kill() {
    if (!Sound()) return;
    const int server = AnyProcess();
    Process& dies = processes_[server];
    if (!dies.alive) return;
    dies.alive = false;
    dies.parts.clear();
    LinkChanged(server, false);
  }
  void LinkChanged(int server, bool connected) {
    Decide([&](auto& actions) {
      map_.LinkChanged(now_, server, ++processes_[server].link_changes,
                       connected, actions);
    });
  }
  void BreakPipe() {
    const int server = AnyProcess();
    for (auto& [shard, part] : processes_[server].parts) {
      if (part.pipe == nullptr) continue;
      if (rng_.Chance(1, 2)) {
        part.pipe->half_open = true;
        return;
      }
      return PipeBroke(server, shard, absl::UnavailableError("broken"));
    }
  }
  void CutLink() {
    const int server = AnyProcess();
    Process& at = processes_[server];
    if (!at.alive || !at.link->up() || !Sound()) return;
    at.link->Cut(rng_);
    LinkChanged(server, false);
  }
  void Leave() {
    const int server = AnyProcess();
    if (!Sound() || !processes_[server].alive) return;
    const bool leaving = !map_.servers()[server].leaving;
    Decide([&](auto& actions) {
      map_.SetLeaving(now_, server, leaving, actions);
    });
  }
  // Of the coordinator: all sessions are over.
  void Restart() {
    if (!Sound()) return;
    for (Process& process : processes_) {
      process.link = std::make_unique<ControlLink>();
      process.link->Cut(rng_);
      process.registers_anew = process.alive;
    }
    map_.CoordinatorRestarted(now_, now_ + absl::Seconds(1));
    ++restarts_;
  }
  // What is dead is started anew, what is cut is whole again.
  void Mend() {
    for (size_t i = 0; i < processes_.size(); ++i) {
      const int server = static_cast<int>(i);
      Process& at = processes_[i];
      if (map_.servers()[i].gone) continue;
      if (map_.servers()[i].leaving) {
        Decide([&](auto& actions) {
          map_.SetLeaving(now_, server, false, actions);
        });
      }
      if (at.registers_anew && !Return(server)) {
        at.alive = false;  // It is to have nothing of the shards.
        at.parts.clear();
      } else if (at.alive && !at.link->up()) {
        at.link->TakeUp();
        LinkChanged(server, true);
      }
      if (at.alive) continue;
      processes_.emplace_back();
      Decide([&](auto& actions) { map_.Gone(now_, server, actions); });
      Decide([&](auto& actions) {
        map_.Came(now_, {.name = "new", .replicates = true}, actions);
      });
      return;
    }
  }
  // False if the map takes it for another process.
  bool Return(int server) {
    Process& at = processes_[server];
    at.registers_anew = false;
    at.link->TakeUp();
    at.link_changes = 0;
    std::vector<HeldShard> held;
    for (const auto& [shard, part] : at.parts) {
      held.push_back({shard, part.job->epoch(), !part.job->serving()});
    }
    bool taken = false;
    Decide([&](auto& actions) {
      taken = map_.Returned(now_, server, held, actions);
    });
    if (!taken) return false;
    for (const auto& [shard, part] : at.parts) {
      if (part.said) at.link->Answer(part.said);
    }
    return true;
  }

  // What must hold.

  void CheckContent(int shard, JobShard& job) {
    const std::vector<float> weights = WeightsOf(job);
    for (uint32_t tag = 0; tag < kTags; ++tag) {
      if (weights[tag] > 1) {
        return Break(absl::StrCat("shard ", shard, " has push ", tag, " ",
                                  weights[tag], " times"));
      }
      if (told_[shard].contains(tag) && weights[tag] != 1) {
        return Break(absl::StrCat("shard ", shard, " has lost push ", tag));
      }
    }
  }
  void CheckEnd(int shard) {
    const ShardMap::Shard& mapped = map_.shards()[shard];
    Process& at = processes_[mapped.primary];
    const auto part = at.parts.find(shard);
    if (!at.alive || part == at.parts.end() || !part->second.job->serving()) {
      return Break(absl::StrCat("nobody serves shard ", shard));
    }
    JobShard& job = *part->second.job;
    CheckContent(shard, job);
    if (told_[shard].size() != tags_[shard]) {
      Break(absl::StrCat("shard ", shard, ": a push is never acknowledged"));
    }
    JobShard& backup = *processes_[mapped.backup].parts.at(shard).job;
    if (job.log().lag() == 0 && WeightsOf(job) != WeightsOf(backup)) {
      Break(absl::StrCat("shard ", shard, ": its backup has other weights"));
    }
  }

  Rng rng_;
  absl::Time now_ = absl::UnixEpoch();
  ShardMap map_;
  // Callbacks of logs refer to what follows, so that processes go first.
  uint32_t tags_[kShards] = {};       // Given to pushes.
  std::set<uint32_t> told_[kShards];  // Acknowledged.
  uint64_t promoted_[kShards] = {};   // The epoch of the last that was.
  std::vector<float> had_[kShards];   // What it had then.
  std::map<std::pair<int, uint64_t>, int> speaks_;  // By shard and epoch.
  std::deque<Acknowledgement> acknowledgements_;
  std::vector<Writer> writers_;
  std::deque<Process> processes_;
  uint64_t acknowledged_ = 0;
  uint64_t restarts_ = 0;
  uint64_t silent_ = 0;
  std::string violation_;
};

TEST(FailoverSimulation, NothingAcknowledgedIsLostWhateverSingleProcessDies) {
  const Seeds seeds(SeedCount(2000));
  uint64_t acknowledged = 0;
  uint64_t failovers = 0;
  uint64_t restarts = 0;
  uint64_t silent = 0;
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    Cluster cluster(seed);
    cluster.Run(3000);
    ASSERT_EQ(cluster.violation(), "") << "seed " << seed;
    acknowledged += cluster.acknowledged();
    failovers += cluster.failovers();
    restarts += cluster.restarts();
    silent += cluster.silent();
  }
  EXPECT_GT(acknowledged, 100 * seeds.count);
  EXPECT_GT(failovers, seeds.count);
  EXPECT_GT(restarts, seeds.count / 4);  // Of few seeds it scatters.
  EXPECT_GT(silent, seeds.count);
  std::printf(
      "%zu seeds: %zu pushes acknowledged, %zu failovers, %zu restarts, "
      "%zu silent backups\n",
      size_t{seeds.count}, size_t{acknowledged}, size_t{failovers},
      size_t{restarts}, size_t{silent});
}

}  // namespace
}  // namespace paceline
