#include "common/safetensors/safetensors_reader.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/safetensors/sha256.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr size_t kChunk = size_t{1} << 20;

}  // namespace

absl::StatusOr<SafetensorsReader> SafetensorsReader::Open(
    const std::string& path) {
  PACELINE_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  std::array<char, kSafetensorsPrefix> prefix;
  PACELINE_RETURN_IF_ERROR(file.Read(0, absl::MakeSpan(prefix)));
  const auto size =
      ParseHeaderSize({prefix.data(), prefix.size()}, file.size());
  if (!size.ok()) return Annotate(size.status(), path);
  std::string json(*size, '\0');
  PACELINE_RETURN_IF_ERROR(
      file.Read(kSafetensorsPrefix, absl::MakeSpan(json.data(), json.size())));
  const uint64_t data = kSafetensorsPrefix + *size;
  auto header = ParseSafetensorsHeader(json, file.size() - data);
  if (!header.ok()) return Annotate(header.status(), path);
  return SafetensorsReader(std::move(file), *std::move(header), data);
}

SafetensorsReader::SafetensorsReader(InputFile file, SafetensorsHeader header,
                                     uint64_t data)
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
  return file_.Read(data_ + tensor.begin + offset, out);
}

absl::StatusOr<WrittenFile> SafetensorsReader::Digest(
    const std::function<bool()>& cancelled) const {
  Sha256 sha256;
  std::string chunk(kChunk, '\0');
  for (uint64_t at = 0; at < file_.size(); at += kChunk) {
    if (cancelled()) return absl::CancelledError("no longer wanted");
    const size_t now = std::min<uint64_t>(kChunk, file_.size() - at);
    PACELINE_RETURN_IF_ERROR(file_.Read(at, absl::MakeSpan(chunk.data(), now)));
    sha256.Update({chunk.data(), now});
  }
  return WrittenFile{file_.size(), sha256.HexDigest()};
}

}  // namespace paceline
