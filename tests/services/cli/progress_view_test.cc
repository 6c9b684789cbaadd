#include "services/cli/progress_view.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/one_line.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using testing::StartsWith;

v1::WorkerProgress Worker(const char* name, const char* state, int64_t clock,
                          int64_t gap, double wait_seconds) {
  v1::WorkerProgress worker;
  worker.set_worker(name);
  worker.set_state(state);
  worker.set_clock(clock);
  worker.set_gap(gap);
  worker.set_wait_seconds(wait_seconds);
  return worker;
}

v1::JobProgress InPhase(const char* phase) {
  v1::JobProgress progress;
  progress.set_phase(phase);
  return progress;
}

v1::JobProgress Sample() {
  v1::JobProgress progress = InPhase("training");
  progress.set_seconds(12);
  progress.set_samples(25800);
  progress.set_samples_total(60000);
  progress.set_samples_per_second(5210);
  progress.set_loss(0.31);
  progress.set_accuracy(0.912);
  *progress.add_workers() = Worker("w0", "computing", 12, 1, 0.12);
  *progress.add_workers() = Worker("w1", "lost", 3, 0, 75.25);
  return progress;
}

TEST(ProgressViewTest, PlainLineHasEverything) {
  EXPECT_EQ(PlainProgress(Sample(), 0),
            "12.0 s  training  43 %  25800/60000 samples  accuracy 0.912  loss "
            "0.310  5210 samples/s  left 6.6 s | w0 computing clock 12 gap 1 "
            "waited 0.12 s | w1 lost clock 3 gap 0 waited 75.2 s");
}

TEST(ProgressViewTest, PlainLineLeavesOutWhatIsNotKnownYet) {
  EXPECT_EQ(PlainProgress(InPhase("loading"), 0),
            "0.0 s  loading  0 %  0/0 samples  0 samples/s");
}

TEST(ProgressViewTest, TimeLeftIsBoundedByTheRunsTime) {
  EXPECT_DOUBLE_EQ(*SecondsLeft(Sample(), 0), 34200.0 / 5210);
  EXPECT_DOUBLE_EQ(*SecondsLeft(Sample(), 15), 3);
  EXPECT_DOUBLE_EQ(*SecondsLeft(Sample(), 10), 0);
  EXPECT_DOUBLE_EQ(*SecondsLeft(Sample(), 600), 34200.0 / 5210);
  EXPECT_FALSE(SecondsLeft(v1::JobProgress(), 0).has_value());
  v1::JobProgress absurd = Sample();
  absurd.set_samples(INT64_MIN);
  absurd.set_samples_total(INT64_MAX);
  EXPECT_GT(*SecondsLeft(absurd, 0), 1e15);
  v1::JobProgress evaluating = Sample();
  evaluating.set_phase("evaluating");
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
      ElementsAre("bsp [##############..................]  43 %  accuracy "
                  "0.912  loss 0.310  5210 samples/s  left 6.6 s",
                  "  w0   computing  clock     12  gap   1  waited 0.12 s",
                  "  w1   lost       clock      3  gap   0  waited 75.2 s"));
}

TEST(ProgressViewTest, DetailsAreALineOfTheirOwn) {
  v1::JobProgress progress = Sample();
  progress.set_paradigm("ssp:s=3");
  progress.mutable_workers(1)->set_straggler(true);
  const ViewOptions options = {.width = 100, .height = 3, .details = true};
  const auto lines = TerminalProgress(progress, "mnist", options);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[1], "  25800 of 60000 samples  ssp:s=3");
  EXPECT_EQ(lines[2], "  and 2 more");
  EXPECT_EQ(
      TerminalProgress(progress, "mnist", {.width = 100}).back(),
      "  w1   lost       clock      3  gap   0  waited 75.2 s  STRAGGLER");
  EXPECT_THAT(TerminalProgress(progress, "mnist",
                               {.width = 100, .height = 1, .details = true}),
              SizeIs(1));
}

TEST(ProgressViewTest, ABarThatStandsStillSaysWhy) {
  EXPECT_EQ(TerminalProgress(InPhase("evaluating"), "bsp", {.width = 60})[0],
            "bsp evaluating [........................]   0 %  0 samples/s");
}

TEST(ProgressViewTest, ABarTakesWhatTheLineHasLeft) {
  const auto cells = [](int width) {
    const std::string line =
        TerminalProgress(Sample(), "bsp", {.width = width})[0];
    return line.find(']') - line.find('[') - 1;
  };
  EXPECT_EQ(cells(140), cells(100) + 40);
  // One that is longer is not easier to read.
  EXPECT_EQ(cells(300), 80);
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
  v1::JobProgress progress = Sample();
  while (progress.workers_size() < 64) {
    *progress.add_workers() = Worker("w2", "idle", 0, 0, 0);
  }
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

TEST(ProgressViewTest, SingleLines) {
  v1::AccuracyPoint point;
  point.set_seconds(12);
  point.set_version(180);
  point.set_samples(5760);
  point.set_accuracy(0.912);
  point.set_loss(0.31);
  EXPECT_EQ(EvaluatedLine(point),
            "12.0 s  evaluated version 180 (5760 samples): accuracy 0.9120, "
            "loss 0.310");
  // A language model has no accuracy.
  point.clear_accuracy();
  (*point.mutable_metrics())["top5"] = 0.98;
  (*point.mutable_metrics())["perplexity"] = 20.314159;
  EXPECT_EQ(EvaluatedLine(point),
            "12.0 s  evaluated version 180 (5760 samples): loss 0.310, "
            "perplexity 20.31, top5 0.98");
  v1::Decision decision;
  decision.set_seconds(3.25);
  decision.set_worker("w2");
  decision.set_text("lost");
  EXPECT_EQ(DecisionLine(decision), "3.2 s  w2: lost");
}

TEST(ProgressViewTest, WhatPeersWriteMovesNoCursor) {
  v1::JobProgress progress = InPhase("a\x1b[2J");
  *progress.add_workers() = Worker("w\n0",
                                   "\xc2\x9b"
                                   "b",
                                   0, 0, 0);
  std::vector<std::string> lines = TerminalProgress(progress, "bsp", {});
  lines.push_back(PlainProgress(progress, 0));
  v1::Decision decision;
  decision.set_worker("w\r0");
  decision.set_text("\x1b]0;");
  lines.push_back(DecisionLine(decision));
  EXPECT_THAT(lines, SizeIs(4));
  for (const std::string& line : lines) EXPECT_EQ(line, OneLine(line));
}

TEST(OneLineTest, EveryControlCharacterIsABlank) {
  EXPECT_EQ(OneLine("a\nb\tc\x1b[2Jd\x7f"), "a b c [2Jd ");
  EXPECT_EQ(OneLine("a\xc2\x9b"
                    "2Jb\xc2\x80\xc2\x9f"),
            "a 2Jb  ");
}

TEST(OneLineTest, OtherTextStays) {
  EXPECT_EQ(OneLine(""), "");
  EXPECT_EQ(OneLine("Zürich \xc2\xa0 \xe4\xb8\xad"),
            "Zürich \xc2\xa0 \xe4\xb8\xad");
  EXPECT_EQ(OneLine("\xc2"), "\xc2");  // Cut off, as before.
}

}  // namespace

}  // namespace paceline
