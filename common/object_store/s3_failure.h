#ifndef PACELINE_COMMON_OBJECT_STORE_S3_FAILURE_H_
#define PACELINE_COMMON_OBJECT_STORE_S3_FAILURE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/object_store/web_caller.h"

namespace paceline {

// What a store's refusal means, and whether to ask again. Pure.

struct S3Refusal {
  int http = 0;
  std::string code;     // "NoSuchKey"; empty if it gave none.
  std::string message;  // As it said.
  std::string region;   // Where the bucket is, if it says so.
};

// REQUIRES: the answer is no success, or a body that says <Error>.
S3Refusal ReadRefusal(const WebAnswer& answer);

// Who asked for what, for sentences.
struct S3Asked {
  std::string uri;
  std::string bucket;
  std::string doing;       // "read", "write", ...
  std::string endpoint;    // Where the store is.
  std::string key_origin;  // Where the credentials come from.
};

// One sentence that says what is wrong and what to do:
//   NOT_FOUND            there is no such object.
//   PERMISSION_DENIED    the credentials are wrong, or may not do that.
//   RESOURCE_EXHAUSTED   the bucket is full or over its quota.
//   FAILED_PRECONDITION  no such bucket, another region, a clock that is off.
//   ALREADY_EXISTS       a condition of the call did not hold.
//   ABORTED              somebody has ended the upload.
//   OUT_OF_RANGE         the object has no such bytes.
//   UNIMPLEMENTED        the store cannot do that.
//   UNAVAILABLE          it cannot now.
//   UNKNOWN              anything else.
absl::Status ToStatus(const S3Refusal& refusal, const S3Asked& asked);

// Whether the same call may succeed soon.
bool MayPass(const S3Refusal& refusal);
// Likewise, of a call that got no answer.
bool MayPass(const absl::Status& unanswered);
// Whether other credentials from the same place may do.
bool IsOfOldKey(const S3Refusal& refusal);

// How long to go on asking.
enum class Patience {
  kShort,  // About 5 s: somebody looks, and is told what is wrong.
  kLong,   // About 40 s: a large file is under way.
};

// How long to wait before the next try, after so many that failed; nothing: it
// is given up. `chance` is from 0 to 1: not all ask at once.
std::optional<absl::Duration> WaitBeforeTry(int failures, Patience patience,
                                            double chance);

}  // namespace paceline

#endif  // PACELINE_COMMON_OBJECT_STORE_S3_FAILURE_H_
