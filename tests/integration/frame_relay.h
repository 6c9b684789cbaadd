#ifndef PACELINE_TESTS_INTEGRATION_FRAME_RELAY_H_
#define PACELINE_TESTS_INTEGRATION_FRAME_RELAY_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/rpc/channel.h"
#include "common/rpc/client_stream.h"
#include "common/rpc/server_stream.h"
#include "common/rpc/stream_registry.h"
#include "protos/paceline/v1/parameters.grpc.pb.h"

namespace paceline {

// Stands between workers and one parameter server, forwards frame after frame,
// and breaks a stream at a frame that the test has chosen. Those of one machine
// share memory, and no socket. Thread-safe.
class FrameRelay : public v1::Parameters::WithRawCallbackMethod_Exchange<
                       v1::Parameters::Service> {
 public:
  using Buffer = grpc::ByteBuffer;

  enum class Fate : uint8_t {
    kPass,
    kLost,       // The stream breaks instead.
    kLast,       // The stream breaks behind it.
    kHalfKnown,  // The worker sees it break instead, the server nothing.
  };
  // Asked for each frame of either direction, by its number from 1 on.
  using FateOf = std::function<Fate(int frame)>;

  FrameRelay(const std::string& server, FateOf fate);
  ~FrameRelay() override;

  const std::string& address() const { return listening_.address; }
  int frames();
  int streams();

  grpc::ServerBidiReactor<Buffer, Buffer>* Exchange(
      grpc::CallbackServerContext* context) override;

 private:
  class Worker;  // The stream of one.
  using Server = ClientStream<Buffer, Buffer>;

  Fate Next() ABSL_LOCKS_EXCLUDED(mu_);

  const FateOf fate_;
  std::shared_ptr<grpc::Channel> channel_;
  absl::Mutex mu_;
  int frames_ ABSL_GUARDED_BY(mu_) = 0;
  StreamRegistry registry_;
  ListeningServer listening_;
  // Not ended in a reaction, so only at the very end.
  std::vector<std::unique_ptr<Server>> servers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_FRAME_RELAY_H_
