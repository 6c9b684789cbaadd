#include "services/coordinator/standby/former_leader.h"

#include <grpcpp/client_context.h>

#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "protos/paceline/v1/standby.grpc.pb.h"

namespace paceline {
namespace {

constexpr absl::Duration kPause = absl::Seconds(1);
// For its answer, which nobody needs.
constexpr absl::Duration kPatience = absl::Seconds(1);

}  // namespace

FormerLeader::FormerLeader(
    v1::StandbyHello hello,
    std::function<std::shared_ptr<grpc::Channel>()> connect)
    : hello_(std::move(hello)), connect_(std::move(connect)), thread_([this] {
        do {
          Tell();
        } while (!ending_.WaitForNotificationWithTimeout(kPause));
      }) {}

FormerLeader::~FormerLeader() {
  ending_.Notify();
  thread_.join();
}

void FormerLeader::Tell() {
  const auto stub = v1::Standby::NewStub(connect_());
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
  const auto stream = stub->Follow(&context);
  v1::StandbyMessage hello;
  *hello.mutable_hello() = hello_;
  stream->Write(hello);
  stream->WritesDone();
  v1::LeaderMessage unread;
  while (stream->Read(&unread)) {
  }
  stream->Finish();  // Whatever it says: it ends, or is not there.
}

}  // namespace paceline
