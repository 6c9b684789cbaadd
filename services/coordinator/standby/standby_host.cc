#include "services/coordinator/standby/standby_host.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/overloaded.h"
#include "common/status.h"

namespace paceline {
namespace {

// Messages on their way to the transport.
constexpr size_t kAhead = 64;

// A standby that lacks so many changes does not keep up, nor does one for which
// so much waits in this process' memory.
constexpr size_t kMostBehind = 100'000;
constexpr size_t kMostWaitingBytes = size_t{64} << 20;

// What a standby that is being filled does with what it gets takes longer:
// whole files, which it checks.
constexpr int kPatienceWhileFilled = 10;

constexpr absl::Duration kLook = absl::Milliseconds(100);

absl::StatusOr<v1::LeaderMessage> ToWire(const FeedEntry& entry) {
  v1::LeaderMessage message;
  absl::Status read;
  std::visit(Overloaded{[&](const v1::StoreChange& change) {
                          *message.mutable_store() = change;
                        },
                        [&](const v1::JournalChange& change) {
                          *message.mutable_journal() = change;
                        },
                        [&](const FeedPiece& piece) {
                          auto bytes = piece.Read();
                          read = bytes.status();
                          if (bytes.ok()) {
                            *message.mutable_file() = *std::move(bytes);
                          }
                        },
                        [&](const FilledEntry&) { message.set_filled(true); },
                        [&](const MarkEntry&) { message.set_mark(true); }},
             entry);
  if (!read.ok()) return read;
  return message;
}

}  // namespace

StandbyHost::StandbyHost(Options options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

StandbyHost::~StandbyHost() {
  {
    absl::MutexLock lock(&mu_);
    closing_ = true;
  }
  thread_.join();
}

std::optional<StandbyHost::Standby> StandbyHost::Present() const {
  absl::MutexLock lock(&mu_);
  if (stream_ == nullptr) return std::nullopt;
  return Standby{.name = hello_.name(),
                 .address = hello_.address(),
                 .version = hello_.version(),
                 .complete = complete_,
                 .entries_behind = options_.feed->log().lag()};
}

void StandbyHost::GoAlone() { EndLog(); }

void StandbyHost::EndLog() {
  {
    absl::MutexLock lock(&mu_);
    // Once: the next one may follow as soon as it has ended.
    if (!suspended_ || std::exchange(ending_, true)) return;
  }
  // Calls whoever has waited, and so not under the lock.
  options_.feed->log().End(/*hold=*/false);
  absl::MutexLock lock(&mu_);
  suspended_ = ending_ = false;
}

absl::Status StandbyHost::OnHello(const v1::StandbyHello& hello,
                                  std::shared_ptr<StandbyPeer> stream) {
  if (hello.term() > options_.term) {
    options_.replaced(hello.term());
    return absl::FailedPreconditionError(absl::StrCat(
        "another coordinator has led since, in term ", hello.term()));
  }
  v1::LeaderMessage welcome;
  welcome.mutable_welcome()->set_name(options_.name);
  welcome.mutable_welcome()->set_term(options_.term);
  welcome.mutable_welcome()->set_version(options_.version);
  {
    absl::MutexLock lock(&mu_);
    if (stream_ != nullptr) {
      return absl::AlreadyExistsError(
          absl::StrCat(hello_.name(), " stands by"));
    }
    if (suspended_) {
      return absl::UnavailableError(
          absl::StrCat("until it is known that ", hello_.name(),
                       ", which stood by, does not lead"));
    }
    stream_ = std::move(stream);
    hello_ = hello;
    following_ = 0;
    complete_ = false;
    asked_ = options_.clock->Now();
    woken_ = true;
    stream_->Send(std::move(welcome));
  }
  LogInfo("stands by", {{"standby", hello.name()}});
  return absl::OkStatus();
}

absl::Status StandbyHost::OnHeld(const StandbyPeer* stream, uint64_t entries) {
  uint64_t following = 0;
  {
    absl::MutexLock lock(&mu_);
    if (stream_.get() != stream) return absl::OkStatus();
    following = following_;
    asked_ = options_.clock->Now();
  }
  PACELINE_ASSIGN_OR_RETURN(
      const bool complete,
      options_.feed->log().Acknowledged(following, entries));
  if (!complete) return absl::OkStatus();
  std::string name;
  {
    absl::MutexLock lock(&mu_);
    if (stream_.get() != stream) return absl::OkStatus();
    complete_ = true;
    name = hello_.name();
  }
  LogInfo("the standby has everything", {{"standby", name}});
  return absl::OkStatus();
}

void StandbyHost::OnLeads(uint64_t term) {
  if (term > options_.term) options_.replaced(term);
}

void StandbyHost::OnOver(const StandbyPeer* stream) {
  std::string name;
  uint64_t following = 0;
  bool was_complete = false;
  {
    absl::MutexLock lock(&mu_);
    if (stream_.get() != stream) return;
    stream_.reset();
    suspended_ = true;
    was_complete = std::exchange(complete_, false);
    following = following_;
    name = hello_.name();
  }
  // One that never had everything cannot lead.
  if (was_complete) {
    options_.feed->log().Suspend(following);
  } else {
    EndLog();
  }
  LogWarning("the standby is gone", {{"standby", name}});
}

void StandbyHost::Wake() {
  absl::MutexLock lock(&mu_);
  woken_ = true;
}

void StandbyHost::Run() {
  const auto something = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return woken_ || closing_;
  };
  while (true) {
    std::shared_ptr<StandbyPeer> stream;
    uint64_t following = 0;
    {
      absl::MutexLock lock(&mu_);
      mu_.AwaitWithTimeout(absl::Condition(&something), kLook);
      if (closing_) return;
      woken_ = false;
      stream = stream_;
      following = following_;
    }
    if (stream == nullptr) continue;
    if (following == 0) {
      const auto begun = options_.feed->Begin([this] { Wake(); });
      if (!begun.ok()) {
        LogError("what the standby is to have cannot be read",
                 {{"reason", std::string(begun.status().message())}});
        stream->Close(begun.status());
      }
      following = begun.value_or(options_.feed->following());
      if (!Begun(stream, following)) {
        options_.feed->log().End(/*hold=*/false);
        continue;
      }
    }
    Pump(*stream, following);
    if (IsSilent()) {
      stream->Close(absl::UnavailableError("the standby does not keep up"));
      // Its last message may be on its way for long.
      OnOver(stream.get());
    }
  }
}

bool StandbyHost::Begun(const std::shared_ptr<StandbyPeer>& stream,
                        uint64_t following) {
  absl::MutexLock lock(&mu_);
  if (stream_ != stream) return false;
  following_ = following;
  asked_ = options_.clock->Now();
  return true;
}

void StandbyHost::Ask() {
  absl::MutexLock lock(&mu_);
  asked_ = options_.clock->Now();
}

bool StandbyHost::IsSilent() const {
  const StandbyFeed::Log& log = options_.feed->log();
  if (log.lag() > kMostBehind || log.waiting_bytes() > kMostWaitingBytes) {
    return true;
  }
  if (!log.awaits_acknowledgement()) return false;
  absl::MutexLock lock(&mu_);
  const int times = complete_ ? 1 : kPatienceWhileFilled;
  return options_.clock->Now() - asked_ > times * options_.patience;
}

void StandbyHost::Pump(StandbyPeer& stream, uint64_t following) {
  while (stream.waiting() < kAhead) {
    const bool owes = options_.feed->log().awaits_acknowledgement();
    const auto outgoing = options_.feed->log().Take(following);
    if (!outgoing.has_value()) return;
    if (!owes) Ask();  // Who was asked nothing was not silent.
    const absl::Status sent = SendEntry(stream, *outgoing);
    if (!sent.ok()) return stream.Close(sent);
  }
}

absl::Status StandbyHost::SendEntry(
    StandbyPeer& stream, const StandbyFeed::Log::Outgoing& outgoing) {
  PACELINE_ASSIGN_OR_RETURN(v1::LeaderMessage message, ToWire(outgoing.entry));
  message.set_acknowledge(outgoing.acknowledge);
  stream.Send(std::move(message));
  return absl::OkStatus();
}

}  // namespace paceline
