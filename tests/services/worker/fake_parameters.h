#ifndef PACELINE_TESTS_SERVICES_WORKER_FAKE_PARAMETERS_H_
#define PACELINE_TESTS_SERVICES_WORKER_FAKE_PARAMETERS_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/mailbox.h"
#include "common/rpc/channel.h"
#include "common/rpc/frame_codec.h"
#include "common/rpc/server_stream.h"
#include "common/rpc/stream_registry.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "protos/paceline/v1/parameters.grpc.pb.h"

namespace paceline {

// A parameter server without a rule: it keeps the starting values, sends them
// to whoever pulls, and acknowledges every push. Pulls and acknowledgements can
// be held back.
class FakeParameters : public v1::Parameters::WithRawCallbackMethod_Exchange<
                           v1::Parameters::Service> {
 public:
  using Buffer = grpc::ByteBuffer;

  // At `address`, once another one has gone from there.
  explicit FakeParameters(const std::string& address = "127.0.0.1:0");
  // Ends all streams with UNAVAILABLE.
  ~FakeParameters() override;

  const std::string& address() const { return listening_.address; }

  // `begin` for a model of these tensors, a block each, all of them here.
  v1::BeginJob Begin(const v1::WorkerReady& ready, bool initialize);

  // From now on pulls of this closing, or a later one, wait; pulls fail, those
  // held too; or pushes are not acknowledged.
  void HoldPulls(int64_t from_closing = 0);
  void AnswerPulls();  // Those held, and all to come.
  void FailPulls(const absl::Status& status);
  void HoldPushes();
  void AcknowledgePushes();  // Those held, and all to come.
  // Acknowledgements to come say that this block was refused.
  void RefuseBlock(std::optional<uint32_t> block);
  // The next pull, or push (its last block), that is held has come.
  void AwaitHeldPull() { held_.Take(absl::Seconds(30)).IgnoreError(); }
  void AwaitHeldPush() { held_.Take(absl::Seconds(30)).IgnoreError(); }
  // Ends every stream, and forgets what it has held back.
  void BreakStreams(const absl::Status& status);
  // The same, but ends the last stream that has come alone.
  void BreakOneStream(const absl::Status& status);

  // How each stream introduced itself, the next one.
  v1::StreamHello NextHello();
  int sets();    // Starting values received, in blocks.
  int pushes();  // Whole pushes received.
  // Blocks that were pushed while there were not all starting values.
  int early_pushes();
  // The closings that pulls have asked for.
  std::vector<int64_t> pulls();
  // What was pushed last for a block; waits for the first time.
  std::string Pushed(uint32_t block);
  v1::WireFormat Format(uint32_t block);  // Of that.
  // Which blocks were pushed by each stream that has pushed any.
  std::vector<std::vector<uint32_t>> PushedByStreams();

  grpc::ServerBidiReactor<Buffer, Buffer>* Exchange(
      grpc::CallbackServerContext* context) override;

 private:
  class Stream;

  struct HeldPull {
    v1::Pull pull;
    std::weak_ptr<OpenStream> stream;
  };

  void OnMessage(Stream& stream, const ReceivedFrame& frame);
  void Answer(Stream& stream, const v1::Pull& pull)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fail(Stream& stream, uint64_t request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Buffer AckOf(int64_t iteration) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex mu_;
  size_t blocks_ ABSL_GUARDED_BY(mu_) = 0;
  std::set<uint32_t> frozen_ ABSL_GUARDED_BY(mu_);  // Of the blocks.
  std::map<uint32_t, std::string> values_ ABSL_GUARDED_BY(mu_);
  int sets_ ABSL_GUARDED_BY(mu_) = 0;
  size_t pushed_blocks_ ABSL_GUARDED_BY(mu_) = 0;
  int early_pushes_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint32_t, std::string> pushed_ ABSL_GUARDED_BY(mu_);
  std::map<uint32_t, v1::WireFormat> formats_ ABSL_GUARDED_BY(mu_);
  // By the stream's name.
  std::map<const OpenStream*, std::vector<uint32_t>> pushed_by_
      ABSL_GUARDED_BY(mu_);
  std::optional<uint32_t> refuse_ ABSL_GUARDED_BY(mu_);
  // From this closing on; none: none.
  std::optional<int64_t> hold_pulls_ ABSL_GUARDED_BY(mu_);
  std::vector<int64_t> pulls_ ABSL_GUARDED_BY(mu_);
  std::vector<HeldPull> held_pulls_ ABSL_GUARDED_BY(mu_);
  absl::Status fail_pulls_ ABSL_GUARDED_BY(mu_);
  bool hold_pushes_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<int64_t> held_pushes_ ABSL_GUARDED_BY(mu_);  // Iterations.
  std::vector<std::weak_ptr<OpenStream>> streams_ ABSL_GUARDED_BY(mu_);
  Mailbox<bool> held_;
  Mailbox<v1::StreamHello> hellos_;
  StreamRegistry registry_;
  ListeningServer listening_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_WORKER_FAKE_PARAMETERS_H_
