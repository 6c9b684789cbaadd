// Memory that another process has made and goes on writing, as both ends of a
// lane see it.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/lane/memory_lane.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

constexpr size_t kLeast = 4096 + 2 * (size_t{64} << 10);

// Of an input's first number: no memory was handed over beside the lane's own.
constexpr uint32_t kAlone = uint32_t{1} << 31;

// What the other process has mapped as well.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    fd_.Reset(memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    CHECK(ftruncate(fd_.get(), static_cast<off_t>(bytes)) == 0);
    CHECK(fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    if (bytes == 0) return;
    data_ = static_cast<char*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
    CHECK(data_ != MAP_FAILED);
  }
  ~Memory() {
    if (bytes_ > 0) munmap(data_, bytes_);
  }

  UniqueFd fd() const { return UniqueFd(dup(fd_.get())); }
  void Write(size_t at, absl::string_view bytes) {
    if (at < bytes_) {
      std::memcpy(data_ + at, bytes.data(),
                  std::min(bytes.size(), bytes_ - at));
    }
  }

 private:
  UniqueFd fd_;
  const size_t bytes_;
  char* data_ = nullptr;
};

void Act(FuzzInput& fuzz, Memory& memory, MemoryLane& lane) {
  switch (fuzz.Byte() % 4) {
    case 0:  // The header, above all.
      memory.Write(fuzz.Number<uint16_t>() % 256, fuzz.Bytes(8));
      break;
    case 1: {
      const std::string bytes(fuzz.Number<uint16_t>(), 'x');
      const auto lent = lane.Lend({bytes});
      CHECK(!lent.has_value() || lent->length == bytes.size());
      break;
    }
    case 2:
    case 3: {
      const Lent lent = {fuzz.Number<uint64_t>(), fuzz.Number<uint32_t>(),
                         fuzz.Number<uint64_t>() % 4};
      const auto bytes = lane.Look(lent);
      ExpectInvalidArgument(bytes.status());
      if (!bytes.ok()) break;
      CHECK(bytes->size() == lent.length);
      // Reads it all.
      static_cast<void>(std::accumulate(bytes->begin(), bytes->end(), 0));
      CHECK(lane.Stood(lent) || lent.reference > 0);
      lane.GiveBack(lent);
    }
  }
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const auto number = [](auto value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  const std::string sound = number(uint32_t{kLeast});
  const std::string lend = '\x01' + number(uint16_t{60'000});
  const std::string look = '\x02' + number(uint64_t{64}) +
                           number(uint32_t{100}) + number(uint64_t{0});
  const std::string refer = '\x02' + number(uint64_t{64}) +
                            number(uint32_t{100}) + number(uint64_t{1});
  const std::string nothing =
      '\x02' + number(uint64_t{0}) + number(uint32_t{0}) + number(uint64_t{1});
  return {sound + lend + look + lend,
          number(uint32_t{kLeast} | kAlone) + nothing,
          sound + refer + look,
          sound + '\0' + number(uint16_t{0}) + number(uint64_t{1} << 63) + lend,
          sound + '\x02' + number(~uint64_t{0}) + number(~uint32_t{0}),
          number(uint32_t{0}),
          number(uint32_t{kLeast + 128}) + lend,
          number(uint32_t{kLeast - 128}) + lend};
}

void FuzzOne(absl::string_view input) {
  FuzzInput fuzz(input);
  const auto first = fuzz.Number<uint32_t>();
  Memory memory((first & ~kAlone) % (2 * kLeast));
  static const std::unique_ptr<SharedMemory> handed_over =
      *SharedMemory::Create("fuzz", 200);
  std::unique_ptr<const SharedMemory> theirs;
  if ((first & kAlone) == 0) {
    theirs = *SharedMemory::Map(UniqueFd(dup(handed_over->fd())), 200,
                                SharedMemory::Access::kRead);
  }
  const auto lane = MemoryLane::Of(memory.fd(), std::move(theirs));
  ExpectInvalidArgument(lane.status());
  if (!lane.ok()) return;
  while (!fuzz.empty()) Act(fuzz, memory, **lane);
}

}  // namespace paceline
