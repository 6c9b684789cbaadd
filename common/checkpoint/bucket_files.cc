#include "common/checkpoint/bucket_files.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/object_store/object_reader.h"
#include "common/object_store/object_writer.h"
#include "common/object_store/s3_failure.h"
#include "common/object_store/s3_uri.h"
#include "common/status.h"

namespace paceline {

absl::StatusOr<std::unique_ptr<ByteSource>> BucketFiles::Open(
    const std::string& path) const {
  PACELINE_ASSIGN_OR_RETURN(const S3Uri object, ParseS3Uri(path));
  return ObjectReader::Open(client_, object);
}

absl::StatusOr<std::unique_ptr<ByteSink>> BucketFiles::Create(
    const std::string& path, uint64_t bytes) const {
  PACELINE_ASSIGN_OR_RETURN(S3Uri object, ParseS3Uri(path));
  return std::make_unique<ObjectWriter>(client_, std::move(object), bytes);
}

absl::Status BucketFiles::WriteNew(const std::string& path,
                                   absl::string_view text) const {
  PACELINE_ASSIGN_OR_RETURN(const S3Uri object, ParseS3Uri(path));
  return client_->PutNew(object, text);
}

absl::Status BucketFiles::MakeFolder(const std::string& path) const {
  return ParseS3Uri(path).status();
}

absl::Status BucketFiles::EndUnfinished(const std::string& folder) const {
  PACELINE_ASSIGN_OR_RETURN(const S3Uri place, ParseS3Uri(folder));
  const absl::StatusOr<std::vector<OpenUpload>> uploads =
      client_->ListUploads(place);
  if (!uploads.ok()) {
    // A store that cannot, or credentials that may not, keep nobody from
    // deleting files: a rule of the bucket ends the uploads.
    return MayPass(uploads.status()) ? uploads.status() : absl::OkStatus();
  }
  for (const OpenUpload& upload : *uploads) {
    PACELINE_RETURN_IF_ERROR(client_->AbortUpload(upload.object, upload.id));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> BucketFiles::List(
    const std::string& folder) const {
  PACELINE_ASSIGN_OR_RETURN(const S3Uri place, ParseS3Uri(folder));
  PACELINE_ASSIGN_OR_RETURN(std::vector<std::string> names,
                            client_->List(place));
  if (!names.empty()) return names;
  return absl::NotFoundError(absl::StrCat("nothing is in ", folder));
}

absl::Status BucketFiles::Remove(const std::string& path) const {
  PACELINE_ASSIGN_OR_RETURN(const S3Uri object, ParseS3Uri(path));
  return client_->Delete(object);
}

absl::Status BucketFiles::Flush(const std::string& /*folder*/) const {
  return absl::OkStatus();  // What the store has answered lasts.
}

absl::Status BucketFiles::RemoveFolder(const std::string& folder) const {
  const absl::Status listed = List(folder).status();
  if (absl::IsNotFound(listed)) return absl::OkStatus();
  PACELINE_RETURN_IF_ERROR(listed);
  return absl::UnavailableError(absl::StrCat(
      "a server still writes to ", folder, ": try again in a moment"));
}

}  // namespace paceline
