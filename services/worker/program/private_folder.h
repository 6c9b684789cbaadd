#ifndef PACELINE_SERVICES_WORKER_PROGRAM_PRIVATE_FOLDER_H_
#define PACELINE_SERVICES_WORKER_PROGRAM_PRIVATE_FOLDER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace paceline {

// A new folder for a socket, that nobody else can look into. Thread-compatible.
//
// A process that is killed removes nothing. So the owner holds a lock of its
// folder, which the kernel lets go when the process dies, and whoever makes the
// next folder removes those of this user that nobody holds.
class PrivateFolder {
 public:
  // As the system says, with the path, if it cannot be made.
  static absl::StatusOr<std::unique_ptr<PrivateFolder>> Make();
  // Removes it with all that is in it.
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  PrivateFolder(std::string path, UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  const UniqueFd lock_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_PRIVATE_FOLDER_H_
