#ifndef PACELINE_COMMON_RPC_STREAM_REGISTRY_H_
#define PACELINE_COMMON_RPC_STREAM_REGISTRY_H_

#include <map>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/session/session_point.h"

namespace paceline {

// A stream that can be told to end.
class OpenStream : public std::enable_shared_from_this<OpenStream> {
 public:
  virtual ~OpenStream() = default;
  // Only asks for it, as Send() below does: nothing is waited for.
  virtual void Close(const absl::Status& status) = 0;
  // False while it is known that nothing can come of it.
  virtual bool connected() const { return true; }
};

// One to which messages are sent.
template <class Message>
class OutgoingStream : public OpenStream {
 public:
  // Queues one message; dropped once the stream is closing. Thread-safe.
  virtual void Send(Message message) = 0;
  // Of one that is more than a stream: what it can go on from. Thread-safe.
  virtual SessionPoint session_point() const { return {}; }
};

// Owns the open streams of a server, so that it can end them all and wait until
// nothing inside gRPC refers to them any more. Thread-safe.
class StreamRegistry {
 public:
  // A stream that comes after CloseAll() is closed at once, with its status.
  void Add(std::shared_ptr<OpenStream> stream);
  void Remove(OpenStream* stream);

  void CloseAll(const absl::Status& status);

  // False if streams are still open after `timeout`.
  bool AwaitEmpty(absl::Duration timeout);

 private:
  absl::Mutex mu_;
  std::map<OpenStream*, std::shared_ptr<OpenStream>> open_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_STREAM_REGISTRY_H_
