#include "common/object_store/key_source.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/object_store/s3_failure.h"
#include "common/object_store/xml_element.h"
#include "common/safetensors/input_file.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr uint64_t kMostFileBytes = 1 << 20;
// A mounted file is replaced while the process runs.
constexpr absl::Duration kFileAge = absl::Minutes(1);
// So long before a lent key ends another is asked for.
constexpr absl::Duration kRenewBefore = absl::Minutes(5);
// And so long after nobody could be asked.
constexpr absl::Duration kRenewAgain = absl::Seconds(30);

absl::Status NoKey(absl::string_view why) {
  return absl::PermissionDeniedError(absl::StrCat(
      "there are no credentials for s3://: ", why,
      "; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
      "AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or name a file of "
      "profiles in AWS_SHARED_CREDENTIALS_FILE"));
}

std::string ProfileOf(const EnvironmentLookup& environment) {
  const std::string profile = environment("AWS_PROFILE");
  return profile.empty() ? "default" : profile;
}

}  // namespace

absl::StatusOr<AccessKey> ParseCredentialsFile(absl::string_view text,
                                               absl::string_view profile) {
  AccessKey key;
  bool found = false;
  bool within = false;
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  for (const absl::string_view raw : lines) {
    const absl::string_view line = absl::StripAsciiWhitespace(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[' && line.back() == ']') {
      within = absl::StripAsciiWhitespace(line.substr(1, line.size() - 2)) ==
               profile;
      found = found || within;
      continue;
    }
    const size_t equals = line.find('=');
    if (!within || equals == absl::string_view::npos) continue;
    const std::string name = absl::AsciiStrToLower(
        absl::StripAsciiWhitespace(line.substr(0, equals)));
    const absl::string_view value =
        absl::StripAsciiWhitespace(line.substr(equals + 1));
    if (name == "aws_access_key_id") key.id = std::string(value);
    if (name == "aws_secret_access_key") key.secret = std::string(value);
    if (name == "aws_session_token") key.session_token = std::string(value);
  }
  if (!found) {
    return absl::NotFoundError(
        absl::StrCat("it has no profile [", profile, "]"));
  }
  if (key.id.empty() || key.secret.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its profile [", profile,
                     "] lacks aws_access_key_id or aws_secret_access_key"));
  }
  return key;
}

absl::StatusOr<LentKey> ParseLentKey(absl::string_view xml) {
  PACELINE_ASSIGN_OR_RETURN(const XmlElement document, ParseXml(xml));
  const XmlElement* const result =
      document.Child("AssumeRoleWithWebIdentityResult");
  const XmlElement* const credentials =
      result == nullptr ? nullptr : result->Child("Credentials");
  LentKey lent;
  if (credentials != nullptr) {
    lent.key.id = credentials->TextOf("AccessKeyId");
    lent.key.secret = credentials->TextOf("SecretAccessKey");
    lent.key.session_token = credentials->TextOf("SessionToken");
    std::string ignored;
    const std::string until = credentials->TextOf("Expiration");
    if (!absl::ParseTime(absl::RFC3339_full, until, &lent.until, &ignored)) {
      lent.until = absl::InfinitePast();  // Asked for anew each time.
    }
  }
  if (!lent.key.id.empty() && !lent.key.secret.empty()) return lent;
  return absl::DataLossError("the answer of STS has no key in it");
}

KeySource::KeySource(EnvironmentLookup environment, S3Settings settings,
                     WebCaller* caller)
    : environment_(std::move(environment)),
      settings_(std::move(settings)),
      caller_(caller) {
  const std::string token = environment_("AWS_WEB_IDENTITY_TOKEN_FILE");
  if (!environment_("AWS_ACCESS_KEY_ID").empty()) {
    kind_ = Kind::kEnvironment;
    origin_ = "the environment (AWS_ACCESS_KEY_ID)";
  } else if (!token.empty()) {
    kind_ = Kind::kWebIdentity;
    file_ = token;
    origin_ = absl::StrCat("the role ", environment_("AWS_ROLE_ARN"),
                           " (AWS_ROLE_ARN)");
  } else {
    file_ = environment_("AWS_SHARED_CREDENTIALS_FILE");
    if (file_.empty()) {
      file_ = absl::StrCat(environment_("HOME"), "/.aws/credentials");
    }
    origin_ = absl::StrCat(file_, " [", ProfileOf(environment_), "]");
  }
}

absl::StatusOr<AccessKey> KeySource::Get() {
  absl::MutexLock lock(&mu_);
  const absl::Time now = absl::Now();
  if (now < renew_at_) return lent_.key;
  absl::StatusOr<LentKey> fetched = Fetch();
  // What was lent before may still do, if nobody can be asked just now.
  if (!fetched.ok() && now < lent_.until && !lent_.key.id.empty()) {
    // Not with every call: to ask may take as long as its time limit.
    renew_at_ = std::min(now + kRenewAgain, lent_.until);
    return lent_.key;
  }
  PACELINE_RETURN_IF_ERROR(fetched.status());
  lent_ = *std::move(fetched);
  renew_at_ =
      kind_ == Kind::kWebIdentity
          ? std::max(lent_.until - kRenewBefore, now + (lent_.until - now) / 2)
          : now + kFileAge;
  return lent_.key;
}

bool KeySource::Refused(const AccessKey& key) {
  absl::MutexLock lock(&mu_);
  if (kind_ == Kind::kEnvironment) return false;
  if (lent_.key == key) {
    renew_at_ = absl::InfinitePast();
    lent_ = {};
  }
  return true;
}

absl::StatusOr<LentKey> KeySource::Fetch() const {
  switch (kind_) {
    case Kind::kEnvironment:
      return FromEnvironment();
    case Kind::kWebIdentity:
      return FromWebIdentity();
    case Kind::kFile:
      return FromFile();
  }
  return NoKey("nothing is set");
}

absl::StatusOr<LentKey> KeySource::FromEnvironment() const {
  LentKey lent;
  lent.key.id = environment_("AWS_ACCESS_KEY_ID");
  lent.key.secret = environment_("AWS_SECRET_ACCESS_KEY");
  lent.key.session_token = environment_("AWS_SESSION_TOKEN");
  if (!lent.key.secret.empty()) return lent;
  return NoKey("AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not");
}

absl::StatusOr<LentKey> KeySource::FromFile() const {
  const auto text = ReadWholeFile(file_, kMostFileBytes);
  if (!text.ok()) return NoKey(text.status().message());
  absl::StatusOr<AccessKey> key =
      ParseCredentialsFile(*text, ProfileOf(environment_));
  if (!key.ok())
    return NoKey(absl::StrCat(file_, ": ", key.status().message()));
  return LentKey{*std::move(key)};
}

absl::StatusOr<LentKey> KeySource::FromWebIdentity() const {
  const std::string role = environment_("AWS_ROLE_ARN");
  if (role.empty()) {
    return NoKey("AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not");
  }
  const auto token = ReadWholeFile(file_, kMostFileBytes);
  if (!token.ok()) return NoKey(token.status().message());
  const std::string named = environment_("AWS_ROLE_SESSION_NAME");
  const std::string body = EncodeQuery(
      {{"Action", "AssumeRoleWithWebIdentity"},
       {"Version", "2011-06-15"},
       {"RoleArn", role},
       {"RoleSessionName", named.empty() ? "paceline" : named},
       {"WebIdentityToken", std::string(absl::StripAsciiWhitespace(*token))}});
  WebCall call;
  call.method = "POST";
  call.url = absl::StrCat(settings_.sts_endpoint, "/");
  call.headers["content-type"] = "application/x-www-form-urlencoded";
  call.body = body;
  call.most = absl::Seconds(20);
  const std::string doing =
      absl::StrCat("asking STS at ", settings_.sts_endpoint, " for ", origin_);
  PACELINE_ASSIGN_OR_RETURN(const WebAnswer answer,
                            Annotate(caller_->Call(call), doing));
  if (answer.code == 200) return Annotate(ParseLentKey(answer.body), doing);
  const S3Refusal refusal = ReadRefusal(answer);
  const std::string why = absl::StrCat(doing, ": HTTP ", refusal.http, " ",
                                       refusal.code, ": ", refusal.message);
  if (MayPass(refusal)) return absl::UnavailableError(why);
  return absl::PermissionDeniedError(why);
}

}  // namespace paceline
