#include "common/object_store/s3_failure.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/object_store/xml_element.h"

namespace paceline {
namespace {

constexpr absl::Duration kFirstWait = absl::Milliseconds(200);
constexpr double kGrowth = 2.5;
constexpr absl::Duration kLongestWait = absl::Seconds(8);
constexpr int kShortTries = 5;
constexpr int kLongTries = 9;
// A store's own words, in a sentence of ours.
constexpr size_t kMostWords = 300;

bool IsOneOf(absl::string_view code,
             std::initializer_list<absl::string_view> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

bool IsFull(const S3Refusal& refusal) {
  // Each store has a name of its own for it.
  return refusal.http == 507 || absl::StrContains(refusal.code, "Quota") ||
         absl::StrContains(refusal.code, "StorageFull") ||
         IsOneOf(refusal.code, {"InsufficientStorage", "NotEnoughSpace",
                                "TooMuchData", "StorageLimitExceeded"});
}

bool IsOfWrongKey(const S3Refusal& refusal) {
  return IsOneOf(refusal.code,
                 {"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken",
                  "InvalidToken", "InvalidClientTokenId",
                  "TokenRefreshRequired", "InvalidSecurity"});
}

bool IsOfOtherRegion(const S3Refusal& refusal) {
  return refusal.http == 301 || refusal.http == 307 ||
         IsOneOf(refusal.code, {"PermanentRedirect", "TemporaryRedirect",
                                "AuthorizationHeaderMalformed",
                                "IllegalLocationConstraintException"});
}

// "HTTP 403, AccessDenied: Access Denied."
std::string Words(const S3Refusal& refusal) {
  return absl::StrCat("HTTP ", refusal.http, refusal.code.empty() ? "" : ", ",
                      refusal.code, refusal.message.empty() ? "" : ": ",
                      refusal.message.substr(0, kMostWords));
}

}  // namespace

S3Refusal ReadRefusal(const WebAnswer& answer) {
  S3Refusal refusal;
  refusal.http = answer.code;
  const auto region = answer.headers.find("x-amz-bucket-region");
  if (region != answer.headers.end()) refusal.region = region->second;
  // STS has it within <ErrorResponse>.
  if (const auto document = ParseXml(answer.body); document.ok()) {
    const XmlElement* const error =
        document->name == "Error" ? &*document : document->Child("Error");
    if (error != nullptr) {
      refusal.code = error->TextOf("Code");
      refusal.message = error->TextOf("Message");
      if (refusal.region.empty()) refusal.region = error->TextOf("Region");
    }
  }
  return refusal;
}

absl::Status ToStatus(const S3Refusal& refusal, const S3Asked& asked) {
  const std::string words = Words(refusal);
  const auto says = [&](absl::string_view sentence) {
    return absl::StrCat(asked.uri, ": ", sentence, " (", words, ")");
  };
  if (refusal.code == "NoSuchBucket") {
    return absl::FailedPreconditionError(
        says(absl::StrCat("there is no bucket \"", asked.bucket, "\" at ",
                          asked.endpoint, ": create it, or correct the path")));
  }
  if (refusal.code == "NoSuchUpload") {
    return absl::AbortedError(says("somebody has ended the upload"));
  }
  if (refusal.http == 404) return absl::NotFoundError(says("is not there"));
  if (IsFull(refusal)) {
    return absl::ResourceExhaustedError(says(
        absl::StrCat("the bucket \"", asked.bucket,
                     "\" is full or over its quota: make room there, or have "
                     "it raised")));
  }
  if (IsOfWrongKey(refusal)) {
    return absl::PermissionDeniedError(
        says(absl::StrCat("the store does not accept the credentials from ",
                          asked.key_origin, ": correct them")));
  }
  if (IsOfOtherRegion(refusal)) {
    return absl::FailedPreconditionError(says(absl::StrCat(
        "the bucket \"", asked.bucket, "\" is in another region",
        refusal.region.empty() ? "" : absl::StrCat(", ", refusal.region),
        ": set AWS_REGION")));
  }
  if (refusal.code == "RequestTimeTooSkewed") {
    return absl::FailedPreconditionError(
        says("the clock of this machine is not that of the store: set it"));
  }
  if (refusal.http == 401 || refusal.http == 403) {
    return absl::PermissionDeniedError(
        says(absl::StrCat("the credentials from ", asked.key_origin,
                          " may not ", asked.doing, " there: allow it")));
  }
  if (refusal.http == 416) {
    return absl::OutOfRangeError(says("it has no such bytes"));
  }
  if (refusal.http == 409 || refusal.http == 412) {
    return absl::AlreadyExistsError(says("somebody else was faster"));
  }
  if (refusal.http == 501) {
    return absl::UnimplementedError(says("the store cannot do that"));
  }
  if (refusal.http >= 500 || refusal.http == 429) {
    return absl::UnavailableError(
        says(absl::StrCat("the store at ", asked.endpoint, " fails")));
  }
  return absl::UnknownError(says("the store refused it"));
}

bool MayPass(const S3Refusal& refusal) {
  if (IsFull(refusal)) return false;
  return refusal.http == 429 || refusal.http == 500 || refusal.http == 502 ||
         refusal.http == 503 || refusal.http == 504 ||
         // What arrived was not what was sent, or not all of it.
         IsOneOf(refusal.code,
                 {"RequestTimeout", "SlowDown", "InternalError", "BadDigest",
                  "IncompleteBody", "XAmzContentSHA256Mismatch"});
}

bool MayPass(const absl::Status& unanswered) {
  return absl::IsUnavailable(unanswered) ||
         absl::IsDeadlineExceeded(unanswered);
}

bool IsOfOldKey(const S3Refusal& refusal) { return IsOfWrongKey(refusal); }

std::optional<absl::Duration> WaitBeforeTry(int failures, Patience patience,
                                            double chance) {
  const int tries = patience == Patience::kLong ? kLongTries : kShortTries;
  if (failures >= tries) return std::nullopt;
  const absl::Duration wait =
      std::min(kLongestWait, kFirstWait * std::pow(kGrowth, failures - 1));
  return wait * (0.5 + chance / 2);
}

}  // namespace paceline
