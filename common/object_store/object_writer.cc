#include "common/object_store/object_writer.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status.h"

namespace paceline {
namespace {

// A store takes parts of 5 MiB to 5 GiB, and 10,000 of them.
constexpr size_t kUsualPart = size_t{16} << 20;
constexpr int kMostParts = 10'000;
// Leaves room for a guess that was a little low.
constexpr uint64_t kPlannedParts = 9'000;
constexpr size_t kMostUnderWay = 3;

std::string DrawMark() {
  std::random_device device;
  return absl::StrFormat("%08x%08x%08x%08x", device(), device(), device(),
                         device());
}

}  // namespace

size_t PartBytes(uint64_t bytes) {
  return std::max<uint64_t>(kUsualPart, bytes / kPlannedParts + 1);
}

ObjectWriter::ObjectWriter(S3Client* client, S3Uri object, uint64_t bytes)
    : client_(client),
      object_(std::move(object)),
      part_bytes_(PartBytes(bytes)) {}

ObjectWriter::~ObjectWriter() {
  if (upload_.empty()) return;
  for (const auto& part : under_way_) part.wait();
  // Nobody takes parts for an object. Where this fails, what deletes the
  // checkpoint tries again, and a rule of the bucket may.
  client_->AbortUpload(object_, upload_).IgnoreError();
}

absl::Status ObjectWriter::Write(absl::string_view bytes) {
  sha256_.Update(bytes);
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    // Only when more comes: what fits into one part goes in one call.
    if (buffer_.size() == part_bytes_) PACELINE_RETURN_IF_ERROR(SendPart());
    const size_t now = std::min(bytes.size(), part_bytes_ - buffer_.size());
    buffer_.append(bytes.data(), now);
    bytes.remove_prefix(now);
  }
  return absl::OkStatus();
}

absl::Status ObjectWriter::SendPart() {
  if (parts_sent_ == kMostParts) {
    return absl::ResourceExhaustedError(
        absl::StrCat(FormatS3Uri(object_), " would have more than ", kMostParts,
                     " parts of ", part_bytes_, " bytes"));
  }
  if (upload_.empty()) {
    mark_ = DrawMark();
    PACELINE_ASSIGN_OR_RETURN(upload_, client_->BeginUpload(object_, mark_));
  }
  if (under_way_.size() == kMostUnderWay) PACELINE_RETURN_IF_ERROR(AwaitPart());
  under_way_.push_back(
      std::async(std::launch::async,
                 [client = client_, object = object_, upload = upload_,
                  number = ++parts_sent_, part = std::exchange(buffer_, {})] {
                   return client->PutPart(object, upload, number, part);
                 }));
  return absl::OkStatus();
}

absl::Status ObjectWriter::AwaitPart() {
  absl::StatusOr<std::string> tag = under_way_.front().get();
  under_way_.pop_front();
  PACELINE_RETURN_IF_ERROR(tag.status());
  tags_.push_back(*std::move(tag));
  return absl::OkStatus();
}

absl::Status ObjectWriter::Complete() {
  PACELINE_RETURN_IF_ERROR(SendPart());
  while (!under_way_.empty()) PACELINE_RETURN_IF_ERROR(AwaitPart());
  const absl::Status completed =
      client_->CompleteUpload(object_, upload_, tags_);
  // A try of before may have done it, and only its answer was lost.
  if (!completed.ok()) {
    const absl::StatusOr<ObjectInfo> found = client_->Head(object_);
    if (!found.ok() || found->mark != mark_ || found->bytes != bytes_) {
      return completed;
    }
  }
  upload_.clear();
  return absl::OkStatus();
}

absl::StatusOr<WrittenFile> ObjectWriter::Commit() {
  PACELINE_RETURN_IF_ERROR(upload_.empty()
                               ? client_->Put(object_, buffer_, Patience::kLong)
                               : Complete());
  return WrittenFile{bytes_, sha256_.HexDigest()};
}

}  // namespace paceline
