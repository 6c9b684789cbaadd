#ifndef PACELINE_COMMON_LANE_MEMORY_LANE_H_
#define PACELINE_COMMON_LANE_MEMORY_LANE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/lane/shared_memory.h"

namespace paceline {

// Bytes that lie in a lane.
struct Lent {
  uint64_t position = 0;
  uint32_t length = 0;
};

// Memory through which two processes of one machine hand each other the bytes
// of their messages, while the messages themselves go over a stream: a ring for
// each direction. Whoever sends copies bytes into its ring and names their
// place in the message. Whoever receives reads them there and gives the place
// back, in the order of the messages. Without room the bytes go into the
// message, so nobody ever waits for the other.
//
// Neither end trusts the other: what one writes outside the rules spoils what
// it is sent, and nothing else. Bytes that were lent may change while they are
// read. Who must not see that copies them first.
//
// Lend() belongs to one thread at a time, and so do Look() and GiveBack()
// together; the two may run side by side.
class MemoryLane {
 public:
  // Two rings, each of twice `bytes`, but of 64 KiB at least and 8 MiB at most:
  // then messages of `bytes` in all find room at once, if they are no crumbs.
  // RESOURCE_EXHAUSTED without memory.
  static absl::StatusOr<std::unique_ptr<MemoryLane>> Make(uint64_t bytes);
  // The other end of a lane that another process has made. INVALID_ARGUMENT if
  // it is none; RESOURCE_EXHAUSTED without address space.
  static absl::StatusOr<std::unique_ptr<MemoryLane>> Of(UniqueFd fd);

  // The descriptor of the memory, of a lane that was made here, until it is
  // closed. What is mapped stays.
  int fd() const { return memory_->fd(); }
  void CloseDescriptor() { memory_->CloseDescriptor(); }

  // Copies the bytes, which may come in pieces. Nothing if there is no room.
  std::optional<Lent> Lend(absl::Span<const absl::string_view> pieces);

  // What the other end has lent: INVALID_ARGUMENT if it lies in no ring.
  absl::StatusOr<absl::string_view> Look(const Lent& lent) const;
  // It is read, and so is what was lent before.
  void GiveBack(const Lent& lent);

 private:
  enum class End : uint8_t { kMade, kTaken };
  // What the reader of a ring tells its writer.
  struct Header {
    // Whoever takes turns at one of them leaves the other's line alone.
    alignas(64) std::atomic<uint64_t> given_back;
  };

  MemoryLane(std::unique_ptr<SharedMemory> memory, End end);

  std::unique_ptr<SharedMemory> memory_;
  const uint64_t ring_bytes_;
  Header* const lending_header_;
  char* const lending_;
  Header* const reading_header_;
  const char* const reading_;
  uint64_t lent_ = 0;  // Up to where; grows for ever.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_LANE_MEMORY_LANE_H_
