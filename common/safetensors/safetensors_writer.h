#ifndef PACELINE_COMMON_SAFETENSORS_SAFETENSORS_WRITER_H_
#define PACELINE_COMMON_SAFETENSORS_SAFETENSORS_WRITER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/safetensors/durable_file.h"
#include "common/safetensors/safetensors_header.h"

namespace paceline {

// Writes one safetensors file from front to back: the tensors are named first,
// then their bytes follow in that order, from where they lie. The file is there
// after Commit(), whole, and not before. Movable. Thread-compatible.
class SafetensorsWriter {
 public:
  // Errors as DurableFile::Create() and FormatSafetensorsHeader().
  static absl::StatusOr<SafetensorsWriter> Create(
      const std::string& path,
      const std::map<std::string, std::string>& metadata,
      std::vector<SafetensorsTensor> tensors);

  // The next bytes, which may end anywhere. INVALID_ARGUMENT if there are more
  // than the tensors have; otherwise as DurableFile::Write().
  absl::Status Append(absl::string_view bytes);

  // FAILED_PRECONDITION if bytes are missing; otherwise as
  // DurableFile::Commit(). Called once, last.
  absl::StatusOr<WrittenFile> Commit();

 private:
  SafetensorsWriter(DurableFile file, uint64_t missing)
      : file_(std::move(file)), missing_(missing) {}

  DurableFile file_;
  uint64_t missing_;  // Bytes of tensors, still to come.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SAFETENSORS_SAFETENSORS_WRITER_H_
