#ifndef PACELINE_SERVICES_CLI_RUN_FILES_H_
#define PACELINE_SERVICES_CLI_RUN_FILES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

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

// Where a comparison leaves its logs when nobody names a place:
// "./paceline-runs/20260131-154500-4711".
std::string DefaultRunDirectory(absl::Time now, absl::TimeZone zone, int pid);

// The folder of run `number`, from 1, inside a run directory:
// "2-dssp-lower-3-upper-15".
std::string RunFolderName(int number, absl::string_view paradigm);

// The checkpoint that a job has left at its end below the folder of its run;
// empty if there is none. It is called "final-...".
std::string FinalCheckpointIn(const std::string& folder);

// Makes a folder and those it lies in. INVALID_ARGUMENT if that is impossible,
// because the path is the user's choice.
absl::Status MakeFolder(const std::string& path);

// Writes a whole file, or leaves what was there: whoever waits for the file
// never sees half of it. INTERNAL if it cannot be written.
absl::Status WriteWholeFile(const std::string& path, absl::string_view content);

// The last lines of a file that are not empty, at most `count` of them and 300
// bytes of each; what is more than 16 KiB before the end is not looked at.
std::vector<std::string> LastLinesOf(const std::string& path, size_t count);

// The last one; empty if there is none.
std::string LastLine(const std::string& path);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_RUN_FILES_H_
