#ifndef PACELINE_COMMON_RPC_SESSION_CLIENT_H_
#define PACELINE_COMMON_RPC_SESSION_CLIENT_H_

#include <grpcpp/channel.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/lane/lane_door.h"
#include "common/lane/message_socket.h"
#include "common/log/log.h"
#include "common/rpc/client_stream.h"
#include "common/rpc/message_bytes.h"
#include "common/rpc/offered_socket.h"
#include "common/session/known_term.h"
#include "common/session/received_log.h"
#include "common/session/sent_log.h"
#include "common/session/session_messages.h"
#include "common/session/welcome_wait.h"
#include "common/status.h"

namespace paceline {

// Whether a stream that ended with this may be followed by another one of the
// same session: the link broke, or the peer's credentials are being exchanged.
// Everything else is the coordinator's word.
// `welcomed`: the stream had begun, so that it is no limit of streams that
// refused it.
inline bool MayResume(const absl::Status& status, bool welcomed) {
  switch (status.code()) {
    case absl::StatusCode::kResourceExhausted:
      return !welcomed;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return true;
    default:
      return false;
  }
}

// A member's session with the coordinator (fleet.proto), from its hello to its
// end: it dials, says hello, keeps the lease, and when a stream breaks it takes
// the session up on another one. The name is resolved anew for each. What is
// sent meanwhile waits, what was on its way is sent again, and each message
// comes once. With a coordinator of the same machine a stream soon goes on by a
// socket.
//
// Thread-safe. Dialling and heartbeats have a thread of their own, so that
// neither computing nor loading nor sleeping ends the lease.
template <class Out, class In>
class SessionClient {
 public:
  using Reactor = grpc::ClientBidiReactor<Out, In>;

  struct Options {
    // A new channel for each attempt; it notices a dead peer in `liveness`.
    std::function<std::shared_ptr<grpc::Channel>(absl::Duration liveness)>
        connect;
    // Starts the call.
    std::function<void(const std::shared_ptr<grpc::Channel>&,
                       grpc::ClientContext*, Reactor*)>
        open;
    Out hello;
    size_t max_unacknowledged = 10'000;
    absl::Duration lease;  // Until the coordinator says another.
    // How long it may be without a coordinator before the session ends.
    absl::Duration orphan;
    // Whoever was dialled last has refused the session, as only one that leads
    // does; null: nobody cares.
    std::function<void()> refused = nullptr;
    // Of all sessions of this member; null: there is one coordinator.
    std::shared_ptr<KnownTerm> term = nullptr;
  };
  struct Handlers {
    // Each command once, the first welcome too, heartbeats left out. A
    // reaction: it must not block.
    std::function<void(In&)> on_message;
    // Once: why the session is over. Not called by the destructor. On a thread
    // of the client's own.
    std::function<void(const absl::Status&)> on_over;
    // As ClientStream::Handlers, but not empty.
    std::function<bool()> may_read;
    // The link is broken (why), and whole again (OK), by turns. On a thread of
    // the client's own; not after on_over.
    std::function<void(const absl::Status&)> on_link = [](const absl::Status&) {
    };
    // Adds to a heartbeat what it is to say. Called with a lock held, so it
    // must not call the client.
    std::function<void(Out& heartbeat)> on_beat = [](Out&) {};
  };

  SessionClient(Options options, Handlers handlers)
      : options_(std::move(options)),
        handlers_(std::move(handlers)),
        sent_({.messages = options_.max_unacknowledged}),
        lease_(options_.lease) {
    thread_ = std::thread([this] { Run(); });
  }

  ~SessionClient() {
    {
      absl::MutexLock lock(&mu_);
      closing_ = true;
    }
    thread_.join();
  }
  SessionClient(const SessionClient&) = delete;
  SessionClient& operator=(const SessionClient&) = delete;

  // Dropped once the session is over.
  void Send(Out message) {
    absl::MutexLock lock(&mu_);
    SendLocked(std::move(message));
  }

  // After the last message: tells the coordinator that the member is gone. The
  // session is over, with OK, once it has heard that.
  void Finish() {
    absl::MutexLock lock(&mu_);
    if (finishing_) return;
    Out end;
    end.mutable_end();
    SendLocked(std::move(end));
    finishing_ = true;
    // On its way by the socket the end could be lost. Then the coordinator ends
    // the stream, once it has heard.
    if (welcomed_ && stream_ != nullptr && !stream_->bypassed()) {
      stream_->FinishWrites();
    }
  }

  // As ClientStream::ReadOn().
  void ReadOn() {
    absl::MutexLock lock(&mu_);
    if (stream_ != nullptr) stream_->ReadOn();
  }

  // From the registration on: heartbeats follow it.
  void SetLease(absl::Duration lease) {
    absl::MutexLock lock(&mu_);
    lease_ = lease;
    beat_now_ = true;
  }
  absl::Duration lease() const {
    absl::MutexLock lock(&mu_);
    return lease_;
  }

 private:
  using Stream = ClientStream<Out, In>;

  // The thread: one stream after the other, until the session is over.
  void Run() {
    constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
    constexpr absl::Duration kLongestPause = absl::Milliseconds(500);
    // Credentials are not exchanged ten times a second.
    constexpr absl::Duration kRefusedPause = absl::Seconds(2);
    absl::Duration pause = kFirstPause;
    while (true) {
      const absl::Status ended = Carry();
      {
        absl::MutexLock lock(&mu_);
        if (closing_) return;
        if (welcomed_) pause = kFirstPause;
      }
      const std::optional<absl::Status> over = OverAfter(ended);
      if (over.has_value()) return handlers_.on_over(*over);
      const bool refused =
          absl::IsUnauthenticated(ended) || absl::IsPermissionDenied(ended);
      {
        absl::MutexLock lock(&mu_);
        mu_.AwaitWithTimeout(absl::Condition(&closing_),
                             refused ? kRefusedPause : pause);
        if (closing_) return;
      }
      pause = std::min(2 * pause, kLongestPause);
    }
  }

  // One stream from its hello to its end.
  absl::Status Carry() {
    // A dead coordinator is noticed within this time, before a standby leads.
    constexpr absl::Duration kNoticed = absl::Seconds(4);
    const std::shared_ptr<grpc::Channel> channel =
        options_.connect(std::min(lease(), kNoticed));
    offered_ = {};
    auto stream = std::make_unique<Stream>(
        // What is resumed may be all that is kept.
        2 * options_.max_unacknowledged,
        typename Stream::Handlers{
            .on_message = [this](In& message) { return OnMessage(message); },
            .on_disconnected =
                [this](const absl::Status& status) {
                  absl::MutexLock lock(&mu_);
                  broken_ = status;
                },
            .may_read = handlers_.may_read},
        [this, &channel](grpc::ClientContext* context, auto* reactor) {
          options_.open(channel, context, reactor);
        });
    {
      absl::MutexLock lock(&mu_);
      stream_ = stream.get();
      welcomed_ = false;
      resumed_after_.reset();
      last_heard_ = clock_.Now();
      Out hello = options_.hello;
      v1::SessionHello* const session = SessionOfHello(hello);
      session->set_id(session_);
      session->set_received(received_.Tell());
      session->set_host(HostKey());
      if (options_.term != nullptr) session->set_term(options_.term->Get());
      stream_->Send(std::move(hello));
    }
    const absl::Status ended = KeepLease();
    {
      absl::MutexLock lock(&mu_);
      stream_ = nullptr;
    }
    stream.reset();  // Waits for gRPC, whose reactions take the lock.
    const bool away = absl::IsUnavailable(ended) || absl::IsCancelled(ended) ||
                      absl::IsDeadlineExceeded(ended);
    if (!away && !ended.ok() && options_.refused) options_.refused();
    absl::MutexLock lock(&mu_);
    broken_.reset();
    return ended;
  }

  // Beats until the stream has ended or is not to go on: why.
  absl::Status KeepLease() {
    const auto woken = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return closing_ || broken_.has_value() || beat_now_ || !refused_.ok();
    };
    absl::Time looked = clock_.Now();
    while (true) {
      std::optional<absl::Duration> resumed_after;
      {
        absl::MutexLock lock(&mu_);
        const bool resuming = session_ != 0 && !welcomed_;
        const absl::Duration patience =
            resuming ? welcome_wait_.Within(lease_) : 2 * lease_;
        mu_.AwaitWithTimeout(absl::Condition(&woken),
                             std::min(lease_, patience) / 3);
        if (closing_) return absl::CancelledError("the session is closed");
        if (!refused_.ok()) return refused_;
        if (broken_.has_value()) return *broken_;
        // While nothing is read, or this process was stopped, hearing nothing
        // says nothing of the peer.
        const absl::Time now = clock_.Now();
        if (!handlers_.may_read() || now - looked > lease_) last_heard_ = now;
        looked = now;
        if (now - last_heard_ > patience) {
          if (resuming) welcome_wait_.InVain();
          return absl::UnavailableError(
              absl::StrCat("the coordinator was not heard for ",
                           absl::FormatDuration(patience)));
        }
        beat_now_ = false;
        Out heartbeat;
        heartbeat.mutable_heartbeat();
        handlers_.on_beat(heartbeat);
        SendLocked(std::move(heartbeat));
        std::swap(resumed_after, resumed_after_);
      }
      if (resumed_after.has_value()) {
        handlers_.on_link(absl::OkStatus());
        LogInfo("the coordinator is reached again",
                {{"after", absl::FormatDuration(*resumed_after)}});
      }
    }
  }

  // Whether the session is over after a stream that ended with that, and with
  // what.
  std::optional<absl::Status> OverAfter(const absl::Status& ended) {
    absl::Status told;
    {
      absl::MutexLock lock(&mu_);
      if (!refused_.ok()) return refused_;
      if (finishing_ && ended.ok()) return absl::OkStatus();
      const absl::Status why =
          ended.ok() ? absl::UnavailableError("the stream has ended") : ended;
      if (session_ == 0 || !MayResume(why, welcomed_)) return why;
      const absl::Time now = clock_.Now();
      if (absent_since_ == absl::InfiniteFuture()) {
        absent_since_ = now;
        // Unless it broke again before anybody was told that it was whole.
        if (!resumed_after_.has_value()) told = why;
        resumed_after_.reset();
      } else if (now - absent_since_ > options_.orphan) {
        return Annotate(why, absl::StrCat("no coordinator was reached for ",
                                          absl::FormatDuration(options_.orphan),
                                          ", the last time"));
      }
    }
    if (!told.ok()) {
      handlers_.on_link(told);
      LogWarning("the link to the coordinator broke, and is tried again",
                 {{"reason", Summary(told)}});
    }
    return std::nullopt;
  }

  absl::Status OnMessage(In& message) {
    if (message.has_socket_offer()) {
      return offered_.TakeUp(message.socket_offer());
    }
    if (message.has_by_socket()) return GoOnBySocket();
    bool deliver = false;
    {
      absl::MutexLock lock(&mu_);
      // Given up, and not ended yet: what it brings comes again.
      if (stream_ == nullptr) return absl::CancelledError("given up");
      last_heard_ = clock_.Now();
      const absl::StatusOr<bool> wanted = TakeLocked(message);
      // One that does not lead: the session goes on with another.
      if (absl::IsUnavailable(wanted.status())) return wanted.status();
      if (!wanted.ok()) {
        refused_ = wanted.status();
        return wanted.status();
      }
      deliver = *wanted;
      if (received_.must_tell()) SendLocked(Out());
    }
    if (deliver) handlers_.on_message(message);
    return absl::OkStatus();
  }

  // The coordinator has the other end, and uses it from now on.
  absl::Status GoOnBySocket() {
    absl::MutexLock lock(&mu_);
    if (stream_ == nullptr) return absl::CancelledError("given up");
    PACELINE_ASSIGN_OR_RETURN(MessageSocket::Parts socket, offered_.Take());
    Out last;
    last.mutable_by_socket();
    stream_->Bypass(std::move(socket), std::move(last));
    return absl::OkStatus();
  }

  // Whether the application is to have it.
  absl::StatusOr<bool> TakeLocked(const In& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!welcomed_ && IsWelcome(message)) return WelcomeLocked(message);
    PACELINE_RETURN_IF_ERROR(sent_.Acknowledge(message.acknowledged()));
    if (message.number() != 0) return received_.Take(message.number());
    return !message.has_heartbeat() && message.kind_case() != In::KIND_NOT_SET;
  }

  absl::StatusOr<bool> WelcomeLocked(const In& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const v1::SessionWelcome& welcome = SessionOfWelcome(message);
    if (options_.term != nullptr && !options_.term->Meet(welcome.term())) {
      return absl::UnavailableError(
          absl::StrCat("this coordinator led in term ", welcome.term(),
                       ", and another one leads since"));
    }
    const bool resumed = session_ != 0;
    if (resumed && welcome.id() != session_) {
      return absl::AbortedError("the coordinator has given the session up");
    }
    session_ = welcome.id();
    PACELINE_RETURN_IF_ERROR(sent_.Resume(welcome.received()));
    welcomed_ = true;
    welcome_wait_.Welcomed();
    if (resumed) resumed_after_ = clock_.Now() - absent_since_;
    absent_since_ = absl::InfiniteFuture();
    beat_now_ = true;
    for (const auto& kept : sent_.kept()) WriteLocked(kept.message);
    if (finishing_) stream_->FinishWrites();
    return !resumed;
  }

  void SendLocked(Out message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (finishing_ || !refused_.ok()) return;
    // A coordinator that gives no session would not acknowledge anything.
    const bool kept = IsNumbered(message) && (session_ != 0 || !welcomed_);
    if (kept && !sent_.Add(message, MessageBytes(message))) {
      refused_ = absl::ResourceExhaustedError(
          "the coordinator does not take what it is sent: too much waits");
      return;
    }
    if (welcomed_ && stream_ != nullptr) WriteLocked(std::move(message));
  }

  void WriteLocked(Out message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    message.set_acknowledged(received_.Tell());
    stream_->Send(std::move(message));
  }

  const Options options_;
  const Handlers handlers_;
  const Clock& clock_ = Clock::Real();

  mutable absl::Mutex mu_;
  SentLog<Out> sent_ ABSL_GUARDED_BY(mu_);
  ReceivedLog received_ ABSL_GUARDED_BY(mu_);
  uint64_t session_ ABSL_GUARDED_BY(mu_) = 0;  // 0: not begun.
  absl::Duration lease_ ABSL_GUARDED_BY(mu_);
  bool beat_now_ ABSL_GUARDED_BY(mu_) = false;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  bool finishing_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status refused_ ABSL_GUARDED_BY(mu_);  // The session cannot go on.
  absl::Time absent_since_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();

  // Of the present stream; null between two.
  Stream* stream_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool welcomed_ ABSL_GUARDED_BY(mu_) = false;
  OfferedSocket offered_;  // While there is a stream, for its reactions alone.
  WelcomeWait welcome_wait_ ABSL_GUARDED_BY(mu_);
  // How long the member was absent before it; told of once.
  std::optional<absl::Duration> resumed_after_ ABSL_GUARDED_BY(mu_);
  absl::Time last_heard_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> broken_ ABSL_GUARDED_BY(mu_);

  std::thread thread_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_SESSION_CLIENT_H_
