#include "common/object_store/s3_uri.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace paceline {
namespace {

constexpr absl::string_view kScheme = "s3://";
constexpr size_t kBucketMin = 3;
constexpr size_t kBucketMax = 63;
// A key may have 1024 bytes, and those of checkpoints have names behind this.
constexpr size_t kKeyMax = 700;

absl::Status Wrong(absl::string_view path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", path, "\" ", why, ": it must be like s3://BUCKET/PREFIX"));
}

bool IsBucketName(absl::string_view name) {
  return name.size() >= kBucketMin && name.size() <= kBucketMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  c == '-' || c == '.' || c == '_';
         });
}

bool HasControl(absl::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
}

}  // namespace

bool IsS3Uri(absl::string_view path) { return absl::StartsWith(path, "s3:"); }

absl::StatusOr<S3Uri> ParseS3Uri(absl::string_view path) {
  absl::string_view rest = path;
  if (!absl::ConsumePrefix(&rest, kScheme)) {
    return Wrong(path, "does not begin with s3://");
  }
  absl::ConsumeSuffix(&rest, "/");
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, '/');
  if (!IsBucketName(parts.front())) {
    return Wrong(path,
                 "does not name a bucket of 3 to 63 letters, digits, "
                 "dots, - and _");
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].empty() || parts[i] == "." || parts[i] == "..") {
      return Wrong(path, "has an empty part, \".\" or \"..\" in it");
    }
  }
  if (HasControl(rest)) return Wrong(path, "has a control character in it");
  S3Uri uri;
  uri.bucket = std::string(parts.front());
  if (parts.size() > 1) {
    uri.key = std::string(rest.substr(parts.front().size() + 1));
  }
  if (uri.key.size() > kKeyMax) {
    return Wrong(path, absl::StrCat("has more than ", kKeyMax,
                                    " characters behind the bucket"));
  }
  return uri;
}

absl::Status CheckCheckpointPath(absl::string_view path) {
  if (IsS3Uri(path)) return ParseS3Uri(path).status();
  const bool is_path = absl::StartsWith(path, "/") &&
                       !absl::StrContains(path, absl::string_view("\0", 1));
  if (is_path) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", absl::CHexEscape(path),
                   "\" is neither an absolute path nor s3://BUCKET/PREFIX"));
}

std::string FormatS3Uri(const S3Uri& uri) {
  return absl::StrCat(kScheme, uri.bucket, uri.key.empty() ? "" : "/", uri.key);
}

}  // namespace paceline
