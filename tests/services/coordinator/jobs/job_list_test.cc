#include "services/coordinator/jobs/job_list.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/rng.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "services/coordinator/jobs/page_token.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JobListTest : public ::testing::Test {
 protected:
  void Add(const std::string& name, int64_t created,
           v1::Job::State state = v1::Job::RUNNING) {
    v1::Job& job = jobs_.emplace_back();
    job.set_name("namespaces/" + name);
    job.mutable_create_time()->set_seconds(created);
    job.mutable_update_time()->set_seconds(-created);
    job.set_state(state);
  }

  absl::StatusOr<v1::ListJobsResponse> List(
      const v1::ListJobsRequest& request) const {
    std::vector<const v1::Job*> jobs;
    for (const v1::Job& job : jobs_) jobs.push_back(&job);
    return ListJobs(request, jobs, visible_);
  }

  // The names of all pages, "n/jobs/a n/jobs/b | n/jobs/c".
  std::string Pages(v1::ListJobsRequest request) const {
    std::vector<std::string> pages;
    do {
      const auto response = List(request);
      EXPECT_TRUE(response.ok()) << response.status();
      std::vector<std::string> names;
      for (const v1::Job& job : response->jobs()) {
        names.emplace_back(absl::StripPrefix(job.name(), "namespaces/"));
      }
      pages.push_back(absl::StrJoin(names, " "));
      request.set_page_token(response->next_page_token());
    } while (!request.page_token().empty());
    return absl::StrJoin(pages, " | ");
  }

  static v1::ListJobsRequest Request(const std::string& parent,
                                     int32_t page_size = 0,
                                     const std::string& order_by = "",
                                     const std::string& filter = "") {
    v1::ListJobsRequest request;
    request.set_parent(parent);
    request.set_page_size(page_size);
    request.set_order_by(order_by);
    request.set_filter(filter);
    return request;
  }

  std::vector<v1::Job> jobs_;
  Namespaces visible_;
};

// All that it may see, and full pages of that.
TEST_F(JobListTest, WhoIsBoundToNamespacesGetsWhatIsInThese) {
  for (const char* name : {"a/jobs/1", "b/jobs/1", "a/jobs/2", "b/jobs/2",
                           "ab/jobs/1", "c/jobs/1"}) {
    Add(name, 1);
  }
  EXPECT_EQ(Pages(Request("namespaces/-", 3)),
            "a/jobs/1 a/jobs/2 ab/jobs/1 | b/jobs/1 b/jobs/2 c/jobs/1");
  visible_ = *Namespaces::Parse("a+c");
  EXPECT_EQ(Pages(Request("namespaces/-", 2)), "a/jobs/1 a/jobs/2 | c/jobs/1");
  EXPECT_EQ(Pages(Request("namespaces/a")), "a/jobs/1 a/jobs/2");
  EXPECT_EQ(Pages(Request("namespaces/b")), "");
  EXPECT_EQ(Pages(Request("namespaces/-", 0, "", "name = namespaces/b/jobs/1")),
            "");
}

// A client takes no more than so many bytes at once.
TEST_F(JobListTest, APageOfLargeJobsEndsBeforeItsSize) {
  for (const char* name : {"n/jobs/a", "n/jobs/b", "n/jobs/c", "n/jobs/d"}) {
    Add(name, 1);
    jobs_.back().set_state_reason(std::string(kPageBytes * 2 / 5, '.'));
  }
  EXPECT_EQ(Pages(Request("namespaces/n")),
            "n/jobs/a n/jobs/b | n/jobs/c n/jobs/d");
  jobs_[1].set_state_reason(std::string(kPageBytes + 1, '.'));
  EXPECT_EQ(Pages(Request("namespaces/n")),
            "n/jobs/a | n/jobs/b | n/jobs/c n/jobs/d");
}

TEST_F(JobListTest, NewestFirstOfOneNamespace) {
  Add("n/jobs/a", 1);
  Add("n/jobs/b", 3);
  Add("n/jobs/c", 2);
  Add("nn/jobs/d", 4);
  EXPECT_EQ(Pages(Request("namespaces/n")), "n/jobs/b n/jobs/c n/jobs/a");
  EXPECT_EQ(Pages(Request("namespaces/-", 3)),
            "nn/jobs/d n/jobs/b n/jobs/c | n/jobs/a");
  EXPECT_EQ(Pages(Request("namespaces/empty")), "");
}

TEST_F(JobListTest, OrdersCombine) {
  Add("n/jobs/a", 1, v1::Job::RUNNING);
  Add("n/jobs/b", 2, v1::Job::PENDING);
  Add("n/jobs/c", 3, v1::Job::RUNNING);
  Add("n/jobs/d", 3, v1::Job::PENDING);
  for (const auto& [order, names] :
       std::vector<std::pair<std::string, std::string>>{
           {"name", "a b | c d"},
           {"name desc", "d c | b a"},
           {"create_time", "a b | c d"},
           {"create_time desc", "c d | b a"},
           {" create_time  desc ,  name desc ", "d c | b a"},
           {"update_time", "c d | b a"},
           {"state", "b d | a c"},
           {"state desc,create_time desc", "c a | d b"}}) {
    std::string want = names;
    std::string full;
    for (const char c : want) {
      full += (c == ' ' || c == '|')
                  ? std::string(1, c)
                  : absl::StrCat("n/jobs/", std::string(1, c));
    }
    EXPECT_EQ(Pages(Request("namespaces/n", 2, order)), full) << order;
  }
}

TEST_F(JobListTest, FiltersComeBeforePages) {
  for (int i = 0; i < 10; ++i) {
    Add(absl::StrCat("n/jobs/j", i), i,
        i % 2 == 0 ? v1::Job::RUNNING : v1::Job::FAILED);
  }
  EXPECT_EQ(Pages(Request("namespaces/n", 3, "name", "state = FAILED")),
            "n/jobs/j1 n/jobs/j3 n/jobs/j5 | n/jobs/j7 n/jobs/j9");
}

// Whatever the order and the sizes: all jobs, each once, in order.
TEST_F(JobListTest, PagesCoverEverythingOnce) {
  Rng rng(5);
  for (int i = 0; i < 300; ++i) {
    Add(absl::StrCat("n/jobs/j", i), static_cast<int64_t>(rng.Below(20)),
        static_cast<v1::Job::State>(1 + rng.Below(9)));
  }
  for (const char* order :
       {"", "name", "state desc", "create_time,state", "update_time desc"}) {
    const std::string whole = Pages(Request("namespaces/n", 1000, order));
    for (const int size : {1, 7, 299, 300}) {
      std::string pages = Pages(Request("namespaces/n", size, order));
      std::string joined;
      for (const absl::string_view page : absl::StrSplit(pages, " | ")) {
        absl::StrAppend(&joined, joined.empty() ? "" : " ", page);
      }
      EXPECT_EQ(joined, whole) << order << " by " << size;
    }
  }
}

TEST_F(JobListTest, JobsThatComeAndGoDisturbNoOthers) {
  for (int i = 0; i < 6; ++i) Add(absl::StrCat("n/jobs/j", i), 10 + i);
  v1::ListJobsRequest request = Request("namespaces/n", 2);
  const auto first = List(request);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->jobs(1).name(), "namespaces/n/jobs/j4");
  // The last that was seen goes, a new one comes.
  jobs_.erase(jobs_.begin() + 4);
  Add("n/jobs/new", 20);
  request.set_page_token(first->next_page_token());
  EXPECT_EQ(Pages(request), "n/jobs/j3 n/jobs/j2 | n/jobs/j1 n/jobs/j0");
}

TEST_F(JobListTest, PageSizesFollowTheRules) {
  for (int i = 0; i < 1200; ++i) Add(absl::StrCat("n/jobs/j", i), i);
  EXPECT_EQ(List(Request("namespaces/n"))->jobs_size(), 50);
  EXPECT_EQ(List(Request("namespaces/n", 5000))->jobs_size(), 1000);
}

TEST_F(JobListTest, EveryBadFieldIsNamed) {
  v1::ListJobsRequest request = Request("n", -1, "colour", "state");
  std::vector<std::string> fields;
  for (const FieldViolation& violation : ViolationsOf(List(request).status())) {
    fields.push_back(violation.field);
  }
  EXPECT_THAT(fields, ElementsAre("parent", "filter", "order_by", "page_size"));
}

TEST_F(JobListTest, TheBestComeFirstAndThoseWithoutAnAccuracyLast) {
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    Add(absl::StrCat("n/jobs/", name), 1);
  }
  jobs_[0].mutable_progress()->set_accuracy(0.5);
  jobs_[2].mutable_progress()->set_accuracy(0.9);
  jobs_[3].mutable_progress()->set_accuracy(std::nan(""));
  jobs_[4].mutable_progress()->set_accuracy(0);
  // Pages go on where the last one ended, also among those without.
  EXPECT_EQ(Pages(Request("namespaces/n", 2, "accuracy desc")),
            "n/jobs/c n/jobs/a | n/jobs/e n/jobs/b | n/jobs/d");
  EXPECT_EQ(Pages(Request("namespaces/n", 2, "accuracy,name desc")),
            "n/jobs/d n/jobs/b | n/jobs/e n/jobs/a | n/jobs/c");
}

TEST_F(JobListTest, ATokenIsForItsOwnQuery) {
  Add("n/jobs/a", 1);
  Add("n/jobs/b", 2);
  const std::string token = List(Request("namespaces/n", 1))->next_page_token();
  ASSERT_FALSE(token.empty());
  for (v1::ListJobsRequest request :
       {Request("namespaces/-"), Request("namespaces/n", 1, "name"),
        Request("namespaces/n", 1, "", "state = RUNNING")}) {
    request.set_page_token(token);
    const absl::Status status = List(request).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(ViolationsOf(status).at(0).field, "page_token");
  }
  v1::ListJobsRequest bigger = Request("namespaces/n", 10);
  bigger.set_page_token(token);
  EXPECT_EQ(List(bigger)->jobs_size(), 1);
}

TEST(JobOrderTest, BadOrdersSayWhatIsWrong) {
  for (const auto& [text, says] :
       std::vector<std::pair<std::string, std::string>>{
           {"colour", "not ordered by \"colour\"; there are create_time"},
           {"name,", "not ordered by \"\""},
           {",", "not ordered by \"\""},
           {"name asc", "\"name asc\": only \" desc\" may follow"},
           {"name desc desc", "only \" desc\""},
           {"name DESC", "only \" desc\""},
           {"name, name desc", "name is named twice"}}) {
    const absl::Status status = JobOrder::Parse(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    ASSERT_EQ(ViolationsOf(status).size(), 1) << text;
    EXPECT_EQ(ViolationsOf(status)[0].field, "order_by");
    EXPECT_THAT(ViolationsOf(status)[0].description, HasSubstr(says));
  }
}

}  // namespace
}  // namespace paceline
