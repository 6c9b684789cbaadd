#include "services/coordinator/jobs/page_token.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/status.h"
#include "common/status_details.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace paceline {
namespace {

constexpr size_t kDigestSize = 16;  // The query's digest is cut to this.
constexpr size_t kTokenMax = 4096;

absl::Status NoToken() {
  return InvalidField("page_token",
                      "is none that a list returned; begin without one");
}

std::string QueryDigest(absl::string_view query) {
  return Digest(query).substr(0, kDigestSize);
}

}  // namespace

std::string Digest(absl::string_view bytes) {
  unsigned char sha[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), sha, &size, EVP_sha256(),
                   nullptr) == 1);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(sha), size / 2));
}

std::string DigestOf(const google::protobuf::MessageLite& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream to(&bytes);
    google::protobuf::io::CodedOutputStream coded(&to);
    coded.SetSerializationDeterministic(true);  // Maps in the order of keys.
    message.SerializePartialToCodedStream(&coded);
  }
  return Digest(bytes);
}

std::string EtagOf(const v1::Job& job) {
  v1::Job tagged = job;
  tagged.clear_progress();
  tagged.clear_etag();
  tagged.clear_restore_from();
  return DigestOf(tagged);
}

bool PageRoom::Take(const google::protobuf::MessageLite& item) {
  const size_t bytes = item.ByteSizeLong();
  if (items_ == 0 || (bytes_ > 0 && bytes_ + bytes > kPageBytes)) return false;
  --items_;
  bytes_ += bytes;
  return true;
}

absl::StatusOr<PageStart> ReadPage(absl::string_view query, int32_t page_size,
                                   absl::string_view page_token,
                                   PageSizes sizes) {
  if (page_size < 0) {
    return InvalidField(
        "page_size",
        absl::StrCat("is ", page_size, "; must be at least 1, or 0 for ",
                     sizes.usual));
  }
  PageStart start;
  start.query = std::string(query);
  start.size = page_size == 0 ? sizes.usual : std::min(page_size, sizes.most);
  if (page_token.empty()) return start;
  std::string token;
  if (page_token.size() > kTokenMax ||
      !absl::WebSafeBase64Unescape(page_token, &token) ||
      token.size() <= kDigestSize) {
    return NoToken();
  }
  if (token.substr(0, kDigestSize) != QueryDigest(query)) {
    return InvalidField("page_token",
                        "is of another list: parent, filter and order must be "
                        "as then, or begin without one");
  }
  start.after = token.substr(kDigestSize);
  return start;
}

std::string NextPageToken(absl::string_view query, absl::string_view key) {
  return absl::WebSafeBase64Escape(absl::StrCat(QueryDigest(query), key));
}

absl::StatusOr<SequencePage> ReadSequencePage(absl::string_view query,
                                              int32_t page_size,
                                              absl::string_view page_token,
                                              PageSizes sizes) {
  PACELINE_ASSIGN_OR_RETURN(const PageStart start,
                            ReadPage(query, page_size, page_token, sizes));
  SequencePage page{.size = start.size, .query = start.query};
  if (start.after.empty()) return page;
  if (!absl::SimpleAtoi(start.after, &page.after) || page.after < 1) {
    return NoToken();
  }
  return page;
}

std::string NextSequenceToken(absl::string_view query, int64_t sequence) {
  return NextPageToken(query, absl::StrCat(sequence));
}

std::string NewestFirstKey(const google::protobuf::Timestamp& time,
                           absl::string_view name) {
  // Timestamps are of the years 1 to 9999, in seconds from 1970. What a damaged
  // store holds beyond that comes first or last.
  constexpr int64_t kSecondsMin = -62'135'596'800;
  constexpr int64_t kSecondsMax = 253'402'300'799;
  constexpr int64_t kNanosMax = 999'999'999;
  const int64_t seconds = std::clamp(time.seconds(), kSecondsMin, kSecondsMax);
  const int64_t nanos = std::clamp<int64_t>(time.nanos(), 0, kNanosMax);
  return absl::StrFormat("%012d.%09d/%s", kSecondsMax - seconds,
                         kNanosMax - nanos, name);
}

}  // namespace paceline
