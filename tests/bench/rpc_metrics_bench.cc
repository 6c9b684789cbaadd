// What it costs that each message of a control stream passes the interceptor
// that counts calls: two streams over loopback, one on a server with RpcMetrics
// and one on a server without, take turns within one run. A round trip is an
// iteration's two messages, its push reported and the next one granted.

#include <benchmark/benchmark.h>
#include <prometheus/registry.h>
#include <time.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "common/check.h"
#include "common/rpc/channel.h"
#include "common/rpc/rpc_metrics.h"
#include "protos/paceline/v1/fleet.grpc.pb.h"

namespace paceline {
namespace {

constexpr int kBlock = 100;  // Round trips until it is the other one's turn.

// Grants the next iteration at once.
class GrantingFleet final : public v1::Fleet::Service {
 public:
  grpc::Status Worker(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::WorkerCommand, v1::WorkerMessage>* stream)
      override {
    v1::WorkerMessage message;
    v1::WorkerCommand command;
    while (stream->Read(&message)) {
      command.mutable_grant()->set_iteration(message.push_done().iteration() +
                                             1);
      stream->Write(command);
    }
    return grpc::Status::OK;
  }
};

// Of all threads of the process: both ends.
absl::Duration ProcessCpu() {
  timespec time = {};
  CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0);
  return absl::DurationFromTimespec(time);
}

// A server, a worker's stream to it, and what that has cost.
class Connection {
 public:
  explicit Connection(RpcMetrics* metrics) {
    ListenOptions options;
    options.metrics = metrics;
    auto listening = Listen("127.0.0.1:0", ChannelProfile::kControl,
                            ServerSecurity(), {&fleet_}, options);
    CHECK(listening.ok());
    listening_ = *std::move(listening);
    stub_ = v1::Fleet::NewStub(MakeChannel(
        listening_.address, ChannelProfile::kControl, absl::Seconds(10)));
    stream_ = stub_->Worker(&context_);
  }
  ~Connection() {
    stream_->WritesDone();
    CHECK(stream_->Finish().ok());
    listening_.server->Shutdown();
  }

  void RoundTrips() {
    const absl::Duration began = ProcessCpu();
    for (int i = 0; i < kBlock; ++i) {
      message_.mutable_push_done()->set_iteration(++iteration_);
      CHECK(stream_->Write(message_));
      CHECK(stream_->Read(&command_));
    }
    cpu_ += ProcessCpu() - began;
  }
  // Of one round trip.
  double Microseconds() const {
    return absl::ToDoubleMicroseconds(cpu_) / static_cast<double>(iteration_);
  }

 private:
  GrantingFleet fleet_;
  ListeningServer listening_;
  std::unique_ptr<v1::Fleet::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::WorkerMessage, v1::WorkerCommand>>
      stream_;
  v1::WorkerMessage message_;
  v1::WorkerCommand command_;
  int64_t iteration_ = 0;
  absl::Duration cpu_;
};

void BM_ControlStream(benchmark::State& state) {
  prometheus::Registry registry;
  RpcMetrics metrics(registry, {"paceline.v1.Fleet"});
  Connection plain(nullptr);
  Connection counted(&metrics);
  for (auto _ : state) {
    plain.RoundTrips();
    counted.RoundTrips();
  }
  const double more = counted.Microseconds() - plain.Microseconds();
  state.counters["plain_us"] = plain.Microseconds();
  state.counters["counted_us"] = counted.Microseconds();
  state.counters["counted_to_plain"] =
      counted.Microseconds() / plain.Microseconds();
  state.counters["percent_of_1ms"] = more / 10;
}
BENCHMARK(BM_ControlStream)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace paceline
