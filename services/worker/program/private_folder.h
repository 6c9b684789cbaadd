#ifndef PACELINE_SERVICES_WORKER_PROGRAM_PRIVATE_FOLDER_H_
#define PACELINE_SERVICES_WORKER_PROGRAM_PRIVATE_FOLDER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace paceline {

// A new folder for a socket, that nobody else can look into. Thread-compatible.
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
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_PRIVATE_FOLDER_H_
