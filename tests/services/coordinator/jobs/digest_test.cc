#include "services/coordinator/jobs/digest.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(DigestTest, IsTheFirstHalfOfSha256) {
  EXPECT_EQ(Digest(""), "e3b0c44298fc1c149afbf4c8996fb924");
  EXPECT_EQ(Digest("abc"), "ba7816bf8f01cfea414140de5dae2223");
}

TEST(DigestTest, MapsCountByContent) {
  v1::Job a;
  v1::Job b;
  for (int i = 0; i < 50; ++i) {
    (*a.mutable_labels())[std::to_string(i)] = "x";
    (*b.mutable_labels())[std::to_string(49 - i)] = "x";
  }
  EXPECT_EQ(DigestOf(a), DigestOf(b));
  (*b.mutable_labels())["0"] = "y";
  EXPECT_NE(DigestOf(a), DigestOf(b));
}

TEST(EtagTest, ChangesWithAllButProgressAndItself) {
  v1::Job job;
  job.set_name("namespaces/n/jobs/j");
  const std::string etag = EtagOf(job);
  job.mutable_progress()->set_samples(10);
  job.set_etag(etag);
  EXPECT_EQ(EtagOf(job), etag);
  job.set_state(v1::Job::PAUSED);
  EXPECT_NE(EtagOf(job), etag);
}

}  // namespace
}  // namespace paceline
