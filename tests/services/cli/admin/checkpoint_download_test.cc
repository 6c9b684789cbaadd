#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_tools.h"
#include "common/security/small_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/checkpoint/checkpoint_samples.h"
#include "tests/common/test_folder.h"
#include "tests/services/cli/admin/fake_cluster.h"
#include "tests/services/cli/admin/run_command.h"
#include "tests/services/cli/admin/samples.h"

namespace paceline {
namespace {

using testing::HasSubstr;

// A coordinator whose job has the sample's files, and gives them in pieces of
// 1,000 bytes.
class CheckpointDownloadTest : public testing::Test {
 protected:
  CheckpointDownloadTest() {
    manifest_ = WriteSample(there_);
    command_.environment["PACELINE_ADDRESS"] = cluster_.address();
    v1::ListCheckpointsResponse listed;
    v1::Checkpoint& writing = *listed.add_checkpoints();
    writing = ReadyCheckpoint();
    writing.set_name("namespaces/default/jobs/mnist/checkpoints/c2");
    writing.set_state(v1::Checkpoint::WRITING);
    *listed.add_checkpoints() = ReadyCheckpoint();
    cluster_.jobs.onListCheckpoints.Gives(listed);
    cluster_.jobs.onReadCheckpoint =
        [this](const v1::ReadCheckpointRequest& request,
               v1::ReadCheckpointResponse* part) -> absl::Status {
      EXPECT_EQ(request.name(), ReadyCheckpoint().name());
      if (request.file() == fails_) return absl::DataLossError("the disk");
      ++read_[request.file()];
      const std::string text =
          *ReadSmallFile(absl::StrCat(there_, "/", request.file()));
      part->set_data(text.substr(static_cast<size_t>(request.offset()), 1000));
      part->set_file_bytes(static_cast<int64_t>(text.size()));
      return absl::OkStatus();
    };
  }

  CommandRunner::Outcome Download(const std::string& what) {
    return command_.Run(
        absl::StrCat("checkpoint download ", what, " --to ", here_));
  }

  const TestFolder folder_;
  const std::string there_ = folder_.Path("there");
  const std::string here_ = folder_.Path("new/here");
  CheckpointManifest manifest_;
  std::string fails_;                // Reading this file does.
  std::map<std::string, int> read_;  // Parts of each file.
  FakeCluster cluster_;
  CommandRunner command_;
};

TEST_F(CheckpointDownloadTest, OfAJobTheNewestThatIsReady) {
  for (const std::string what : {"mnist", "mnist/c1"}) {
    const auto outcome = Download(what);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out,
                HasSubstr("here: checkpoint c1 of job mnist, 1280 samples, 2 "
                          "files"));
    const auto report = VerifyCheckpoint(here_);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->manifest, manifest_);
    EXPECT_THAT(report->problems, testing::IsEmpty());
    std::filesystem::remove_all(here_);
  }
}

TEST_F(CheckpointDownloadTest, OneThatWasCutOffGoesOn) {
  const std::string first = manifest_.files[0].name;
  fails_ = manifest_.files[1].name;
  const auto cut = Download("mnist");
  EXPECT_NE(cut.code, 0);
  EXPECT_THAT(cut.err, HasSubstr("the disk"));
  // It is not taken for a checkpoint.
  EXPECT_FALSE(VerifyCheckpoint(here_).ok());
  fails_.clear();
  const int parts = read_[first];
  EXPECT_EQ(Download("mnist").code, 0);
  EXPECT_EQ(read_[first], parts);
  EXPECT_TRUE(VerifyCheckpoint(here_)->problems.empty());
  const auto again = Download("mnist");
  EXPECT_NE(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("has a checkpoint already"));
}

TEST_F(CheckpointDownloadTest, WhatIsNotAsItWasSavedIsRefused) {
  const std::string path = absl::StrCat(there_, "/", manifest_.files[1].name);
  std::string text = *ReadSmallFile(path);
  text.back() = static_cast<char>(text.back() ^ 1);
  std::ofstream(path) << text;
  const auto outcome = Download("mnist");
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("is not what was saved"));
  EXPECT_FALSE(VerifyCheckpoint(here_).ok());
}

TEST_F(CheckpointDownloadTest, AJobWithoutAReadyOne) {
  cluster_.jobs.onListCheckpoints.Gives(v1::ListCheckpointsResponse());
  const auto outcome = Download("mnist");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("has no checkpoint that is READY"));
}

}  // namespace
}  // namespace paceline
