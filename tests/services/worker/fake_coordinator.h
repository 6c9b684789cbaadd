#ifndef PACELINE_TESTS_SERVICES_WORKER_FAKE_COORDINATOR_H_
#define PACELINE_TESTS_SERVICES_WORKER_FAKE_COORDINATOR_H_

#include <atomic>
#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/lane/lane_door.h"
#include "common/mailbox.h"
#include "common/rpc/channel.h"
#include "common/rpc/server_stream.h"
#include "common/rpc/stream_registry.h"
#include "protos/paceline/v1/fleet.grpc.pb.h"

namespace paceline {

// Longer than any test may take: ends only what would hang.
inline constexpr absl::Duration kTestPatience = absl::Seconds(30);

// One worker's stream as a coordinator sees it, played by the test.
class FakeSession : public ServerStream<v1::WorkerMessage, v1::WorkerCommand> {
 public:
  FakeSession() : ServerStream(1000) {}

  // What the worker says next, heartbeats left out. Nothing set, and a failure
  // of the test, if it says nothing or the stream ends.
  v1::WorkerMessage Next();
  // The next, which must be of this kind.
  v1::WorkerMessage Expect(v1::WorkerMessage::KindCase kind);
  // Nothing more comes: the stream has ended, from the worker's side.
  void ExpectEnd();
  // That many arrive from now on. The first may have been on its way.
  void AwaitHeartbeats(int count);

  // Offers a socket at that door, to go on by it; the second also waits until
  // both ends do.
  void OfferSocket(LaneDoor& door);
  void GoOnBySocket(LaneDoor& door);

  // Answers no heartbeats from now on.
  void BeSilent() { silent_ = true; }

  // hello -> registered.
  v1::WorkerHello Register(absl::Duration lease = absl::Seconds(10));
  void Assign(const v1::Assignment& assignment);
  void Stop(absl::StatusCode code = absl::StatusCode::kOk);
  void Grant(int64_t iteration, int64_t closing = 0);
  // Of a rule with rounds: each update so far was a closing.
  void GrantRound(int64_t iteration, int64_t closing);
  void GrantRound(int64_t iteration, int64_t closing, int64_t base_version);

  using ServerStream::queued;

 protected:
  absl::Status OnMessage(v1::WorkerMessage& message) override;
  void OnDisconnected() override { said_.Close(absl::OkStatus()); }

 private:
  Mailbox<v1::WorkerMessage> said_;
  Mailbox<bool> heartbeats_;
  absl::Notification by_socket_;
  std::atomic<bool> silent_ = false;
};

// The Fleet service on a port that the system chose. Answers heartbeats and
// decides nothing.
class FakeCoordinator : public v1::Fleet::CallbackService {
 public:
  // At `address`, once another one has gone from there.
  explicit FakeCoordinator(const std::string& address = "127.0.0.1:0");
  ~FakeCoordinator() override;

  const std::string& address() const { return listening_.address; }
  // The next stream that a worker opens.
  std::shared_ptr<FakeSession> NextSession();

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::WorkerCommand>* Worker(
      grpc::CallbackServerContext* context) override;

 private:
  Mailbox<std::shared_ptr<FakeSession>> sessions_;
  StreamRegistry registry_;
  ListeningServer listening_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_WORKER_FAKE_COORDINATOR_H_
