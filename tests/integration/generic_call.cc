#include "tests/integration/generic_call.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include "absl/time/clock.h"
#include "common/check.h"
#include "common/rpc/grpc_status.h"

namespace paceline {
namespace {

// Ends only what would hang.
constexpr absl::Duration kDeadline = absl::Minutes(2);

// Whether the one operation that is under way went well.
bool Await(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  CHECK(queue.Next(&tag, &ok));  // Every operation ends by the deadline.
  return ok;
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  CHECK(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> CallGenerically(
    const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
    const std::string& request, const std::vector<std::string>& authorization) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kDeadline));
  for (const std::string& value : authorization) {
    context.AddMetadata("authorization", value);
  }
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel);
  // On the wire every method is a stream in both directions.
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  Await(queue);
  const grpc::Slice slice(request);
  call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  Await(queue);  // May fail: a refusal does not wait for the message.
  grpc::ByteBuffer response;
  call->Read(&response, nullptr);
  const bool answered = Await(queue);
  // The stream may go on for as long as the server lives.
  if (answered) context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  Await(queue);
  queue.Shutdown();
  if (answered) return BytesOf(response);
  if (status.ok()) return absl::NotFoundError("ended without a message");
  return FromGrpc(status);
}

}  // namespace paceline
