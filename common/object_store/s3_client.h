#ifndef PACELINE_COMMON_OBJECT_STORE_S3_CLIENT_H_
#define PACELINE_COMMON_OBJECT_STORE_S3_CLIENT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/object_store/key_source.h"
#include "common/object_store/s3_failure.h"
#include "common/object_store/s3_settings.h"
#include "common/object_store/s3_uri.h"
#include "common/object_store/sigv4.h"
#include "common/object_store/web_caller.h"
#include "common/rng.h"

namespace paceline {

// A run of an object's bytes.
struct ObjectRange {
  std::string bytes;  // Fewer than asked for where the object ends.
  uint64_t object_bytes = 0;
  std::string etag;  // Of the object: another one has another.
};

// What there is of an object that is there.
struct ObjectInfo {
  uint64_t bytes = 0;
  std::string mark;  // That of BeginUpload(), if it was uploaded in parts.
};

// An upload in parts that was begun.
struct OpenUpload {
  S3Uri object;
  std::string id;
};

// Calls a store that speaks the protocol of Amazon S3. Each call carries the
// SHA-256 of its body, which the store compares, and is tried again while that
// may help. Thread-safe; calls block for as long as their patience lasts.
//
// Errors as ToStatus() of s3_failure.h, those of WebCaller when there was no
// answer, and PERMISSION_DENIED where there are no credentials.
class S3Client {
 public:
  S3Client(S3Settings settings, const EnvironmentLookup& environment);

  // Bytes [offset, offset + size), as many of them as there are. DATA_LOSS if
  // `etag` is given and the object has become another one.
  absl::StatusOr<ObjectRange> Get(const S3Uri& object, uint64_t offset,
                                  uint64_t size, const std::string& etag,
                                  Patience patience);
  absl::StatusOr<ObjectInfo> Head(const S3Uri& object);
  absl::Status Put(const S3Uri& object, absl::string_view bytes,
                   Patience patience);
  // ALREADY_EXISTS if it is there. A store that knows no conditions overwrites
  // what another has put there in the same moment.
  absl::Status PutNew(const S3Uri& object, absl::string_view bytes);
  // OK also if there is none.
  absl::Status Delete(const S3Uri& object);
  // The names directly below `folder`, those that stand for more with a slash.
  absl::StatusOr<std::vector<std::string>> List(const S3Uri& folder);

  // The object gets `mark`, by which it can be told from another one.
  absl::StatusOr<std::string> BeginUpload(const S3Uri& object,
                                          const std::string& mark);
  // Parts count from 1. Gives the part's tag.
  absl::StatusOr<std::string> PutPart(const S3Uri& object,
                                      const std::string& upload, int number,
                                      absl::string_view bytes);
  // The object is there from now on, whole. ABORTED: the upload was ended.
  absl::Status CompleteUpload(const S3Uri& object, const std::string& upload,
                              const std::vector<std::string>& tags);
  absl::Status AbortUpload(const S3Uri& object, const std::string& upload);
  // Those of objects below `folder`. UNIMPLEMENTED at some stores.
  absl::StatusOr<std::vector<OpenUpload>> ListUploads(const S3Uri& folder);

 private:
  struct Request {
    std::string method = "GET";
    S3Uri object;
    std::string doing;  // For sentences.
    std::map<std::string, std::string> query = {};
    std::map<std::string, std::string> headers = {};
    absl::string_view body = "";
    Patience patience = Patience::kShort;
    bool slow = false;  // The store works for long before it answers.
  };

  // What is right comes as it is, after as many tries as it takes.
  absl::StatusOr<WebAnswer> Call(const Request& request);
  absl::StatusOr<WebAnswer> CallOnce(const Request& request,
                                     const AccessKey& key);
  S3Asked AskedOf(const Request& request) const;
  // Waits before the next try; false: there is none.
  bool WaitAfter(int failures, Patience patience);

  const S3Settings settings_;
  WebCaller caller_;
  KeySource keys_;
  absl::Mutex mu_;  // A leaf.
  Rng chance_ ABSL_GUARDED_BY(mu_);
};

// The one of this process, with what its environment says. INVALID_ARGUMENT if
// that makes no sense.
absl::StatusOr<S3Client*> ProcessS3Client();

}  // namespace paceline

#endif  // PACELINE_COMMON_OBJECT_STORE_S3_CLIENT_H_
