#ifndef PACELINE_COMMON_OBJECT_STORE_KEY_SOURCE_H_
#define PACELINE_COMMON_OBJECT_STORE_KEY_SOURCE_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/object_store/s3_settings.h"
#include "common/object_store/sigv4.h"
#include "common/object_store/web_caller.h"

namespace paceline {

// The key of a profile in a file as ~/.aws/credentials:
//   [default]
//   aws_access_key_id = ...
//   aws_secret_access_key = ...
//   aws_session_token = ...
// NOT_FOUND: it has no such profile. INVALID_ARGUMENT: no key in it.
absl::StatusOr<AccessKey> ParseCredentialsFile(absl::string_view text,
                                               absl::string_view profile);

// A key that lasts until a time.
struct LentKey {
  AccessKey key;
  absl::Time until = absl::InfiniteFuture();
};

// What STS answers to AssumeRoleWithWebIdentity. DATA_LOSS if it has no key.
absl::StatusOr<LentKey> ParseLentKey(absl::string_view xml);

// Where a process' key comes from, the first of these that is there:
//   the environment  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
//                    AWS_SESSION_TOKEN
//   a web identity   AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN: STS lends a
//                    key for the token in the file
//   a file           AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials, the
//                    profile AWS_PROFILE or "default"
// Files are read again when what they gave is old or is refused. Thread-safe.
class KeySource {
 public:
  // `caller` outlives this.
  KeySource(EnvironmentLookup environment, S3Settings settings,
            WebCaller* caller);

  // PERMISSION_DENIED, saying what was looked for, if there is none, and if STS
  // refuses the token. UNAVAILABLE: STS cannot be asked.
  absl::StatusOr<AccessKey> Get();

  // The store does not accept that key. True: another may be there by now.
  bool Refused(const AccessKey& key);

  // For sentences: "the environment (AWS_ACCESS_KEY_ID)".
  const std::string& origin() const { return origin_; }

 private:
  enum class Kind { kEnvironment, kWebIdentity, kFile };

  absl::StatusOr<LentKey> Fetch() const;
  absl::StatusOr<LentKey> FromEnvironment() const;
  absl::StatusOr<LentKey> FromFile() const;
  absl::StatusOr<LentKey> FromWebIdentity() const;

  const EnvironmentLookup environment_;
  const S3Settings settings_;
  WebCaller* const caller_;
  Kind kind_ = Kind::kFile;
  std::string file_;  // Of the token, or of the profiles.
  std::string origin_;

  absl::Mutex mu_;  // Held while one asks for all.
  LentKey lent_ ABSL_GUARDED_BY(mu_);
  absl::Time renew_at_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace paceline

#endif  // PACELINE_COMMON_OBJECT_STORE_KEY_SOURCE_H_
