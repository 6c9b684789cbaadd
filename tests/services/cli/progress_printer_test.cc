#include "services/cli/progress_printer.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

class ProgressPrinterTest : public testing::Test {
 protected:
  ProgressPrinter Make(bool terminal) {
    return ProgressPrinter(
        {.write =
             [this](absl::string_view text) {
               absl::StrAppend(&written_, text);
               return taken_;
             },
         .terminal = terminal,
         .size = [] { return TerminalSize{.columns = 41, .rows = 5}; }});
  }
  // What was written since the last call.
  std::string Written() { return std::exchange(written_, {}); }

  static v1::JobProgress Progress() {
    v1::JobProgress progress;
    progress.set_seconds(1);
    progress.set_phase("training");
    progress.set_samples(5);
    progress.set_samples_total(10);
    progress.set_samples_per_second(5);
    return progress;
  }

  static v1::Decision Lost(double seconds) {
    v1::Decision decision;
    decision.set_seconds(seconds);
    decision.set_worker("w0");
    decision.set_text("lost");
    return decision;
  }

  std::string written_;
  bool taken_ = true;
};

TEST_F(ProgressPrinterTest, PlainLinesComeEveryTenSeconds) {
  ProgressPrinter printer = Make(/*terminal=*/false);
  printer.StartRun("bsp", 0);
  const absl::Time start = absl::UnixEpoch();
  const std::string line =
      "[bsp] 1.0 s  training  50 %  5/10 samples  5 samples/s  left 1.0 s\n";
  printer.Show(Progress(), start);
  EXPECT_EQ(Written(), line);
  printer.Show(Progress(), start + absl::Milliseconds(9900));
  EXPECT_EQ(Written(), "");
  printer.Show(Progress(), start + absl::Seconds(10));
  EXPECT_EQ(Written(), line);
}

TEST_F(ProgressPrinterTest, APlainLineForEachPhase) {
  ProgressPrinter printer = Make(/*terminal=*/false);
  printer.StartRun("bsp", 0);
  v1::JobProgress progress = Progress();
  progress.set_phase("loading");
  printer.Show(progress, absl::UnixEpoch());
  EXPECT_THAT(Written(), testing::HasSubstr("loading"));
  printer.Show(Progress(), absl::UnixEpoch());
  EXPECT_THAT(Written(), testing::HasSubstr("training"));
  printer.Show(Progress(), absl::UnixEpoch());
  EXPECT_EQ(Written(), "");
}

TEST_F(ProgressPrinterTest, PlainLinesForEvaluationsDecisionsAndNotes) {
  ProgressPrinter printer = Make(/*terminal=*/false);
  printer.StartRun("bsp", 0);
  v1::AccuracyPoint point;
  point.set_seconds(1);
  point.set_accuracy(0.5);
  point.set_loss(0);
  printer.Show(point);
  EXPECT_EQ(Written(),
            "[bsp] 1.0 s  evaluated version 0 (0 samples): accuracy 0.5000, "
            "loss 0.000\n");
  printer.Show(Lost(1));
  EXPECT_EQ(Written(), "[bsp] 1.0 s  w0: lost\n");
  printer.Note("one\ntwo\x1b[2J");
  EXPECT_EQ(Written(), "one two [2J\n") << "others must not move the cursor";
  printer.Clear();
  EXPECT_EQ(Written(), "");
}

TEST_F(ProgressPrinterTest, TerminalRedrawsInPlace) {
  ProgressPrinter printer = Make(/*terminal=*/true);
  printer.StartRun("bsp", 0);
  v1::JobProgress progress = Progress();
  progress.add_workers()->set_worker("w0");
  progress.mutable_workers(0)->set_state("idle");
  const std::string drawn =
      "bsp  50 %  5 samples/s  left 1.0 s\n"
      "  w0   idle       clock      0  gap   0 \n";
  printer.Show(progress, absl::UnixEpoch());
  EXPECT_EQ(Written(), drawn);
  printer.Show(progress, absl::UnixEpoch());
  EXPECT_EQ(Written(), absl::StrCat("\x1b[2A\r\x1b[J", drawn));
  printer.Show(Lost(0));
  EXPECT_EQ(Written(),
            absl::StrCat("\x1b[2A\r\x1b[J", "[bsp] 0.0 s  w0: lost\n", drawn));
  printer.Clear();
  EXPECT_EQ(Written(), "\x1b[2A\r\x1b[J");
  printer.Note("end");
  EXPECT_EQ(Written(), "end\n");
}

TEST_F(ProgressPrinterTest, RemembersThatNobodyReads) {
  for (const bool terminal : {false, true}) {
    ProgressPrinter printer = Make(terminal);
    printer.StartRun("bsp", 0);
    printer.Show(Progress(), absl::UnixEpoch());
    EXPECT_FALSE(printer.broken());
    taken_ = false;
    printer.Note("lost");
    EXPECT_TRUE(printer.broken());
    taken_ = true;
    Written();
    printer.Note("still tried");
    EXPECT_NE(Written(), "");
    EXPECT_TRUE(printer.broken());
  }
}

}  // namespace
}  // namespace paceline
