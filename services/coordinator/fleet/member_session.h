#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_MEMBER_SESSION_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_MEMBER_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/rpc/message_bytes.h"
#include "common/rpc/stream_registry.h"
#include "common/session/received_log.h"
#include "common/session/sent_log.h"
#include "common/session/session_messages.h"
#include "common/session/session_point.h"
#include "common/status.h"

namespace paceline {

// A member's session (fleet.proto) as the coordinator has it: to the fleet and
// the runs it is the member's stream, which never breaks. It ends when the
// member says so, when somebody closes it (its lease has ended, say), and, of
// one that cannot resume it, with its first stream.
//
// Thread-safe. Send() and Close() wait for nothing and call nobody back, so
// that they may be called with locks held.
template <class In, class Out>
class MemberSession : public OutgoingStream<Out> {
 public:
  // What the session is for. Neither is called with a lock of the session's
  // that Send() or Close() take; messages come one at a time and in order.
  struct Handlers {
    // Each message once. A status that is not OK closes the session.
    std::function<absl::Status(In&)> on_message;
    // Once, last: the session is over.
    std::function<void()> on_over;
    // The member is absent, or back: `link` counts these events, of which the
    // last one holds, whatever the order in which they are told. May be empty.
    std::function<void(uint64_t link, bool connected)> on_link = {};
    // It was absent and is over: calls the session's End() soon, on another
    // thread.
    std::function<void()> end_soon;
    // The member was told what is not known any more by what restored the
    // session: nobody is to go on from that. May be empty.
    std::function<void()> on_lost_end = {};
  };

  // `id`: 0 if it cannot be resumed. Commands that may wait for the member:
  // `max_queued`.
  MemberSession(uint64_t id, std::string name, size_t max_queued)
      : id_(id), name_(std::move(name)), sent_({.messages = max_queued}) {}

  // One that began in another life of the coordinator: the member is absent.
  MemberSession(uint64_t id, std::string name, SentLog<Out> sent,
                ReceivedLog received)
      : id_(id),
        name_(std::move(name)),
        began_(true),
        sent_(std::move(sent)),
        restored_at_(sent_.last()),
        received_(received) {}

  // REQUIRES: before the first Attach(), from one thread.
  void Handle(Handlers handlers) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    handlers_ = std::move(handlers);
    // Before there was anybody to tell.
    if (began_ && closed_.has_value()) handlers_.end_soon();
  }

  uint64_t id() const { return id_; }
  const std::string& name() const { return name_; }

  // The answer to `hello` is sent first, and again to each stream. Dropped once
  // the session closes. A member for which too much waits is given up.
  void Send(Out message) override {
    absl::MutexLock lock(&mu_);
    if (IsWelcome(message)) {
      welcome_ = std::move(message);
      return;
    }
    if (closed_.has_value()) return;
    // What comes before the first stream waits for it in any case.
    const bool kept = IsNumbered(message) && (id_ != 0 || !began_);
    if (kept && !sent_.Add(message, MessageBytes(message))) {
      CloseLocked(absl::ResourceExhaustedError(
          "the member does not take its commands: too many wait for it"));
      return;
    }
    if (stream_ != nullptr) WriteLocked(std::move(message));
  }

  SessionPoint session_point() const override {
    absl::MutexLock lock(&mu_);
    return {id_, sent_.last(), received_.last()};
  }

  // Ends the session; the first status wins, and is what its stream ends with.
  void Close(const absl::Status& status) override {
    absl::MutexLock lock(&mu_);
    CloseLocked(status);
  }

  // A stream carries it, or is about to.
  bool connected() const override {
    absl::MutexLock lock(&mu_);
    return stream_ != nullptr || !began_;
  }

  // What it was closed with; OK too while it goes on.
  absl::Status closed() const {
    absl::MutexLock lock(&mu_);
    return closed_.value_or(absl::OkStatus());
  }

  // From now on `stream` carries it, and what the member has not received goes
  // out again: all after `received`. The stream before that is closed. The
  // status with which the session was closed; INVALID_ARGUMENT for a number
  // that cannot be; ABORTED if what restored the session does not have it.
  absl::Status Attach(std::shared_ptr<OutgoingStream<Out>> stream,
                      uint64_t received) ABSL_LOCKS_EXCLUDED(mu_) {
    uint64_t link = 0;
    if (LostEnd(received)) {
      if (handlers_.on_lost_end) handlers_.on_lost_end();
      return absl::AbortedError("not all is known that the member was told");
    }
    {
      absl::MutexLock lock(&mu_);
      PACELINE_RETURN_IF_ERROR(AttachLocked(std::move(stream), received));
      link = ++links_;
    }
    if (handlers_.on_link) handlers_.on_link(link, true);
    return absl::OkStatus();
  }

  // A message on `stream`. What a stream still brings that carries the session
  // no more is dropped: it comes again. Not OK: the stream is to be closed.
  absl::Status OnMessage(const OpenStream* stream, In& message)
      ABSL_LOCKS_EXCLUDED(delivering_) {
    absl::MutexLock delivering(&delivering_);
    {
      absl::MutexLock lock(&mu_);
      if (stream_.get() != stream || closed_.has_value()) {
        return absl::OkStatus();
      }
      const absl::StatusOr<bool> wanted = TakeLocked(message);
      if (!wanted.ok()) {
        CloseLocked(wanted.status());
        return wanted.status();
      }
      if (!*wanted) return absl::OkStatus();
    }
    const absl::Status taken = handlers_.on_message(message);
    if (!taken.ok()) Close(taken);
    return taken;
  }

  // `stream` is over. The member is absent then, if it can come back.
  void OnStreamOver(const OpenStream* stream) {
    uint64_t link = 0;
    bool absent = false;
    {
      absl::MutexLock lock(&mu_);
      if (stream_.get() != stream) return;
      stream_.reset();
      link = ++links_;
      absent = id_ != 0 && !closed_.has_value();
      if (!closed_.has_value() && !absent) closed_ = absl::OkStatus();
    }
    if (!absent) return End();
    if (handlers_.on_link) handlers_.on_link(link, false);
  }

  // No stream carries it, and none will.
  void End() ABSL_LOCKS_EXCLUDED(delivering_) {
    absl::MutexLock delivering(&delivering_);
    if (!std::exchange(over_, true)) handlers_.on_over();
  }

 private:
  bool LostEnd(uint64_t received) const {
    absl::MutexLock lock(&mu_);
    // What was sent since has these numbers, too; no member can have it yet.
    return restored_at_.has_value() && received > *restored_at_;
  }

  absl::Status AttachLocked(std::shared_ptr<OutgoingStream<Out>> stream,
                            uint64_t received)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (closed_.has_value()) {
      return closed_->ok() ? absl::AbortedError("the session is over")
                           : *closed_;
    }
    PACELINE_RETURN_IF_ERROR(sent_.Resume(received));
    restored_at_.reset();
    // Of two that were on their way the late one is not the member's present
    // one; which then is dialled again, for it is told that it may.
    if (stream_ != nullptr) {
      stream_->Close(
          absl::UnavailableError("the session goes on over another stream"));
    }
    stream_ = std::move(stream);
    began_ = true;
    Out welcome = welcome_;
    if (id_ != 0) {
      SessionOfWelcome(welcome)->set_id(id_);
      SessionOfWelcome(welcome)->set_received(received_.last());
    }
    stream_->Send(std::move(welcome));
    for (const auto& kept : sent_.kept()) WriteLocked(kept.message);
    return absl::OkStatus();
  }

  // Whether the application is to have it.
  absl::StatusOr<bool> TakeLocked(const In& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    PACELINE_RETURN_IF_ERROR(sent_.Acknowledge(message.acknowledged()));
    if (message.number() != 0) {
      PACELINE_ASSIGN_OR_RETURN(const bool is_new,
                                received_.Take(message.number()));
      if (received_.must_tell()) WriteLocked(Out());
      if (!is_new) return false;
    }
    if (message.has_end()) {
      CloseLocked(absl::OkStatus());
      return false;
    }
    return message.kind_case() != In::KIND_NOT_SET;
  }

  void WriteLocked(Out message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    message.set_acknowledged(received_.Tell());
    stream_->Send(std::move(message));
  }

  void CloseLocked(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (closed_.has_value()) return;
    closed_ = status;
    if (stream_ != nullptr) {
      stream_->Close(status);
    } else if (began_ && handlers_.end_soon) {
      handlers_.end_soon();
    }
  }

  const uint64_t id_;
  const std::string name_;
  Handlers handlers_;

  // Held while a message is handled, which may take every other lock.
  absl::Mutex delivering_ ABSL_ACQUIRED_BEFORE(mu_);
  bool over_ ABSL_GUARDED_BY(delivering_) = false;

  mutable absl::Mutex mu_;
  // Null: the member is absent, or has not been welcomed.
  std::shared_ptr<OutgoingStream<Out>> stream_ ABSL_GUARDED_BY(mu_);
  bool began_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t links_ ABSL_GUARDED_BY(mu_) = 0;  // That came or broke.
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mu_);
  Out welcome_ ABSL_GUARDED_BY(mu_);
  SentLog<Out> sent_ ABSL_GUARDED_BY(mu_);
  // What was sent in another life, until the member is back.
  std::optional<uint64_t> restored_at_ ABSL_GUARDED_BY(mu_);
  ReceivedLog received_ ABSL_GUARDED_BY(mu_);
};

using WorkerSession = MemberSession<v1::WorkerMessage, v1::WorkerCommand>;

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_MEMBER_SESSION_H_
