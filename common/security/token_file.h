#ifndef PACELINE_COMMON_SECURITY_TOKEN_FILE_H_
#define PACELINE_COMMON_SECURITY_TOKEN_FILE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/security/periodic.h"
#include "common/security/token_table.h"

namespace paceline {

// A TokenTable from a file that is looked at again every `interval`. While the
// file is missing or malformed the tokens stay as they were, and a warning is
// logged once. Thread-safe.
class TokenFile {
 public:
  // The errors of ReadSmallFile() and TokenTable::Parse(), with the path.
  static absl::StatusOr<std::shared_ptr<const TokenFile>> Open(
      const std::string& path, absl::Duration interval);

  std::optional<Identity> Match(absl::string_view token) const;

 private:
  TokenFile(std::string path, std::string content, TokenTable table);

  void Look();

  const std::string path_;
  // The thread's own.
  std::string content_;
  std::string complaint_;

  mutable absl::Mutex mu_;
  std::shared_ptr<const TokenTable> table_ ABSL_GUARDED_BY(mu_);

  std::unique_ptr<Periodic> looking_;  // Ends before what it looks at.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_TOKEN_FILE_H_
