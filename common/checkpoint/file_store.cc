#include "common/checkpoint/file_store.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "common/checkpoint/bucket_files.h"
#include "common/checkpoint/disk_files.h"
#include "common/object_store/s3_client.h"
#include "common/object_store/s3_uri.h"
#include "common/status.h"

namespace paceline {

absl::StatusOr<const FileStore*> FilesAt(const std::string& path) {
  // Neither is destroyed: what hangs at the end of the process uses them.
  static const auto* const disk = new DiskFiles();
  if (!IsS3Uri(path)) return disk;
  PACELINE_RETURN_IF_ERROR(ParseS3Uri(path).status());
  PACELINE_ASSIGN_OR_RETURN(S3Client * client, ProcessS3Client());
  static const auto* const buckets = new BucketFiles(client);
  return buckets;
}

std::string PathIn(absl::string_view folder, absl::string_view name) {
  return absl::StrCat(absl::StripSuffix(folder, "/"), "/", name);
}

absl::StatusOr<std::string> ReadWholeFileAt(const std::string& path,
                                            uint64_t max_bytes) {
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> file,
                            OpenAt(path));
  if (file->size() > max_bytes) {
    return absl::DataLossError(absl::StrCat(path, " has ", file->size(),
                                            " bytes, more than the ", max_bytes,
                                            " that it can have"));
  }
  std::string text(file->size(), '\0');
  PACELINE_RETURN_IF_ERROR(
      file->Read(0, absl::MakeSpan(text.data(), text.size())));
  return text;
}

absl::StatusOr<std::unique_ptr<ByteSource>> OpenAt(const std::string& path) {
  PACELINE_ASSIGN_OR_RETURN(const FileStore* files, FilesAt(path));
  return files->Open(path);
}

absl::StatusOr<std::unique_ptr<ByteSink>> CreateAt(const std::string& path,
                                                   uint64_t bytes) {
  PACELINE_ASSIGN_OR_RETURN(const FileStore* files, FilesAt(path));
  return files->Create(path, bytes);
}

SafetensorsWriter::MakeFile MakerOf(const std::string& path) {
  return [path](uint64_t bytes) { return CreateAt(path, bytes); };
}

}  // namespace paceline
