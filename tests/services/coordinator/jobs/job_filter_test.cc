#include "services/coordinator/jobs/job_filter.h"

#include <string>
#include <vector>

#include "common/rng.h"
#include "common/status_details.h"
#include "gmock/gmock.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

v1::Job SomeJob() {
  v1::Job job;
  job.set_name("namespaces/n/jobs/mnist");
  job.set_display_name("My \"first\" job");
  (*job.mutable_labels())["team"] = "vision";
  (*job.mutable_labels())["a b"] = "c";
  job.mutable_spec()->set_model("lenet5");
  job.mutable_spec()->set_paradigm("ssp:s=3");
  job.set_state(v1::Job::RUNNING);
  job.mutable_create_time()->set_seconds(1'769'860'800);  // 2026-01-31 12:00 Z
  return job;
}

TEST(JobFilterTest, HoldsForTheJob) {
  for (const char* filter : {
           "",
           "  ",
           "state = RUNNING",
           "state=RUNNING",
           "state = \"RUNNING\"",
           "state != PAUSED",
           "name = namespaces/n/jobs/mnist",
           "name : mnist",
           "name:jobs/m",
           "display_name : first",
           R"(display_name = "My \"first\" job")",
           "spec.model = lenet5",
           "spec.model:net",
           "spec.paradigm = ssp",
           "spec.paradigm = \"ssp:s=3\"",
           "spec.paradigm : ssp",
           "spec.paradigm != \"ssp:s=4\"",
           "labels.team = vision",
           "labels.team : vis",
           "labels.team:*",
           "labels:team",
           "labels.\"a b\" = c",
           "labels.team != speech",
           "labels.owner != ann",
           "create_time = 2026-01-31T12:00:00Z",
           "create_time > 2026-01-31",
           "create_time >= \"2026-01-31T13:00:00+01:00\"",
           "create_time < 2026-02-01",
           "create_time <= 2026-01-31T12:00:00.5Z",
           "create_time != 2026-01-31",
           "state = RUNNING AND labels.team = \"vision\" AND name:mnist",
           "state = RUNNING\n\tAND\tlabels:team",
       }) {
    const auto parsed = JobFilter::Parse(filter);
    ASSERT_TRUE(parsed.ok()) << filter << ": " << parsed.status();
    EXPECT_TRUE(parsed->Matches(SomeJob())) << filter;
  }
}

TEST(JobFilterTest, DoesNotHoldForTheJob) {
  for (const char* filter : {
           "state = PAUSED",
           "state != RUNNING",
           "name = mnist",
           "name : Mnist",
           "spec.model != lenet5",
           "spec.paradigm = \"ssp:s=4\"",
           "spec.paradigm = bsp",
           "spec.paradigm != ssp",
           "labels.team = Vision",
           "labels.owner = ann",
           "labels.owner : *",
           "labels:owner",
           "create_time > 2026-01-31T12:00:00Z",
           "create_time < 2026-01-31",
           "state = RUNNING AND labels.team = speech",
       }) {
    const auto parsed = JobFilter::Parse(filter);
    ASSERT_TRUE(parsed.ok()) << filter << ": " << parsed.status();
    EXPECT_FALSE(parsed->Matches(SomeJob())) << filter;
  }
}

struct BadFilter {
  std::string filter;
  std::string says;
};

TEST(JobFilterTest, BadFiltersSayWhatAndWhere) {
  for (const BadFilter& bad : std::vector<BadFilter>{
           {"colour = red",
            "at byte 0: \"colour\" is no field; there are name"},
           {"spec.seed = 1", "\"spec.seed\" is no field"},
           {"state", "at byte 5: this field takes = or !=, not \"\""},
           {"state : RUNNING", "this field takes = or !=, not \":\""},
           {"state > RUNNING", "takes = or !="},
           {"name < a", "takes =, != or :"},
           {"create_time : 2026", "takes =, !=, <"},
           {"labels = x", "takes :, or a key"},
           {"labels. = x", "needs a key"},
           {"labels.\"\" = x", "needs a key"},
           {"state =", "a value is a word or stands in quotes"},
           {"state = =", "a value is a word or stands in quotes; this is"},
           {"state = BUSY",
            "at byte 8: \"BUSY\" is no state; there are PENDING"},
           {"state = STATE_UNSPECIFIED", "is no state"},
           {"state = running", "is no state"},
           {"create_time > yesterday", "\"yesterday\" is no time; write it as"},
           {"create_time > 2026-13-01", "is no time"},
           {"name = \"abc", "a quote is not closed"},
           {"name = \"abc\\", "a quote is not closed"},
           {"state = RUNNING OR state = PAUSED",
            "at byte 16: terms are joined by AND, there is nothing else; this "
            "is \"OR\""},
           {"state = RUNNING and state = PAUSED", "this is \"and\""},
           {"state = RUNNING state = PAUSED", "this is \"state\""},
           {"state = RUNNING AND", "nothing follows AND"},
           {"AND state = RUNNING", "\"AND\" is no field"},
           {"NOT state = RUNNING", "\"NOT\" is no field"},
           {"-state = RUNNING", "is no field"},
           {"(state = RUNNING)", "is no field"},
           {"spec.paradigm = ssp:s=3", "into quotes"},
           {std::string(4097, ' '), "has 4097 bytes"}}) {
    SCOPED_TRACE(bad.filter);
    const absl::Status status = JobFilter::Parse(bad.filter).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    ASSERT_EQ(ViolationsOf(status).size(), 1);
    EXPECT_EQ(ViolationsOf(status)[0].field, "filter");
    EXPECT_THAT(ViolationsOf(status)[0].description, HasSubstr(bad.says));
  }
}

TEST(JobFilterTest, TermsAreLimited) {
  std::string filter = "name:a";
  for (int i = 1; i < 32; ++i) filter += " AND name:a";
  EXPECT_TRUE(JobFilter::Parse(filter).ok());
  EXPECT_FALSE(JobFilter::Parse(filter + " AND name:a").ok());
}

// Whatever is written is a filter or a status.
TEST(JobFilterTest, AnyTextIsAFilterOrAStatus) {
  const std::vector<std::string> pieces = {
      "state", "=",          "!=",       ":",      "RUNNING", "AND",
      " ",     "\"",         "\\",       "labels", ".",       "create_time",
      "<",     "2026-01-01", "\xc3\xa4", "name",   "\n"};
  Rng rng(9);
  const v1::Job job = SomeJob();
  int parsed = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (uint64_t n = rng.Below(9); n > 0; --n) {
      text += pieces[rng.Below(pieces.size())];
    }
    const auto filter = JobFilter::Parse(text);
    if (!filter.ok()) continue;
    ++parsed;
    (void)filter->Matches(job);
  }
  EXPECT_GT(parsed, 100);
}

}  // namespace
}  // namespace paceline
