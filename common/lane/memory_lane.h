#ifndef PACELINE_COMMON_LANE_MEMORY_LANE_H_
#define PACELINE_COMMON_LANE_MEMORY_LANE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/lane/message_socket.h"
#include "common/lane/shared_memory.h"

namespace paceline {

// Bytes that lie in a lane: in a ring, or where they are referred to.
struct Lent {
  uint64_t position = 0;
  uint32_t length = 0;
  // 0: in the ring. Otherwise the how manieth reference of that end it is; its
  // position is that in the memory that the end has handed over.
  uint64_t reference = 0;
};

// Memory through which two processes of one machine hand each other the bytes
// of their messages, while the messages themselves go over a stream: a ring for
// each direction. Whoever sends copies bytes into its ring and names their
// place in the message. Whoever receives reads them there and gives the place
// back, in the order of the messages. Without room the bytes go into the
// message, so nobody ever waits for the other.
//
// An end may also hand over memory of its own, for the other to read. What lies
// there is not copied: the message refers to it, and it stays as it is until
// the exchange is over that the message is of, or until it is withdrawn. So it
// is read first, and then asked whether it stood until then: a reader may be
// slow, or have been replaced and not know yet.
//
// Neither end trusts the other: what one writes outside the rules spoils what
// it is sent, and nothing else. Bytes that were lent may change while they are
// read. Who must not see that copies them first.
//
// Lend(), Refer() and Withdraw() belong to one thread at a time, and so do
// Look(), Stood() and GiveBack() together; the two may run side by side.
class MemoryLane {
 public:
  // Two rings, each of twice `bytes`, but of 64 KiB at least and 8 MiB at most:
  // then messages of `bytes` in all find room at once, if they are no crumbs.
  // RESOURCE_EXHAUSTED without memory.
  static absl::StatusOr<std::unique_ptr<MemoryLane>> Make(uint64_t bytes);
  // The other end of a lane that another process has made. INVALID_ARGUMENT if
  // it is none; RESOURCE_EXHAUSTED without address space. `theirs`: memory that
  // it refers to, or null.
  static absl::StatusOr<std::unique_ptr<MemoryLane>> Of(
      UniqueFd fd, std::unique_ptr<const SharedMemory> theirs = nullptr);

  // The descriptor of the memory, of a lane that was made here, until it is
  // closed. What is mapped stays.
  int fd() const { return memory_->fd(); }
  void CloseDescriptor() { memory_->CloseDescriptor(); }

  // Copies the bytes, which may come in pieces. Nothing if there is no room.
  std::optional<Lent> Lend(absl::Span<const absl::string_view> pieces);

  // The other end has this memory too, from now on.
  void ReferTo(std::shared_ptr<const SharedMemory> own) {
    own_ = std::move(own);
  }
  // Nothing if the bytes do not lie in such memory.
  std::optional<Lent> Refer(absl::string_view bytes);
  // What has been referred to so far may change from now on.
  void Withdraw();

  // The other end's memory, to which it may refer.  REQUIRES: nothing has been
  // looked at yet.
  void Take(std::unique_ptr<const SharedMemory> theirs) {
    theirs_ = std::move(theirs);
  }
  // Whether the other end may refer to memory of its own.
  bool has_theirs() const { return theirs_ != nullptr; }
  // What a socket is made of that has come with the lane. Not valid: there is
  // none, or it was taken already.
  void Take(MessageSocket::Parts socket) { socket_ = std::move(socket); }
  MessageSocket::Parts TakeSocket() { return std::move(socket_); }
  bool has_socket() const { return socket_.valid(); }

  // What the other end has lent: INVALID_ARGUMENT if it lies in no ring, and
  // in no memory that the end has handed over.
  absl::StatusOr<absl::string_view> Look(const Lent& lent) const;
  // Whether what was read of it until now was as the other end had lent it.
  bool Stood(const Lent& lent) const;
  // It is read, and so is what was lent before in the ring.
  void GiveBack(const Lent& lent);

 private:
  enum class End : uint8_t { kMade, kTaken };
  // What one end tells the other beside the messages. Whoever takes turns at
  // one of them leaves the other's line alone.
  struct Word {
    alignas(64) std::atomic<uint64_t> value;
  };
  // At the front of the memory, of the ring that the lane's maker lends in, or
  // of what it refers to, and then of the other end's.
  struct Header {
    Word given_back[2];  // The reader's: up to where.
    Word withdrawn[2];   // The lender's: up to which reference.
  };

  MemoryLane(std::unique_ptr<SharedMemory> memory,
             std::unique_ptr<const SharedMemory> theirs, End end);

  std::unique_ptr<SharedMemory> memory_;
  std::shared_ptr<const SharedMemory> own_;     // May be null.
  std::unique_ptr<const SharedMemory> theirs_;  // May be null.
  MessageSocket::Parts socket_;
  const uint64_t ring_bytes_;
  Header& header_;
  const size_t mine_;  // The index of what this end lends.
  char* const lending_;
  const char* const reading_;
  uint64_t lent_ = 0;      // Up to where; grows for ever.
  uint64_t referred_ = 0;  // References so far.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_LANE_MEMORY_LANE_H_
