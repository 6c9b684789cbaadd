#include "common/object_store/s3_settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status.h"

namespace paceline {
namespace {

// Where systems keep the authorities that they trust. A program that was built
// on one of them may run on another.
constexpr std::array<const char*, 4> kAuthorities = {
    "/etc/ssl/certs/ca-certificates.crt",  // Debian, and our images.
    "/etc/pki/tls/certs/ca-bundle.crt",    // Red Hat.
    "/etc/ssl/ca-bundle.pem",              // SUSE.
    "/etc/ssl/cert.pem",                   // Alpine.
};

std::string FirstSet(const EnvironmentLookup& environment,
                     const std::string& name, const std::string& other) {
  std::string value = environment(name);
  return value.empty() ? environment(other) : value;
}

std::string Domain(absl::string_view region) {
  return absl::StartsWith(region, "cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

absl::Status CheckEndpoint(absl::string_view name, absl::string_view endpoint) {
  absl::string_view rest = endpoint;
  const bool has_scheme = absl::ConsumePrefix(&rest, "https://") ||
                          absl::ConsumePrefix(&rest, "http://");
  if (has_scheme && !rest.empty() && rest.front() != '/' &&
      rest.find_first_of("?#@ ") == absl::string_view::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is \"", endpoint,
                   "\": it must be like https://HOST or http://HOST:PORT"));
}

std::string AuthoritiesOfSystem() {
  for (const char* file : kAuthorities) {
    std::error_code error;
    if (std::filesystem::exists(file, error)) return file;
  }
  return "";
}

}  // namespace

EnvironmentLookup ProcessEnvironment() {
  return [](const std::string& name) -> std::string {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
  };
}

absl::StatusOr<S3Settings> ReadS3Settings(
    const EnvironmentLookup& environment) {
  S3Settings settings;
  const std::string region =
      FirstSet(environment, "AWS_REGION", "AWS_DEFAULT_REGION");
  if (!region.empty()) settings.region = region;
  settings.endpoint =
      FirstSet(environment, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
  if (!settings.endpoint.empty()) {
    PACELINE_RETURN_IF_ERROR(
        CheckEndpoint("AWS_ENDPOINT_URL", settings.endpoint));
  }
  settings.endpoint = std::string(absl::StripSuffix(settings.endpoint, "/"));
  settings.sts_endpoint =
      FirstSet(environment, "AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL");
  if (settings.sts_endpoint.empty()) {
    settings.sts_endpoint = absl::StrCat("https://sts.", settings.region, ".",
                                         Domain(settings.region));
  }
  PACELINE_RETURN_IF_ERROR(
      CheckEndpoint("AWS_ENDPOINT_URL_STS", settings.sts_endpoint));
  settings.ca_file = environment("AWS_CA_BUNDLE");
  if (settings.ca_file.empty()) settings.ca_file = AuthoritiesOfSystem();
  return settings;
}

BucketPlace PlaceOf(const S3Settings& settings, absl::string_view bucket) {
  const bool own_host =
      settings.endpoint.empty() && !absl::StrContains(bucket, '.');
  std::string endpoint = settings.endpoint;
  if (endpoint.empty()) {
    endpoint =
        absl::StrCat("https://", own_host ? bucket : "", own_host ? "." : "",
                     "s3.", settings.region, ".", Domain(settings.region));
  }
  const size_t host = endpoint.find("://") + 3;
  const size_t path = std::min(endpoint.find('/', host), endpoint.size());
  BucketPlace place;
  place.origin = endpoint.substr(0, path);
  place.host = place.origin.substr(host);
  const absl::string_view usual =
      absl::StartsWith(endpoint, "https:") ? ":443" : ":80";
  place.host = std::string(absl::StripSuffix(place.host, usual));
  place.path = absl::StrCat(endpoint.substr(path), "/");
  if (!own_host) absl::StrAppend(&place.path, bucket, "/");
  return place;
}

}  // namespace paceline
