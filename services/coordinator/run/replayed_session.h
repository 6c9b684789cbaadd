#ifndef PACELINE_SERVICES_COORDINATOR_RUN_REPLAYED_SESSION_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_REPLAYED_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "common/rpc/message_bytes.h"
#include "common/session/received_log.h"
#include "common/session/sent_log.h"
#include "protos/paceline/journal/run_event.pb.h"
#include "protos/paceline/v1/fleet.pb.h"

namespace paceline {

// Commands that may wait for one member. A job has a handful on their way to
// each; a snapshot or closing per push may add up while a server is busy.
inline constexpr size_t kMaxQueuedCommands = 100'000;

// A worker's session as a run's journal tells of it: what another life of the
// coordinator needs so that the worker can go on as if nothing had happened.
// What it was told is what the run gives out as it is replayed, under the
// numbers that it had.
class ReplayedSession {
 public:
  ReplayedSession(v1::WorkerHello hello, const journal::SessionPoint& begin)
      : id_(begin.id()),
        hello_(std::move(hello)),
        sent_({.messages = kMaxQueuedCommands}, begin.sent()),
        received_(begin.received()) {}

  // The worker has said this.
  void Received(const v1::WorkerMessage& message) {
    if (!sent_.Acknowledge(message.acknowledged()).ok()) sound_ = false;
    if (message.number() == 0) return;
    if (!received_.Take(message.number()).ok()) sound_ = false;
  }
  // And was told this.
  void Sent(v1::WorkerCommand command) {
    const size_t bytes = MessageBytes(command);
    if (!sent_.Add(command, bytes)) sound_ = false;
  }

  // It was asked to leave.
  void Released() { released_ = true; }
  bool released() const { return released_; }

  // Whether the worker can go on with it: it has one that outlives its stream,
  // and nothing in the journal contradicts it.
  bool resumable() const { return id_ != 0 && sound_; }

  uint64_t id() const { return id_; }
  const v1::WorkerHello& hello() const { return hello_; }
  const SentLog<v1::WorkerCommand>& sent() const { return sent_; }
  const ReceivedLog& received() const { return received_; }

 private:
  uint64_t id_;
  v1::WorkerHello hello_;
  SentLog<v1::WorkerCommand> sent_;
  ReceivedLog received_;
  bool released_ = false;
  bool sound_ = true;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_REPLAYED_SESSION_H_
