#include "services/cli/admin/output/job_comparison.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::Optional;

// A job that has measured `accuracies`, one every ten seconds.
ReportedJob JobWith(const std::string& label,
                    const std::vector<double>& accuracies) {
  ReportedJob job{.label = label, .report = Json::object()};
  job.job.set_name("namespaces/default/jobs/" + label);
  job.job.set_state(v1::Job::SUCCEEDED);
  job.job.mutable_spec()->set_paradigm("bsp");
  job.job.mutable_progress()->set_samples(6400);
  for (size_t i = 0; i < accuracies.size(); ++i) {
    const double seconds = 10 * static_cast<double>(i + 1);
    job.report["accuracy"].push_back({{"seconds", seconds},
                                      {"samples", 640 * (i + 1)},
                                      {"accuracy", accuracies[i]},
                                      {"loss", 1 - accuracies[i]}});
    job.report["seconds"] = seconds;
  }
  return job;
}

MetricTarget Target(const char* text) { return *ParseMetricTarget(text); }

std::string Sentence(const std::vector<ReportedJob>& jobs,
                     const std::optional<MetricTarget>& target) {
  return ComparisonSentence(CompareJobs(jobs, target));
}

TEST(JobComparisonTest, Table) {
  ReportedJob cgp = JobWith("cgp", {0.5, 0.98, 0.97});
  cgp.job.mutable_spec()->set_batching("balanced");
  cgp.report["paradigm"] = "dssp:lower=3,upper=15";
  cgp.report["switches"] = {{{"to", "cgp:beta=0.9"}}};
  cgp.job.mutable_progress()->set_paradigm("cgp:beta=0.9");
  const JobComparison comparison =
      CompareJobs({JobWith("baseline", {0.5, 0.75}),
                   cgp,
                   {.label = "later", .report = Json::object()}},
                  Target("accuracy>=0.74"));
  EXPECT_EQ(RenderTable(ComparisonTable(comparison, /*wide=*/false), true),
            "JOB        STATE               PARADIGM     BATCHING   SAMPLES   "
            "SECONDS "
            "  LAST ACCURACY   BEST ACCURACY   TO ACCURACY>=0.74\n"
            "baseline   SUCCEEDED           bsp          even       6400      "
            "20.0    "
            "  0.7500          0.7500          19.6\n"
            "cgp        SUCCEEDED           dssp > cgp   balanced   6400      "
            "30.0    "
            "  0.9700          0.9800          15.0\n"
            "later      STATE_UNSPECIFIED   bsp          even       0         "
            "0.0     "
            "  <none>          <none>          <none>\n");
  EXPECT_THAT(ComparisonTable(comparison, /*wide=*/true).rows[1][2],
              Eq("dssp:lower=3,upper=15 > cgp:beta=0.9"));
  EXPECT_EQ(
      CsvText(ComparisonForPrograms(comparison), true),
      "job,state,paradigms,batching,samples,seconds,metric,last,best,target,"
      "seconds_to_target\n"
      "namespaces/default/jobs/baseline,SUCCEEDED,bsp,even,6400,20.0,accuracy,"
      "0.75,0.75,accuracy>=0.74,19.6\n"
      "namespaces/default/jobs/cgp,SUCCEEDED,\"dssp:lower=3,upper=15 > "
      "cgp:beta=0.9\",balanced,6400,30.0,accuracy,0.97,0.98,accuracy>=0.74,"
      "15.0\n"
      ",STATE_UNSPECIFIED,bsp,even,0,0.0,accuracy,,,accuracy>=0.74,\n");
}

TEST(JobComparisonTest, Document) {
  const Json document = ComparisonDocument(CompareJobs(
      {JobWith("a", {0.5, 0.75}), JobWith("b", {0.25})}, std::nullopt));
  EXPECT_EQ(document["metric"], "accuracy");
  EXPECT_TRUE(document["target"].is_null());
  EXPECT_EQ(document["jobs"][0],
            Json::parse(R"({"job": "namespaces/default/jobs/a",
              "state": "SUCCEEDED", "paradigms": ["bsp"], "batching": "even",
              "samples": 6400, "seconds": 20.0, "last": 0.75, "best": 0.75,
              "seconds_to_target": null})"));
  EXPECT_EQ(document["conclusion"],
            "a has the best accuracy, 0.7500; b has 0.2500.");
}

TEST(JobComparisonTest, WhoReachedTheTargetFirst) {
  const ReportedJob slow = JobWith("slow", {0.1, 0.2, 0.3, 0.9, 0.9});
  const ReportedJob quick = JobWith("quick", {0.1, 0.9, 0.9});
  const ReportedJob bad = JobWith("bad", {0.1, 0.2});
  const ReportedJob worse = JobWith("worse", {});
  const MetricTarget target = Target("accuracy>=0.9");
  EXPECT_EQ(Sentence({slow, quick}, target),
            "quick reached accuracy>=0.9 2.0 times sooner than slow.");
  EXPECT_EQ(Sentence({slow, bad, quick, quick, worse}, target),
            "quick reached accuracy>=0.9 about as soon as quick and 2.0 times "
            "sooner than slow; bad and worse have not reached it.");
  EXPECT_EQ(Sentence({bad, quick}, target),
            "quick reached accuracy>=0.9 after 20.0 s; bad has not reached "
            "it.");
  EXPECT_EQ(Sentence({bad, worse}, target),
            "None of them has reached accuracy>=0.9.");
  EXPECT_EQ(Sentence({slow, quick}, Target("loss<=0.1")),
            "quick reached loss<=0.1 2.0 times sooner than slow.");
}

TEST(JobComparisonTest, TheBestWithoutATarget) {
  const ReportedJob worse = JobWith("worse", {});
  EXPECT_EQ(Sentence({JobWith("a", {0.9, 0.4}), JobWith("b", {0.5}), worse},
                     std::nullopt),
            "a has the best accuracy, 0.9000; b has 0.5000 and worse has "
            "none.");
  EXPECT_EQ(Sentence({worse, worse}, std::nullopt),
            "None of them has been evaluated.");
  // Programs may measure no accuracy: a smaller loss is better.
  ReportedJob a = JobWith("a", {0.5});
  ReportedJob b = JobWith("b", {0.75});
  for (ReportedJob* const job : {&a, &b}) {
    job->report["accuracy"][0].erase("accuracy");
  }
  EXPECT_EQ(Sentence({a, b}, std::nullopt),
            "b has the best loss, 0.2500; a has 0.5000.");
}

// An automatic job may have had many.
TEST(JobComparisonTest, ParadigmsThatFitNoLine) {
  ReportedJob job = JobWith("auto", {0.5});
  job.report["paradigm"] = "bsp";
  for (const char* const next : {"asp", "ssp:s=3", "cgp", "bsp"}) {
    job.report["switches"].push_back({{"to", next}});
  }
  const JobComparison comparison = CompareJobs({job, job}, std::nullopt);
  EXPECT_THAT(comparison.jobs[0].paradigms,
              ElementsAre("bsp", "asp", "ssp:s=3", "cgp", "bsp"));
  EXPECT_EQ(ComparisonTable(comparison, false).rows[0][2],
            "bsp > 3 others > bsp");
  EXPECT_THAT(comparison.jobs[0].best, Optional(0.5));
}

}  // namespace
}  // namespace paceline
