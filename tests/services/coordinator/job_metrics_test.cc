#include "services/coordinator/job_metrics.h"

#include <prometheus/text_serializer.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class JobMetricsTest : public testing::Test {
 protected:
  JobMetrics::Worker* OfWorker(const std::string& name) {
    return metrics_->OfWorker(name, "lab", "A100");
  }
  // The samples' lines that begin so, without the prefix of all.
  std::vector<std::string> Lines(const std::string& name) const {
    const std::string text =
        prometheus::TextSerializer().Serialize(registry_.Collect());
    std::vector<std::string> lines;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      constexpr absl::string_view kPrefix = "paceline_coordinator_";
      if (!absl::StartsWith(line, absl::StrCat(kPrefix, name, "{"))) continue;
      lines.emplace_back(line.substr(kPrefix.size()));
    }
    return lines;
  }

  prometheus::Registry registry_;
  std::optional<JobMetrics> metrics_{std::in_place, registry_, "j"};
};

TEST_F(JobMetricsTest, WhatIsKnownBeforehandIsThereAtZero) {
  EXPECT_THAT(Lines("pushes_total"),
              testing::ElementsAre("pushes_total{job_id=\"j\"} 0"));
  EXPECT_EQ(Lines("workers_lost_total").size(), 6u);
  EXPECT_EQ(Lines("decisions_total").size(), DecisionKinds().size());
  EXPECT_THAT(
      Lines("decisions_total"),
      Contains("decisions_total{job_id=\"j\",reason=\"wait_for_slowest\"} 0"));
}

// A program names what it likes, and never so much that it hurts.
TEST_F(JobMetricsTest, MetricsOfEvaluationsAreBounded) {
  EXPECT_TRUE(Lines("evaluation_metric").empty());
  metrics_->SetMetrics({{"perplexity", 20.5}, {"top5", 0.9}});
  metrics_->SetMetrics({{"perplexity", 19.5}});
  EXPECT_THAT(Lines("evaluation_metric"),
              testing::UnorderedElementsAre(
                  "evaluation_metric{job_id=\"j\",metric=\"perplexity\"} 19.5",
                  "evaluation_metric{job_id=\"j\",metric=\"top5\"} 0.9"));
  for (int i = 0; i < 100; ++i) {
    metrics_->SetMetrics({{absl::StrCat("m", i), 1}});
  }
  EXPECT_EQ(Lines("evaluation_metric").size(), 16u);
  metrics_->SetMetrics({{"perplexity", 18}});
  EXPECT_THAT(Lines("evaluation_metric"),
              Contains(HasSubstr("perplexity\"} 18")));
}

TEST_F(JobMetricsTest, EveryDecisionHasANameOfItsOwn) {
  std::set<absl::string_view> names;
  for (const DecisionKind kind : DecisionKinds()) names.insert(NameOf(kind));
  EXPECT_EQ(names.size(), DecisionKinds().size());
  EXPECT_FALSE(names.contains(""));
  EXPECT_EQ(NameOf(DecisionKind::kWaitForRound), "wait_for_round");
  EXPECT_EQ(NameOf(DecisionKind::kTooLate), "too_late");
  EXPECT_EQ(NameOf(DecisionKind::kRegrouped), "regrouped");
  EXPECT_EQ(NameOf(DecisionKind::kDealingStopped), "dealing_stopped");
}

TEST_F(JobMetricsTest, AWorkersSeriesEndWhenItIsGone) {
  OfWorker("w0")->batch->Set(32);
  OfWorker("w1")->batch->Set(8);
  EXPECT_THAT(Lines("worker_batch_samples"),
              Contains("worker_batch_samples{job_id=\"j\",worker=\"w1\"} 8"));
  EXPECT_THAT(
      Lines("worker_info"),
      Contains("worker_info{gpu_model=\"A100\",job_id=\"j\",pool=\"lab\","
               "worker=\"w1\"} 1"));
  metrics_->KeepWorkers({"w0"});
  EXPECT_THAT(Lines("worker_batch_samples"),
              testing::ElementsAre(
                  "worker_batch_samples{job_id=\"j\",worker=\"w0\"} 32"));
}

TEST_F(JobMetricsTest, AWorkerOfTheSameNameElsewhereIsAnother) {
  metrics_->OfWorker("w0", "lab", "A100")->batch->Set(32);
  metrics_->OfWorker("w0", "attic", "T4");
  EXPECT_THAT(Lines("worker_info"),
              testing::ElementsAre("worker_info{gpu_model=\"T4\",job_id=\"j\","
                                   "pool=\"attic\",worker=\"w0\"} 1"));
  EXPECT_THAT(Lines("worker_batch_samples"),
              testing::ElementsAre(
                  "worker_batch_samples{job_id=\"j\",worker=\"w0\"} 0"));
  metrics_->KeepWorkers({});
  EXPECT_THAT(Lines("worker_info"), testing::IsEmpty());
}

TEST_F(JobMetricsTest, WorkersBeyondTheBoundHaveNone) {
  for (size_t i = 0; i < JobMetrics::kWorkersMax; ++i) {
    EXPECT_NE(OfWorker(absl::StrCat("w", i)), nullptr);
  }
  EXPECT_EQ(OfWorker("one more"), nullptr);
  EXPECT_NE(OfWorker("w7"), nullptr);
  EXPECT_NE(metrics_->OfWorker("w7", "attic", "T4"), nullptr);
  EXPECT_EQ(Lines("worker_gap_iterations").size(), JobMetrics::kWorkersMax);
}

TEST_F(JobMetricsTest, WhatIsNotKnownIsAbsent) {
  EXPECT_THAT(Lines("accuracy_ratio"), testing::IsEmpty());
  EXPECT_THAT(Lines("loss"), testing::IsEmpty());
  metrics_->SetAccuracy(0);
  metrics_->SetLoss(2.5);
  EXPECT_THAT(Lines("accuracy_ratio"),
              testing::ElementsAre("accuracy_ratio{job_id=\"j\"} 0"));
  EXPECT_THAT(Lines("loss"), testing::ElementsAre("loss{job_id=\"j\"} 2.5"));
}

TEST_F(JobMetricsTest, TheNoiseOfAGradientThatItHidesHasNoScale) {
  EXPECT_THAT(Lines("gradient_norm"), testing::IsEmpty());
  metrics_->SetGradientNoise(0.5, 96);
  EXPECT_THAT(Lines("gradient_norm"),
              testing::ElementsAre("gradient_norm{job_id=\"j\"} 0.5"));
  EXPECT_THAT(
      Lines("gradient_noise_scale_samples"),
      testing::ElementsAre("gradient_noise_scale_samples{job_id=\"j\"} 96"));
  metrics_->SetGradientNoise(0, std::nullopt);
  EXPECT_THAT(Lines("gradient_noise_scale_samples"), testing::IsEmpty());
}

TEST_F(JobMetricsTest, OneParadigmAtATime) {
  metrics_->SetParadigm("ssp:s=3");
  metrics_->SetThreshold(3);
  metrics_->SetGroups(std::nullopt);
  metrics_->Switched("ssp:s=3", "cgp");
  metrics_->Switched("cgp", "ssp:s=4");
  metrics_->Switched("ssp:s=4", "cgp");
  EXPECT_THAT(Lines("threshold_iterations"),
              testing::ElementsAre("threshold_iterations{job_id=\"j\"} 3"));
  EXPECT_THAT(Lines("groups"), testing::IsEmpty());
  metrics_->SetParadigm("cgp");
  metrics_->SetThreshold(std::nullopt);
  metrics_->SetGroups(2);
  EXPECT_THAT(
      Lines("paradigm_info"),
      testing::ElementsAre("paradigm_info{job_id=\"j\",paradigm=\"cgp\"} 1"));
  EXPECT_THAT(Lines("threshold_iterations"), testing::IsEmpty());
  EXPECT_THAT(Lines("groups"), testing::ElementsAre("groups{job_id=\"j\"} 2"));
  EXPECT_THAT(
      Lines("paradigm_switches_total"),
      Contains(
          "paradigm_switches_total{from=\"ssp\",job_id=\"j\",to=\"cgp\"} 2"));
}

TEST_F(JobMetricsTest, AJobsSeriesEndWithIt) {
  OfWorker("w0");
  metrics_->SetParadigm("bsp");
  const JobMetrics other(registry_, "k");
  metrics_.reset();
  const std::string text =
      prometheus::TextSerializer().Serialize(registry_.Collect());
  EXPECT_THAT(text,
              AllOf(HasSubstr("job_id=\"k\""), Not(HasSubstr("job_id=\"j\""))));
}

}  // namespace
}  // namespace paceline
