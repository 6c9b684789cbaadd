#ifndef PACELINE_COMMON_OBJECT_STORE_S3_SETTINGS_H_
#define PACELINE_COMMON_OBJECT_STORE_S3_SETTINGS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// The value of an environment variable, "" where it is not set.
using EnvironmentLookup = std::function<std::string(const std::string& name)>;

// Of this process.
EnvironmentLookup ProcessEnvironment();

// Where the store is, as AWS' own clients take it from the environment.
struct S3Settings {
  // "https://HOST:PORT/PATH" without a slash at the end, of AWS_ENDPOINT_URL_S3
  // or AWS_ENDPOINT_URL. Empty: AWS itself.
  std::string endpoint;
  std::string region = "us-east-1";  // AWS_REGION, AWS_DEFAULT_REGION.
  // AWS_ENDPOINT_URL_STS, or that of AWS in the region.
  std::string sts_endpoint;
  // AWS_CA_BUNDLE, or the file of this system; empty: the library's own.
  std::string ca_file;
};

// INVALID_ARGUMENT for an endpoint that is none.
absl::StatusOr<S3Settings> ReadS3Settings(const EnvironmentLookup& environment);

// Where a bucket's objects are found.
struct BucketPlace {
  std::string origin;  // "https://HOST:PORT"
  std::string host;    // As the header says it: the usual port is left out.
  std::string path;    // Before an object's key, with a slash at the end.
};

// At AWS a bucket has a host of its own, unless its name has a dot, for which
// no certificate is good; elsewhere it is the first part of the path.
BucketPlace PlaceOf(const S3Settings& settings, absl::string_view bucket);

}  // namespace paceline

#endif  // PACELINE_COMMON_OBJECT_STORE_S3_SETTINGS_H_
