#include "services/coordinator/run/trace_writer.h"

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

std::vector<nlohmann::json> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(nlohmann::json::parse(line));
  }
  return lines;
}

v1::PushDone Report(int64_t iteration) {
  v1::PushDone report;
  report.set_iteration(iteration);
  report.set_samples(32);
  report.mutable_seconds()->set_load(0.125);
  report.mutable_seconds()->set_compute(1);
  report.mutable_seconds()->set_push(0.25);
  report.mutable_seconds()->set_pull(0.75);
  report.mutable_seconds()->set_parked(0.5);
  report.mutable_seconds()->set_wait(2);
  return report;
}

TEST(TraceWriterTest, WritesALineForEachPush) {
  const TestFolder folder;
  const std::string path = folder.Path("trace.jsonl");
  std::unique_ptr<TraceWriter> trace = *TraceWriter::Create(path);
  trace->Write("w0", Report(1));
  v1::PushDone discarded = Report(2);
  discarded.set_discarded(true);
  trace->Write("w0", discarded);
  v1::PushDone empty = Report(3);
  empty.set_samples(0);
  trace->Write("w0", empty);
  trace->Write("w\xff", Report(1));
  ASSERT_TRUE(trace->Close().ok());
  const std::vector<nlohmann::json> lines = LinesOf(path);
  ASSERT_EQ(lines.size(), 2u);
  const nlohmann::json want = {
      {"worker", "w0"}, {"iteration", 1}, {"samples", 32},
      {"load", 0.125},  {"compute", 1.0}, {"push", 0.25},
      {"pull", 0.25},   {"parked", 0.5},  {"wait", 2.0}};
  EXPECT_EQ(lines[0], want);
}

TEST(TraceWriterTest, SaysThatAFolderIsMissing) {
  const absl::Status status =
      TraceWriter::Create("/no/such/folder/trace.jsonl").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("/no/such/folder/trace.jsonl"));
}

TEST(TraceWriterTest, SaysThatTheDiskIsFull) {
  std::unique_ptr<TraceWriter> trace = *TraceWriter::Create("/dev/full");
  trace->Write("w0", Report(1));
  EXPECT_TRUE(absl::IsDataLoss(trace->Close()));
}

}  // namespace
}  // namespace paceline
