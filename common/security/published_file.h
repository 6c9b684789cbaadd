#ifndef PACELINE_COMMON_SECURITY_PUBLISHED_FILE_H_
#define PACELINE_COMMON_SECURITY_PUBLISHED_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// A text that others in this process read by a path, and that lies in memory
// alone: a key must reach no disk. Whoever opens the path gets the text of the
// first or of a later Publish(), never a part of one.
//
// The path stays good until the process ends, whatever becomes of this object:
// gRPC, which reads it, does not tell when it is through. Thread-compatible.
class PublishedFile {
 public:
  // UNAVAILABLE if the system has no descriptors or memory left.
  static absl::StatusOr<PublishedFile> Make(absl::string_view text);

  absl::Status Publish(absl::string_view text);

  std::string path() const;

 private:
  explicit PublishedFile(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_PUBLISHED_FILE_H_
