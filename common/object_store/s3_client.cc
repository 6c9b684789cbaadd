#include "common/object_store/s3_client.h"

#include <optional>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/object_store/xml_element.h"
#include "common/safetensors/sha256.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr char kMarkHeader[] = "x-amz-meta-paceline-mark";
// A store that puts an object of many parts together may say nothing for long.
constexpr absl::Duration kSlowSilence = absl::Minutes(5);

uint64_t Entropy() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

std::string HeaderOf(const WebAnswer& answer, const std::string& name) {
  const auto found = answer.headers.find(name);
  return found == answer.headers.end() ? "" : found->second;
}

// Of "bytes 0-9/443", or of the whole that came instead.
absl::StatusOr<uint64_t> SizeOfObject(const WebAnswer& answer) {
  if (answer.code == 200) return answer.body.size();
  const std::string range = HeaderOf(answer, "content-range");
  uint64_t size = 0;
  const size_t slash = range.find('/');
  if (slash != std::string::npos &&
      absl::SimpleAtoi(absl::string_view(range).substr(slash + 1), &size)) {
    return size;
  }
  return absl::DataLossError("the store's answer has no size of the object");
}

std::string Below(const S3Uri& folder) {
  return folder.key.empty() ? "" : absl::StrCat(folder.key, "/");
}

bool IsTrue(const XmlElement& document, absl::string_view name) {
  return document.TextOf(name) == "true";
}

// Whether the store has done it. What takes long it may begin to answer with
// 200 before it knows that it fails.
bool IsSuccess(const WebAnswer& answer, bool slow) {
  if (answer.code < 200 || answer.code > 299) return false;
  return !slow || ReadRefusal(answer).code.empty();
}

}  // namespace

S3Client::S3Client(S3Settings settings, const EnvironmentLookup& environment)
    : settings_(std::move(settings)),
      caller_(settings_.ca_file),
      keys_(environment, settings_, &caller_),
      chance_(Entropy()) {}

S3Asked S3Client::AskedOf(const Request& request) const {
  return {FormatS3Uri(request.object), request.object.bucket, request.doing,
          PlaceOf(settings_, request.object.bucket).origin, keys_.origin()};
}

bool S3Client::WaitAfter(int failures, Patience patience) {
  double chance = 0;
  {
    absl::MutexLock lock(&mu_);
    chance = chance_.Unit();
  }
  const std::optional<absl::Duration> wait =
      WaitBeforeTry(failures, patience, chance);
  if (!wait.has_value()) return false;
  absl::SleepFor(*wait);
  return true;
}

absl::StatusOr<WebAnswer> S3Client::CallOnce(const Request& request,
                                             const AccessKey& key) {
  const BucketPlace place = PlaceOf(settings_, request.object.bucket);
  SignedCall signing;
  signing.method = request.method;
  signing.path = absl::StrCat(place.path, request.object.key);
  // That of a bucket is written without the slash at its end.
  if (request.object.key.empty() && signing.path.size() > 1) {
    signing.path = std::string(absl::StripSuffix(signing.path, "/"));
  }
  signing.query = request.query;
  signing.headers = request.headers;
  signing.headers["host"] = place.host;
  signing.payload_sha256 = HexSha256(request.body);
  Sign(key, settings_.region, absl::Now(), signing);
  WebCall call;
  call.method = request.method;
  call.url = absl::StrCat(place.origin, UriEncode(signing.path, true),
                          signing.query.empty() ? "" : "?",
                          EncodeQuery(signing.query));
  call.headers = std::move(signing.headers);
  call.body = request.body;
  if (request.slow) call.silence = kSlowSilence;
  return caller_.Call(call);
}

absl::StatusOr<WebAnswer> S3Client::Call(const Request& request) {
  bool renewed = false;
  for (int failures = 1;; ++failures) {
    absl::Status why;
    const absl::StatusOr<AccessKey> key = keys_.Get();
    absl::StatusOr<WebAnswer> answer =
        key.ok() ? CallOnce(request, *key) : key.status();
    if (answer.ok() && IsSuccess(*answer, request.slow)) return answer;
    if (answer.ok()) {
      const S3Refusal refusal = ReadRefusal(*answer);
      why = ToStatus(refusal, AskedOf(request));
      if (IsOfOldKey(refusal) && !renewed && keys_.Refused(*key)) {
        renewed = true;
        continue;
      }
      if (!MayPass(refusal)) return why;
    } else {
      why = Annotate(answer.status(),
                     absl::StrCat(FormatS3Uri(request.object), ": could not ",
                                  request.doing));
      if (!MayPass(answer.status())) return why;
    }
    if (!WaitAfter(failures, request.patience)) {
      return absl::Status(why.code(), absl::StrCat(why.message(), ", after ",
                                                   failures, " tries"));
    }
  }
}

absl::StatusOr<ObjectRange> S3Client::Get(const S3Uri& object, uint64_t offset,
                                          uint64_t size,
                                          const std::string& etag,
                                          Patience patience) {
  Request request{"GET", object, "read"};
  request.patience = patience;
  request.headers["range"] =
      absl::StrCat("bytes=", offset, "-", offset + size - 1);
  if (!etag.empty()) request.headers["if-match"] = etag;
  absl::StatusOr<WebAnswer> answer = Call(request);
  const std::string uri = FormatS3Uri(object);
  // One without bytes has none of that range either.
  if (absl::IsOutOfRange(answer.status())) return ObjectRange{};
  if (!etag.empty() && absl::IsAlreadyExists(answer.status())) {
    return absl::DataLossError(
        absl::StrCat(uri, " was replaced while it was read"));
  }
  PACELINE_RETURN_IF_ERROR(answer.status());
  ObjectRange range;
  PACELINE_ASSIGN_OR_RETURN(range.object_bytes,
                            Annotate(SizeOfObject(*answer), uri));
  range.etag = HeaderOf(*answer, "etag");
  range.bytes = std::move(answer->body);
  if (answer->code == 200) {
    // All of it, from a store that knows no ranges.
    range.bytes =
        offset > range.bytes.size() ? "" : range.bytes.substr(offset, size);
  }
  if (!etag.empty() && range.etag != etag) {
    return absl::DataLossError(
        absl::StrCat(uri, " was replaced while it was read"));
  }
  return range;
}

absl::StatusOr<ObjectInfo> S3Client::Head(const S3Uri& object) {
  Request request{"HEAD", object, "read"};
  request.patience = Patience::kLong;
  PACELINE_ASSIGN_OR_RETURN(const WebAnswer answer, Call(request));
  ObjectInfo info;
  info.mark = HeaderOf(answer, kMarkHeader);
  if (!absl::SimpleAtoi(HeaderOf(answer, "content-length"), &info.bytes)) {
    return absl::DataLossError(
        absl::StrCat(FormatS3Uri(object), ": the store's answer has no size"));
  }
  return info;
}

absl::Status S3Client::Put(const S3Uri& object, absl::string_view bytes,
                           Patience patience) {
  Request request{"PUT", object, "write"};
  request.body = bytes;
  request.patience = patience;
  return Call(request).status();
}

absl::Status S3Client::PutNew(const S3Uri& object, absl::string_view bytes) {
  Request request{"PUT", object, "write"};
  request.body = bytes;
  request.headers["if-none-match"] = "*";
  const absl::Status put = Call(request).status();
  if (!absl::IsUnimplemented(put)) return put;
  return Put(object, bytes, Patience::kShort);
}

absl::Status S3Client::Delete(const S3Uri& object) {
  const absl::Status deleted =
      Call(Request{"DELETE", object, "delete"}).status();
  return absl::IsNotFound(deleted) ? absl::OkStatus() : deleted;
}

absl::StatusOr<std::vector<std::string>> S3Client::List(const S3Uri& folder) {
  const std::string prefix = Below(folder);
  std::vector<std::string> names;
  Request request{"GET", {folder.bucket, ""}, "list"};
  request.query = {{"list-type", "2"}, {"delimiter", "/"}, {"prefix", prefix}};
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const WebAnswer answer, Call(request));
    PACELINE_ASSIGN_OR_RETURN(const XmlElement document, ParseXml(answer.body));
    for (const XmlElement& child : document.children) {
      const bool is_object = child.name == "Contents";
      if (!is_object && child.name != "CommonPrefixes") continue;
      const std::string key = child.TextOf(is_object ? "Key" : "Prefix");
      // Some have an object for the folder itself.
      if (key.size() > prefix.size() && absl::StartsWith(key, prefix)) {
        names.push_back(key.substr(prefix.size()));
      }
    }
    const std::string next = document.TextOf("NextContinuationToken");
    if (!IsTrue(document, "IsTruncated") || next.empty()) return names;
    request.query["continuation-token"] = next;
  }
}

absl::StatusOr<std::string> S3Client::BeginUpload(const S3Uri& object,
                                                  const std::string& mark) {
  Request request{"POST", object, "write"};
  request.query = {{"uploads", ""}};
  request.headers[kMarkHeader] = mark;
  request.headers["content-type"] = "application/octet-stream";
  request.patience = Patience::kLong;
  PACELINE_ASSIGN_OR_RETURN(const WebAnswer answer, Call(request));
  PACELINE_ASSIGN_OR_RETURN(const XmlElement document, ParseXml(answer.body));
  std::string upload = document.TextOf("UploadId");
  if (!upload.empty()) return upload;
  return absl::DataLossError(absl::StrCat(
      FormatS3Uri(object), ": the store gave no number of the upload"));
}

absl::StatusOr<std::string> S3Client::PutPart(const S3Uri& object,
                                              const std::string& upload,
                                              int number,
                                              absl::string_view bytes) {
  Request request{"PUT", object, "write"};
  request.query = {{"partNumber", absl::StrCat(number)}, {"uploadId", upload}};
  request.body = bytes;
  request.patience = Patience::kLong;
  PACELINE_ASSIGN_OR_RETURN(const WebAnswer answer, Call(request));
  std::string tag = HeaderOf(answer, "etag");
  if (!tag.empty()) return tag;
  return absl::DataLossError(absl::StrCat(
      FormatS3Uri(object), ": the store gave no tag of part ", number));
}

absl::Status S3Client::CompleteUpload(const S3Uri& object,
                                      const std::string& upload,
                                      const std::vector<std::string>& tags) {
  std::string body =
      "<CompleteMultipartUpload "
      "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (size_t i = 0; i < tags.size(); ++i) {
    absl::StrAppend(&body, "<Part><PartNumber>", i + 1, "</PartNumber><ETag>",
                    EscapeXml(tags[i]), "</ETag></Part>");
  }
  absl::StrAppend(&body, "</CompleteMultipartUpload>");
  Request request{"POST", object, "write"};
  request.query = {{"uploadId", upload}};
  request.headers["content-type"] = "application/xml";
  request.body = body;
  request.patience = Patience::kLong;
  request.slow = true;
  return Call(request).status();
}

absl::Status S3Client::AbortUpload(const S3Uri& object,
                                   const std::string& upload) {
  Request request{"DELETE", object, "delete"};
  request.query = {{"uploadId", upload}};
  const absl::Status aborted = Call(request).status();
  const bool gone = absl::IsNotFound(aborted) || absl::IsAborted(aborted);
  return gone ? absl::OkStatus() : aborted;
}

absl::StatusOr<std::vector<OpenUpload>> S3Client::ListUploads(
    const S3Uri& folder) {
  std::vector<OpenUpload> uploads;
  Request request{"GET", {folder.bucket, ""}, "list"};
  request.query = {{"uploads", ""}, {"prefix", Below(folder)}};
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const WebAnswer answer, Call(request));
    PACELINE_ASSIGN_OR_RETURN(const XmlElement document, ParseXml(answer.body));
    for (const XmlElement& child : document.children) {
      if (child.name != "Upload") continue;
      const std::string key = child.TextOf("Key");
      // Some stores take the prefix for the whole key.
      if (!absl::StartsWith(key, Below(folder))) continue;
      uploads.push_back({{folder.bucket, key}, child.TextOf("UploadId")});
    }
    const std::string next = document.TextOf("NextKeyMarker");
    if (!IsTrue(document, "IsTruncated") || next.empty()) return uploads;
    request.query["key-marker"] = next;
    request.query["upload-id-marker"] = document.TextOf("NextUploadIdMarker");
  }
}

absl::StatusOr<S3Client*> ProcessS3Client() {
  // Never destroyed: what hangs at the end of the process still uses it.
  static const auto* const client =
      new absl::StatusOr<S3Client*>([]() -> absl::StatusOr<S3Client*> {
        const EnvironmentLookup environment = ProcessEnvironment();
        PACELINE_ASSIGN_OR_RETURN(S3Settings settings,
                                  ReadS3Settings(environment));
        return new S3Client(std::move(settings), environment);
      }());
  return *client;
}

}  // namespace paceline
