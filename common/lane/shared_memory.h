#ifndef PACELINE_COMMON_LANE_SHARED_MEMORY_H_
#define PACELINE_COMMON_LANE_SHARED_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace paceline {

// Memory that another process can map as well, and that neither can shrink or
// grow under the other. Thread-compatible.
class SharedMemory {
 public:
  // Zeros. `name` is for /proc. RESOURCE_EXHAUSTED without memory, address
  // space or descriptors for it.
  static absl::StatusOr<std::unique_ptr<SharedMemory>> Create(
      const std::string& name, uint64_t bytes);
  // The same, but it takes memory only where it is written first, and the
  // descriptor is open for reading alone: a process of this user can open it
  // anew, and no mistake does.
  static absl::StatusOr<std::unique_ptr<SharedMemory>> Reserve(
      const std::string& name, uint64_t bytes);
  enum class Access : uint8_t { kRead, kReadAndWrite };
  // What another process has created, by its descriptor. INVALID_ARGUMENT if it
  // is anything that could shrink, or larger than `most`; RESOURCE_EXHAUSTED
  // without address space.
  static absl::StatusOr<std::unique_ptr<SharedMemory>> Map(
      UniqueFd fd, uint64_t most, Access access = Access::kReadAndWrite);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // Of memory that is mapped to be read, nothing may be written there.
  char* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }  // At least 1.
  int fd() const { return fd_.get(); }
  // What is mapped stays.
  void CloseDescriptor() { fd_.Reset(); }

 private:
  SharedMemory(UniqueFd fd, char* data, uint64_t bytes)
      : fd_(std::move(fd)), data_(data), bytes_(bytes) {}

  static absl::StatusOr<std::unique_ptr<SharedMemory>> MapAll(UniqueFd fd,
                                                              uint64_t bytes,
                                                              Access access);

  UniqueFd fd_;
  char* const data_;
  const uint64_t bytes_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_LANE_SHARED_MEMORY_H_
