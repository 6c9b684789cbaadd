#ifndef PACELINE_SERVICES_CLI_LINE_READER_H_
#define PACELINE_SERVICES_CLI_LINE_READER_H_

#include <string>
#include <vector>

namespace paceline {

// Cuts what can be read from a descriptor that does not block into lines.
// Thread-compatible.
class LineReader {
 public:
  // The longest line that is kept; a longer one is cut off there.
  static constexpr size_t kLineBytesMax = 64 << 20;

  // Does not own the descriptor.
  explicit LineReader(int fd) : fd_(fd) {}

  // The whole lines that have arrived, without their ends. A last line without
  // an end counts once the writer has closed.
  std::vector<std::string> Read();

  // The writer has closed, or reading failed: no more will come.
  bool at_end() const { return at_end_; }

 private:
  void Take(const char* data, size_t size, std::vector<std::string>& lines);

  int fd_;
  bool at_end_ = false;
  std::string partial_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_LINE_READER_H_
