#include "common/safetensors/safetensors_writer.h"

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/status.h"

namespace paceline {

absl::StatusOr<SafetensorsWriter> SafetensorsWriter::Create(
    const std::string& path, const std::map<std::string, std::string>& metadata,
    std::vector<SafetensorsTensor> tensors) {
  PACELINE_ASSIGN_OR_RETURN(
      const std::string head,
      FormatSafetensorsHeader(metadata, absl::MakeSpan(tensors)));
  PACELINE_ASSIGN_OR_RETURN(DurableFile file, DurableFile::Create(path));
  PACELINE_RETURN_IF_ERROR(file.Write(head));
  const uint64_t bytes = tensors.empty() ? 0 : tensors.back().end;
  return SafetensorsWriter(std::move(file), bytes);
}

absl::Status SafetensorsWriter::Append(absl::string_view bytes) {
  if (bytes.size() > missing_) {
    return absl::InvalidArgumentError(
        absl::StrCat("safetensors: ", bytes.size(), " bytes come where ",
                     missing_, " are missing"));
  }
  missing_ -= bytes.size();
  return file_.Write(bytes);
}

absl::StatusOr<WrittenFile> SafetensorsWriter::Commit() {
  if (missing_ > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("safetensors: ", missing_, " bytes are missing"));
  }
  return file_.Commit();
}

}  // namespace paceline
