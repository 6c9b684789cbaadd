#include "services/cli/progress_view.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;
using testing::StartsWith;

ProgressReport Sample() {
  return {.seconds = 12,
          .state = "training",
          .samples = 25800,
          .samples_total = 60000,
          .samples_per_second = 5210,
          .version = 806,
          .loss = 0.31,
          .accuracy = 0.912,
          .workers = {{"w0", "computing", 12, 1, 0.12, 12},
                      {"w1", "lost", 3, 0, 75.25, 3}}};
}

TEST(ProgressViewTest, PlainLineHasEverything) {
  EXPECT_EQ(PlainProgress(Sample(), 0),
            "12.0 s  training  43 %  25800/60000 samples  accuracy 0.912  loss "
            "0.310  5210 samples/s  left 6.6 s | w0 computing clock 12 gap 1 "
            "waited 0.12 s | w1 lost clock 3 gap 0 waited 75.2 s");
}

TEST(ProgressViewTest, PlainLineLeavesOutWhatIsNotKnownYet) {
  EXPECT_EQ(PlainProgress({.state = "loading"}, 0),
            "0.0 s  loading  0 %  0/0 samples  0 samples/s");
}

TEST(ProgressViewTest, TimeLeftIsBoundedByTheRunsTime) {
  EXPECT_DOUBLE_EQ(*SecondsLeft(Sample(), 0), 34200.0 / 5210);
  EXPECT_DOUBLE_EQ(*SecondsLeft(Sample(), 15), 3);
  EXPECT_DOUBLE_EQ(*SecondsLeft(Sample(), 10), 0);
  EXPECT_DOUBLE_EQ(*SecondsLeft(Sample(), 600), 34200.0 / 5210);
  EXPECT_FALSE(SecondsLeft(ProgressReport(), 0).has_value());
  ProgressReport absurd = Sample();
  absurd.samples = INT64_MIN;
  absurd.samples_total = INT64_MAX;
  EXPECT_GT(*SecondsLeft(absurd, 0), 1e15);
  ProgressReport evaluating = Sample();
  evaluating.state = "evaluating";
  EXPECT_FALSE(SecondsLeft(evaluating, 15).has_value());
}

TEST(ProgressViewTest, ShortSeconds) {
  EXPECT_EQ(ShortSeconds(0.42), "0.42 s");
  EXPECT_EQ(ShortSeconds(31.24), "31.2 s");
  EXPECT_EQ(ShortSeconds(725), "12 min 05 s");
  EXPECT_EQ(ShortSeconds(11400), "3 h 10 min");
  EXPECT_EQ(ShortSeconds(1.0 / 0.0), "?");
}

TEST(ProgressViewTest, TerminalShowsABarAndOneLinePerWorker) {
  EXPECT_THAT(
      TerminalProgress(Sample(), "bsp", {.width = 100}),
      ElementsAre("bsp [#############.................]  43 %  accuracy 0.912  "
                  "loss 0.310  5210 samples/s  left 6.6 s",
                  "  w0   computing  clock     12  gap   1  waited 0.12 s",
                  "  w1   lost       clock      3  gap   0  waited 75.2 s"));
}

TEST(ProgressViewTest, ABarThatStandsStillSaysWhy) {
  EXPECT_EQ(TerminalProgress({.state = "evaluating"}, "bsp", {.width = 60})[0],
            "bsp evaluating [........................]   0 %  0 samples/s");
}

TEST(ProgressViewTest, NoLineIsWiderThanTheTerminal) {
  for (int width : {1, 5, 20, 40, 61, 79, 200}) {
    for (const std::string& line :
         TerminalProgress(Sample(), "bsp", {.width = width})) {
      EXPECT_LE(line.size(), static_cast<size_t>(width));
    }
  }
}

TEST(ProgressViewTest, NoMoreLinesThanTheTerminalHas) {
  ProgressReport progress = Sample();
  progress.workers.resize(64, progress.workers[0]);
  const auto lines = TerminalProgress(progress, "bsp", {.height = 10});
  ASSERT_THAT(lines, SizeIs(10));
  EXPECT_EQ(lines.back(), "  and 56 more");
  EXPECT_THAT(TerminalProgress(progress, "bsp", {.height = 65}), SizeIs(65));
  EXPECT_THAT(TerminalProgress(progress, "bsp", {.height = 1}), SizeIs(1));
}

TEST(ProgressViewTest, ColorWrapsTheWholeLineOfAWorker) {
  const auto lines =
      TerminalProgress(Sample(), "bsp", {.width = 100, .color = true});
  EXPECT_THAT(lines[1], StartsWith("\x1b[32m  w0"));
  EXPECT_THAT(lines[2], StartsWith("\x1b[31m  w1"));
  EXPECT_THAT(lines[2], testing::EndsWith("75.2 s\x1b[0m"));
}

TEST(ProgressViewTest, SinglesLines) {
  EXPECT_EQ(EvaluatedLine({.seconds = 12,
                           .version = 180,
                           .samples = 5760,
                           .accuracy = 0.912,
                           .loss = 0.31}),
            "12.0 s  evaluated version 180 (5760 samples): accuracy 0.9120, "
            "loss 0.310");
  EXPECT_EQ(DecisionLine({.seconds = 3.25, .worker = "w2", .text = "lost"}),
            "3.2 s  w2: lost");
}

}  // namespace
}  // namespace paceline
