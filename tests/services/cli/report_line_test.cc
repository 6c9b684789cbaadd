#include "services/cli/report_line.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

template <class T>
T ParseAs(absl::string_view line) {
  const absl::StatusOr<Report> report = ParseReportLine(line);
  EXPECT_TRUE(report.ok()) << report.status();
  if (!report.ok() || !std::holds_alternative<T>(*report)) {
    ADD_FAILURE() << "not the expected report: " << line;
    return T();
  }
  return std::get<T>(*report);
}

TEST(ReportLineTest, Listening) {
  EXPECT_EQ(ParseAs<ListeningReport>(
                R"({"event":"listening","address":"127.0.0.1:41233"})")
                .address,
            "127.0.0.1:41233");
}

TEST(ReportLineTest, Started) {
  const auto started = ParseAs<StartedReport>(
      R"({"event":"started","parameters":61706,"train_samples":60000})");
  EXPECT_EQ(started.parameters, 61706);
  EXPECT_EQ(started.train_samples, 60000);
}

TEST(ReportLineTest, Progress) {
  const auto progress = ParseAs<ProgressReport>(
      R"({"event":"progress","seconds":1.5,"state":"training","samples":320,)"
      R"("samples_total":6000,"samples_per_second":213.3,"version":10,)"
      R"("loss":2.25,"accuracy":null,"workers":[{"worker":"w0",)"
      R"("state":"waiting","clock":5,"gap":1,"wait_seconds":0.25,)"
      R"("iterations":5}]})");
  EXPECT_EQ(progress.seconds, 1.5);
  EXPECT_EQ(progress.state, "training");
  EXPECT_EQ(progress.samples, 320);
  EXPECT_EQ(progress.samples_total, 6000);
  EXPECT_EQ(progress.samples_per_second, 213.3);
  EXPECT_EQ(progress.version, 10);
  EXPECT_EQ(progress.loss, 2.25);
  EXPECT_FALSE(progress.accuracy.has_value());
  ASSERT_EQ(progress.workers.size(), 1u);
  EXPECT_EQ(progress.workers[0].worker, "w0");
  EXPECT_EQ(progress.workers[0].state, "waiting");
  EXPECT_EQ(progress.workers[0].clock, 5);
  EXPECT_EQ(progress.workers[0].gap, 1);
  EXPECT_EQ(progress.workers[0].wait_seconds, 0.25);
  EXPECT_EQ(progress.workers[0].iterations, 5);
}

TEST(ReportLineTest, EvaluatedAndDecision) {
  const auto evaluated = ParseAs<EvaluatedReport>(
      R"({"event":"evaluated","seconds":2,"version":180,"samples":5760,)"
      R"("accuracy":0.71,"loss":0.9})");
  EXPECT_EQ(evaluated.version, 180);
  EXPECT_EQ(evaluated.accuracy, 0.71);
  const auto decision = ParseAs<DecisionReport>(
      R"({"event":"decision","seconds":3.5,"worker":"w2","text":"lost"})");
  EXPECT_EQ(decision.seconds, 3.5);
  EXPECT_EQ(decision.worker, "w2");
  EXPECT_EQ(decision.text, "lost");
}

TEST(ReportLineTest, ResultKeepsWhatItDoesNotKnowAndTheOrderOfFields) {
  const auto result = ParseAs<ResultReport>(
      R"({"event":"result","run":{"z":1,"paradigm":"bsp","a":[0.1]}})");
  EXPECT_EQ(result.run.dump(), R"({"z":1,"paradigm":"bsp","a":[0.1]})");
}

TEST(ReportLineTest, FailedKeepsCodeAndMessage) {
  EXPECT_EQ(ParseAs<FailedReport>(
                R"({"event":"failed","code":"NOT_FOUND","message":"no file"})")
                .status,
            absl::NotFoundError("no file"));
  EXPECT_EQ(ParseAs<FailedReport>(
                R"({"event":"failed","code":"OK","message":"what"})")
                .status,
            absl::UnknownError("what"));
}

TEST(ReportLineTest, FieldsOfAnotherTypeCountAsAbsent) {
  const auto progress = ParseAs<ProgressReport>(
      R"({"event":"progress","seconds":"x","samples":1e300,"workers":7,)"
      R"("loss":"nan","accuracy":[1]})");
  EXPECT_EQ(progress.seconds, 0);
  EXPECT_EQ(progress.samples, 0);
  EXPECT_TRUE(progress.workers.empty());
  EXPECT_FALSE(progress.loss.has_value());
}

// What works on it recurses, and the stack would end.
TEST(ReportLineTest, RefusesWhatIsTooDeep) {
  const std::string deep = R"({"event":"result","run":{"a":)" +
                           std::string(100'000, '[') +
                           std::string(100'000, ']') + "}}";
  EXPECT_TRUE(absl::IsInvalidArgument(ParseReportLine(deep).status()));
}

TEST(ReportLineTest, RefusesWhatIsNoReport) {
  for (absl::string_view line :
       {"", "hello", "[1]", "7", "{", R"({"event":"dance"})", R"({"event":3})",
        R"({"event":"listening"})", R"({"event":"listening","address":7})",
        R"({"event":"result"})", R"({"event":"result","run":[]})",
        "{\"event\":\"\xff\"}"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseReportLine(line).status()))
        << line;
  }
}

}  // namespace
}  // namespace paceline
