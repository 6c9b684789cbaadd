#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_RUN_FAKE_STREAM_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_RUN_FAKE_STREAM_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/mailbox.h"
#include "common/rpc/stream_registry.h"

namespace paceline {

// A member's stream that leads nowhere: what is sent to it waits for the test.
template <class Command>
class FakeStream : public OutgoingStream<Command> {
 public:
  void Send(Command command) override { commands.Put(std::move(command)); }
  void Close(const absl::Status& status) override { closings_.Put({status}); }

  // The status of the next Close(); UNKNOWN if none comes in time.
  absl::Status AwaitClosed(absl::Duration timeout) {
    const auto closing = closings_.Take(timeout);
    return closing.ok() ? closing->status : absl::UnknownError("not closed");
  }

  SessionPoint session_point() const override { return session; }

  Mailbox<Command> commands;
  SessionPoint session;

 private:
  struct Closing {
    absl::Status status;
  };
  Mailbox<Closing> closings_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_RUN_FAKE_STREAM_H_
