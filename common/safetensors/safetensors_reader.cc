#include "common/safetensors/safetensors_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/check.h"
#include "common/safetensors/durable_file.h"
#include "common/safetensors/input_file.h"
#include "common/safetensors/sha256.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr size_t kChunk = size_t{1} << 20;

}  // namespace

absl::StatusOr<SafetensorsReader> SafetensorsReader::Open(
    const std::string& path) {
  PACELINE_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  return Open(std::make_unique<InputFile>(std::move(file)));
}

absl::StatusOr<SafetensorsReader> SafetensorsReader::Open(
    std::unique_ptr<ByteSource> file) {
  const std::string& path = file->path();
  std::array<char, kSafetensorsPrefix> prefix;
  PACELINE_RETURN_IF_ERROR(file->Read(0, absl::MakeSpan(prefix)));
  PACELINE_ASSIGN_OR_RETURN(
      const uint64_t size,
      Annotate(ParseHeaderSize({prefix.data(), prefix.size()}, file->size()),
               path));
  std::string json(size, '\0');
  PACELINE_RETURN_IF_ERROR(
      file->Read(kSafetensorsPrefix, absl::MakeSpan(json.data(), json.size())));
  const uint64_t data = kSafetensorsPrefix + size;
  PACELINE_ASSIGN_OR_RETURN(
      SafetensorsHeader header,
      Annotate(ParseSafetensorsHeader(json, file->size() - data), path));
  return SafetensorsReader(std::move(file), std::move(header), data);
}

SafetensorsReader::SafetensorsReader(std::unique_ptr<ByteSource> file,
                                     SafetensorsHeader header, uint64_t data)
    : file_(std::move(file)), header_(std::move(header)), data_(data) {
  for (size_t i = 0; i < header_.tensors.size(); ++i) {
    index_by_name_.emplace(header_.tensors[i].name, i);
  }
}

const SafetensorsTensor* SafetensorsReader::Find(absl::string_view name) const {
  const auto found = index_by_name_.find(name);
  if (found == index_by_name_.end()) return nullptr;
  return &header_.tensors[found->second];
}

absl::Status SafetensorsReader::Read(const SafetensorsTensor& tensor,
                                     uint64_t offset,
                                     absl::Span<char> out) const {
  const uint64_t bytes = tensor.end - tensor.begin;
  CHECK(offset <= bytes && out.size() <= bytes - offset);
  return file_->Read(data_ + tensor.begin + offset, out);
}

absl::StatusOr<WrittenFile> SafetensorsReader::Digest(
    const std::function<bool()>& cancelled) const {
  Sha256 sha256;
  std::string chunk(kChunk, '\0');
  for (uint64_t at = 0; at < file_->size(); at += kChunk) {
    if (cancelled()) return absl::CancelledError("no longer wanted");
    const size_t now = std::min<uint64_t>(kChunk, file_->size() - at);
    PACELINE_RETURN_IF_ERROR(
        file_->Read(at, absl::MakeSpan(chunk.data(), now)));
    sha256.Update({chunk.data(), now});
  }
  return WrittenFile{file_->size(), sha256.HexDigest()};
}

absl::StatusOr<SafetensorsWriter> SafetensorsWriter::Create(
    const std::string& path, const std::map<std::string, std::string>& metadata,
    std::vector<SafetensorsTensor> tensors) {
  return Create(
      [&path](uint64_t) -> absl::StatusOr<std::unique_ptr<ByteSink>> {
        PACELINE_ASSIGN_OR_RETURN(DurableFile file, DurableFile::Create(path));
        return std::make_unique<DurableFile>(std::move(file));
      },
      metadata, std::move(tensors));
}

absl::StatusOr<SafetensorsWriter> SafetensorsWriter::Create(
    const MakeFile& make_file,
    const std::map<std::string, std::string>& metadata,
    std::vector<SafetensorsTensor> tensors) {
  PACELINE_ASSIGN_OR_RETURN(
      const std::string head,
      FormatSafetensorsHeader(metadata, absl::MakeSpan(tensors)));
  const uint64_t bytes = tensors.empty() ? 0 : tensors.back().end;
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<ByteSink> file,
                            make_file(head.size() + bytes));
  PACELINE_RETURN_IF_ERROR(file->Write(head));
  return SafetensorsWriter(std::move(file), bytes);
}

absl::Status SafetensorsWriter::Append(absl::string_view bytes) {
  if (bytes.size() > missing_) {
    return absl::InvalidArgumentError(
        absl::StrCat("safetensors: ", bytes.size(), " bytes come where ",
                     missing_, " are missing"));
  }
  missing_ -= bytes.size();
  return file_->Write(bytes);
}

absl::StatusOr<WrittenFile> SafetensorsWriter::Commit() {
  if (missing_ > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("safetensors: ", missing_, " bytes are missing"));
  }
  return file_->Commit();
}

}  // namespace paceline
