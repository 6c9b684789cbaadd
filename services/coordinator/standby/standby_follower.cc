#include "services/coordinator/standby/standby_follower.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/log/log.h"
#include "common/status.h"
#include "protos/paceline/v1/standby.grpc.pb.h"

namespace paceline {
namespace {

// Messages that wait to be written. More of them wait at the leader.
constexpr size_t kMaxUnread = 1'000;
constexpr size_t kMaxQueued = 100'000;  // Acknowledgements.

constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(2);
constexpr absl::Duration kTurn = absl::Milliseconds(100);
// For the leader to hear that it leads no more.
constexpr absl::Duration kFarewell = absl::Milliseconds(500);

}  // namespace

StandbyFollower::StandbyFollower(Options options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

StandbyFollower::~StandbyFollower() { End(); }

void StandbyFollower::End(uint64_t leads) {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
    leads_ = leads;
  }
  if (thread_.joinable()) thread_.join();
}

StandbyFollower::View StandbyFollower::Get() const {
  absl::MutexLock lock(&mu_);
  return view_;
}

bool StandbyFollower::ending() const {
  absl::MutexLock lock(&mu_);
  return ending_;
}

bool StandbyFollower::Pause(absl::Duration time) {
  absl::MutexLock lock(&mu_);
  return !mu_.AwaitWithTimeout(absl::Condition(&ending_), time);
}

void StandbyFollower::Run() {
  absl::Duration pause = kFirstPause;
  std::string told;
  do {
    const std::string address = options_.leader();
    absl::Status over = absl::UnavailableError("nobody is known to lead");
    if (!address.empty()) over = Follow(address);
    if (ending()) return;
    const std::string trouble(over.message());
    if (trouble != std::exchange(told, trouble)) {  // Once, not ten times.
      LogWarning("does not follow a leader", {{"reason", trouble}});
    }
    absl::MutexLock lock(&mu_);
    // To fill it is work for the leader: not again and again at once.
    pause = view_.connected && view_.complete
                ? kFirstPause
                : std::min(2 * pause, kLongestPause);
    view_.connected = false;
    view_.trouble = trouble;
  } while (Pause(pause));
}

absl::Status StandbyFollower::Follow(const std::string& address) {
  const std::shared_ptr<grpc::Channel> channel = options_.connect(address);
  Inbox inbox(kMaxUnread);
  Stream stream(
      kMaxQueued,
      {.on_message =
           [&inbox](v1::LeaderMessage& message) {
             inbox.Put(std::move(message));
             return absl::OkStatus();
           },
       .on_disconnected =
           [&inbox](const absl::Status& status) { inbox.Close(status); },
       .may_read = [&inbox] { return !inbox.full(); }},
      [&channel](grpc::ClientContext* context, auto* reactor) {
        v1::Standby::Stub(channel).async()->Follow(context, reactor);
      });
  v1::StandbyMessage hello;
  *hello.mutable_hello() = options_.hello;
  {
    absl::MutexLock lock(&mu_);
    hello.mutable_hello()->set_term(std::max(hello.hello().term(), view_.term));
  }
  stream.Send(std::move(hello));
  entries_ = 0;
  const absl::Status over = TakeAll(inbox, stream);
  SayFarewell(inbox, stream);
  return over;
}

absl::Status StandbyFollower::TakeAll(Inbox& inbox, Stream& stream) {
  while (!ending()) {
    const auto message = inbox.Take(kTurn);
    stream.ReadOn();
    if (absl::IsDeadlineExceeded(message.status()) && !inbox.closed()) continue;
    PACELINE_RETURN_IF_ERROR(message.status());
    PACELINE_RETURN_IF_ERROR(Take(*message));
    if (!message->acknowledge()) continue;
    v1::StandbyMessage held;
    held.set_held(entries_);
    stream.Send(std::move(held));
  }
  return absl::OkStatus();
}

absl::Status StandbyFollower::Take(const v1::LeaderMessage& message) {
  if (message.has_welcome()) return Welcomed(message.welcome());
  ++entries_;
  PACELINE_RETURN_IF_ERROR(options_.store->Take(message));
  absl::MutexLock lock(&mu_);
  view_.complete = options_.store->complete();
  return absl::OkStatus();
}

absl::Status StandbyFollower::Welcomed(const v1::LeaderWelcome& welcome) {
  {
    absl::MutexLock lock(&mu_);
    if (welcome.term() < view_.term) {
      return absl::FailedPreconditionError(
          absl::StrCat(welcome.name(), " leads in a term that is over"));
    }
    view_ = {.leader = welcome.name(),
             .term = welcome.term(),
             .version = welcome.version(),
             .connected = true};
  }
  LogInfo("follows", {{"leader", welcome.name()}, {"term", welcome.term()}});
  return options_.store->Begin(welcome.term());
}

void StandbyFollower::SayFarewell(Inbox& inbox, Stream& stream) {
  uint64_t leads = 0;
  {
    absl::MutexLock lock(&mu_);
    leads = leads_;
  }
  if (leads == 0) return;
  v1::StandbyMessage message;
  message.set_leads(leads);
  stream.Send(std::move(message));
  stream.FinishWrites();
  const Clock& clock = Clock::Real();
  const absl::Time until = clock.Now() + kFarewell;
  while (!inbox.closed() && clock.Now() < until) {
    (void)inbox.Take(until - clock.Now());
    stream.ReadOn();
  }
}

}  // namespace paceline
