#ifndef PACELINE_COMMON_OBJECT_STORE_SIGV4_H_
#define PACELINE_COMMON_OBJECT_STORE_SIGV4_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace paceline {

// Signature Version 4, by which AWS and what is compatible with it know who
// calls and that nobody has changed the call:
// docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html. Pure.

// What a caller proves itself with.
struct AccessKey {
  std::string id;
  std::string secret;
  std::string session_token;  // Empty: the key is for good.

  friend bool operator==(const AccessKey&, const AccessKey&) = default;
};

// A request as it will be sent.
struct SignedCall {
  std::string method = "GET";
  std::string path = "/";  // Not yet encoded.
  std::map<std::string, std::string> query;
  // By name in lower case: all of them are signed. "host" must be there.
  std::map<std::string, std::string> headers;
  // Of the body, in hexadecimal.
  std::string payload_sha256;
};

// "RFC 3986": letters, digits and -._~ stay, and slashes if `keep_slashes`.
std::string UriEncode(absl::string_view text, bool keep_slashes);

// "a=1&b=", encoded and in order.
std::string EncodeQuery(const std::map<std::string, std::string>& query);

// Adds x-amz-date, x-amz-content-sha256, the session token and "authorization"
// to the headers of a call to S3 in that region.
void Sign(const AccessKey& key, absl::string_view region, absl::Time now,
          SignedCall& call);

}  // namespace paceline

#endif  // PACELINE_COMMON_OBJECT_STORE_SIGV4_H_
