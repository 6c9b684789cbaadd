#ifndef PACELINE_SERVICES_COORDINATOR_LEADERSHIP_TERM_FILE_H_
#define PACELINE_SERVICES_COORDINATOR_LEADERSHIP_TERM_FILE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/coordinator/leadership/election.h"

namespace paceline {

// What a coordinator's store is, beside it: FILE.term, "led 7" or "followed 7".
// It is on the disk when a call returns. Thread-compatible.
class TermFile {
 public:
  explicit TermFile(std::string store)
      : store_(std::move(store)), path_(store_ + ".term") {}

  // DATA_LOSS if the file says something else; the errors of reading.
  absl::StatusOr<Election::Own> Read() const;
  // The store leads in that term.
  absl::Status Led(uint64_t term) const;
  // It has all that another one has written in that term.
  absl::Status Followed(uint64_t term) const;

 private:
  absl::Status Write(const std::string& text) const;

  const std::string store_;
  const std::string path_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_LEADERSHIP_TERM_FILE_H_
