#include "services/coordinator/store/log_frames.h"

#include <cstddef>
#include <fstream>
#include <vector>

namespace paceline {
namespace {

// https://www.sqlite.org/fileformat2.html#walformat
constexpr size_t kHeaderBytes = 32;
constexpr size_t kFrameHeaderBytes = 24;
constexpr uint32_t kMagic = 0x377f0682;  // + 1: big-endian checksums.
constexpr uint32_t kMaxPage = 65536;

using Bytes = std::vector<unsigned char>;

bool Fill(std::istream& from, Bytes& bytes) {
  from.read(reinterpret_cast<char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  return from.good();
}

uint32_t Big(const Bytes& bytes, size_t at) {
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 |
         uint32_t{bytes[at + 2]} << 8 | uint32_t{bytes[at + 3]};
}

uint32_t Little(const Bytes& bytes, size_t at) {
  return uint32_t{bytes[at + 3]} << 24 | uint32_t{bytes[at + 2]} << 16 |
         uint32_t{bytes[at + 1]} << 8 | uint32_t{bytes[at]};
}

class Checksum {
 public:
  explicit Checksum(bool big) : big_(big) {}

  void Add(const Bytes& bytes, size_t begin, size_t end) {
    for (size_t at = begin; at < end; at += 8) {
      first_ += Word(bytes, at) + second_;
      second_ += Word(bytes, at + 4) + first_;
    }
  }
  bool Is(const Bytes& bytes, size_t at) const {
    return Big(bytes, at) == first_ && Big(bytes, at + 4) == second_;
  }

 private:
  uint32_t Word(const Bytes& bytes, size_t at) const {
    return big_ ? Big(bytes, at) : Little(bytes, at);
  }

  const bool big_;
  uint32_t first_ = 0;
  uint32_t second_ = 0;
};

LogSalts SaltsAt(const Bytes& bytes, size_t at) {
  return {Big(bytes, at), Big(bytes, at + 4)};
}

}  // namespace

std::optional<LogFrames> ReadLogFrames(const std::string& path, int64_t most) {
  std::ifstream file(path, std::ios::binary);
  Bytes header(kHeaderBytes);
  if (!Fill(file, header) || (Big(header, 0) & ~1u) != kMagic) {
    return std::nullopt;
  }
  Checksum checksum((Big(header, 0) & 1) != 0);
  checksum.Add(header, 0, kHeaderBytes - 8);
  const uint32_t page = Big(header, 8);
  if (!checksum.Is(header, kHeaderBytes - 8) || page == 0 || page % 8 != 0 ||
      page > kMaxPage) {
    return std::nullopt;
  }
  LogFrames frames = {.salts = SaltsAt(header, 16)};
  Bytes frame(kFrameHeaderBytes + page);
  while (frames.sound < most && Fill(file, frame)) {
    checksum.Add(frame, 0, 8);
    checksum.Add(frame, kFrameHeaderBytes, frame.size());
    if (SaltsAt(frame, 8) != frames.salts || !checksum.Is(frame, 16)) break;
    ++frames.sound;
  }
  return frames;
}

}  // namespace paceline
