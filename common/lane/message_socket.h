#ifndef PACELINE_COMMON_LANE_MESSAGE_SOCKET_H_
#define PACELINE_COMMON_LANE_MESSAGE_SOCKET_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "common/unique_fd.h"

namespace paceline {

// One end of a pair of sockets, by which two processes of one machine send each
// other messages, in order. A message costs a call of the system at either end
// and wakes up one thread, that of the end that receives it. Each is preceded
// by its length, of four bytes.
//
// Neither end trusts the other: what one sends outside the rules ends what the
// other reads, and nothing else.
//
// Thread-safe, but for Send().
class MessageSocket {
 public:
  // All are called by the socket's own thread, one at a time, and must not wait
  // for long. They must not destroy the socket.
  struct Handlers {
    // The bytes are there up to the return.
    std::function<void(absl::string_view message)> on_message;
    // What Send() could not send at once has gone out, or never will.
    std::function<void()> on_sent;
    // After Nudge().
    std::function<void()> on_nudged;
    // Nothing comes any more. OK: the other end is closed; RESOURCE_EXHAUSTED
    // for a message that is longer than allowed.
    std::function<void(const absl::Status&)> on_end;
  };

  // Two ends that are connected. UNAVAILABLE as the system says.
  static absl::StatusOr<std::array<UniqueFd, 2>> Pair();
  // Whether the descriptor is an end of a pair that a process of this user has
  // made.
  static bool IsEnd(int fd);

  // What a socket is made of.
  struct Parts {
    UniqueFd end;    // Of a pair.
    UniqueFd woken;  // An eventfd.

    bool valid() const { return end.valid() && woken.valid(); }
  };
  // Not valid where the system has no more descriptors.
  static Parts PartsOf(UniqueFd end);

  // Takes messages of `most` bytes at most. Nothing is read before ReadOn().
  // REQUIRES: the parts are valid.
  MessageSocket(Parts parts, size_t most, Handlers handlers);
  // As Stop(), if that was not called.
  ~MessageSocket();
  MessageSocket(const MessageSocket&) = delete;
  MessageSocket& operator=(const MessageSocket&) = delete;

  // Sends a message. False: not all of it has found room. It goes on by itself
  // then, the bytes must stay as they are until `on_sent`, and nothing may be
  // sent before that. By one thread at a time.
  bool Send(absl::Span<const absl::string_view> pieces);

  // Reads on, or stops after the message in hand.
  void ReadOn() ABSL_LOCKS_EXCLUDED(mu_);
  void Pause() ABSL_LOCKS_EXCLUDED(mu_);

  // Has `on_nudged` called soon.
  void Nudge() ABSL_LOCKS_EXCLUDED(mu_);

  // Nothing is read any more, and what is sent goes nowhere. Waits for nothing.
  void End() ABSL_LOCKS_EXCLUDED(mu_);
  // The same, and waits for the handler that runs. Once, and not in a handler.
  void Stop();

 private:
  static constexpr size_t kLengthBytes = sizeof(uint32_t);

  void Wake() const;
  void Run();
  // What is to be waited for. False: the socket has ended.
  bool Next(int16_t& events) ABSL_LOCKS_EXCLUDED(mu_);
  void SendMore() ABSL_LOCKS_EXCLUDED(mu_);
  void Receive();
  void HandOut();
  bool reading() ABSL_LOCKS_EXCLUDED(mu_);
  void EndReading(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);
  // How many bytes of the pieces went out; all, if nobody will read them.
  size_t SendSome(absl::Span<const absl::string_view> pieces) const;

  const Parts parts_;
  const size_t most_;
  const Handlers handlers_;

  std::array<char, kLengthBytes> length_;  // Of what is being sent.

  // Of the thread: bytes that have come, and where those begin and end that
  // were not handed out.
  std::vector<char> received_;
  size_t begin_ = 0;
  size_t end_ = 0;

  absl::Mutex mu_;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  bool reading_ ABSL_GUARDED_BY(mu_) = false;
  bool open_ ABSL_GUARDED_BY(mu_) = true;  // Something may come yet.
  bool nudged_ ABSL_GUARDED_BY(mu_) = false;
  // Of the message that did not find room.
  std::vector<absl::string_view> unsent_ ABSL_GUARDED_BY(mu_);
  std::atomic<std::thread::id> reader_;  // The thread, once it runs.
  std::thread thread_;                   // Last: it uses everything above.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_LANE_MESSAGE_SOCKET_H_
