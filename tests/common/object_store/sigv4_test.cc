#include "common/object_store/sigv4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/time/civil_time.h"
#include "common/safetensors/sha256.h"

namespace paceline {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// The examples of docs.aws.amazon.com/AmazonS3/latest/API/
// sig-v4-header-based-auth.html, with their key and their time.
const AccessKey kKey = {"AKIAIOSFODNN7EXAMPLE",
                        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
const absl::Time kTime =
    absl::FromCivil(absl::CivilSecond(2013, 5, 24), absl::UTCTimeZone());

SignedCall Example(const std::string& method, const std::string& path,
                   absl::string_view body = "") {
  SignedCall call;
  call.method = method;
  call.path = path;
  call.headers["host"] = "examplebucket.s3.amazonaws.com";
  call.payload_sha256 = HexSha256(body);
  return call;
}

std::string SignatureOf(SignedCall call) {
  Sign(kKey, "us-east-1", kTime, call);
  const std::string& header = call.headers.at("authorization");
  return header.substr(header.find("Signature=") + 10);
}

TEST(SigV4Test, GetsOfARange) {
  SignedCall call = Example("GET", "/test.txt");
  call.headers["range"] = "bytes=0-9";
  EXPECT_EQ(SignatureOf(call),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  Sign(kKey, "us-east-1", kTime, call);
  EXPECT_THAT(
      call.headers.at("authorization"),
      HasSubstr("Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
                "aws4_request, "
                "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"));
}

TEST(SigV4Test, PutsOfAnObjectWhoseNameIsEncoded) {
  SignedCall call = Example("PUT", "/test$file.text", "Welcome to Amazon S3.");
  call.headers["date"] = "Fri, 24 May 2013 00:00:00 GMT";
  call.headers["x-amz-storage-class"] = "REDUCED_REDUNDANCY";
  EXPECT_EQ(SignatureOf(call),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(SigV4Test, QueriesWithoutAValue) {
  SignedCall call = Example("GET", "/");
  call.query = {{"lifecycle", ""}};
  EXPECT_EQ(SignatureOf(call),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(SigV4Test, QueriesWithSeveralValues) {
  SignedCall call = Example("GET", "/");
  call.query = {{"prefix", "J"}, {"max-keys", "2"}};
  EXPECT_EQ(SignatureOf(call),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SigV4Test, TokensOfASessionAreSigned) {
  AccessKey key = kKey;
  key.session_token = "token";
  SignedCall call = Example("GET", "/");
  Sign(key, "us-east-1", kTime, call);
  EXPECT_EQ(call.headers.at("x-amz-security-token"), "token");
  EXPECT_THAT(call.headers.at("authorization"),
              HasSubstr("x-amz-date;x-amz-security-token, Signature="));
}

TEST(SigV4Test, EachPartOfACallCounts) {
  const SignedCall call = Example("GET", "/a");
  SignedCall other = call;
  other.method = "PUT";
  EXPECT_NE(SignatureOf(call), SignatureOf(other));
  other = call;
  other.payload_sha256 = HexSha256("x");
  EXPECT_NE(SignatureOf(call), SignatureOf(other));
  other = call;
  other.query["a"] = "";
  EXPECT_NE(SignatureOf(call), SignatureOf(other));
}

TEST(UriEncodeTest, KeepsWhatIsUnreserved) {
  EXPECT_EQ(UriEncode("aZ09-._~", false), "aZ09-._~");
  EXPECT_EQ(UriEncode("a/b c+d", true), "a/b%20c%2Bd");
  EXPECT_EQ(UriEncode("a/b", false), "a%2Fb");
  EXPECT_EQ(UriEncode("\xC3\xA4=&", false), "%C3%A4%3D%26");
  EXPECT_EQ(EncodeQuery({{"b", "1 2"}, {"a", ""}}), "a=&b=1%202");
}

}  // namespace
}  // namespace paceline
