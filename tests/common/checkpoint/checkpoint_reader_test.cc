#include "common/checkpoint/checkpoint_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "tests/common/checkpoint/checkpoint_samples.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

using absl::StatusCode;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

uint64_t MostSteps(uint64_t offset, uint64_t size) {
  uint64_t most = 0;
  for (const CheckpointBlock& block : SampleManifest().blocks) {
    if (block.tensor == 0 && block.offset < offset + size &&
        offset < block.offset + block.size) {
      most = std::max(most, kSampleSteps[block.id]);
    }
  }
  return most;
}

// Any run of elements, however the blocks were cut.
TEST(CheckpointReaderTest, AssemblesEveryRunFromItsPieces) {
  const ScratchFolder folder;
  WriteSample(folder.path());
  const auto reader = CheckpointReader::Open(folder.path());
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (uint64_t offset = 0; offset < 12; ++offset) {
    for (uint64_t size = 1; size <= 12 - offset; ++size) {
      SCOPED_TRACE(absl::StrCat(offset, " + ", size));
      const auto block = (*reader)->ReadBlock("a", offset, size);
      ASSERT_TRUE(block.ok()) << block.status();
      EXPECT_THAT(block->weights, ElementsAreArray(Count(offset, 1, size)));
      ASSERT_EQ(block->slots.size(), 1u);
      EXPECT_THAT(block->slots[0],
                  ElementsAreArray(Count(100 + offset, 1, size)));
      EXPECT_EQ(block->steps, MostSteps(offset, size));
      std::vector<float> weights(size);
      ASSERT_TRUE(
          (*reader)->ReadWeights("a", offset, absl::MakeSpan(weights)).ok());
      EXPECT_EQ(weights, block->weights);
    }
  }
  const auto statistic = (*reader)->ReadBlock("s", 1, 2);
  ASSERT_TRUE(statistic.ok()) << statistic.status();
  EXPECT_THAT(statistic->weights, ElementsAreArray(Count(-1, -1, 2)));
  EXPECT_THAT(statistic->slots, IsEmpty());
}

TEST(CheckpointReaderTest, RefusesWhatIsNotThere) {
  const ScratchFolder folder;
  WriteSample(folder.path());
  const auto reader = CheckpointReader::Open(folder.path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->ReadBlock("b", 0, 1).status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ((*reader)->ReadBlock("a", 11, 2).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ((*reader)->ReadBlock("a", ~uint64_t{0}, 2).status().code(),
            StatusCode::kFailedPrecondition);
  const auto cancelled =
      CheckpointReader::Open(folder.path(), [] { return true; });
  ASSERT_TRUE(cancelled.ok());
  EXPECT_EQ((*cancelled)->ReadBlock("a", 0, 1).status().code(),
            StatusCode::kCancelled);
}

// What a flipped bit, another file of the same size, or a missing one gives.
TEST(CheckpointReaderTest, NeverGivesWhatWasNotWritten) {
  const std::string name = ShardFileName(0, 2);
  const ScratchFolder folder;
  WriteSample(folder.path());
  const Bytes whole = folder.Read(name);
  for (const size_t at : {size_t{30}, whole.size() / 2, whole.size() - 1}) {
    Bytes flipped = whole;
    flipped[at] ^= 1;
    folder.Write(name, flipped);
    const auto reader = CheckpointReader::Open(folder.path());
    ASSERT_TRUE(reader.ok());
    const absl::Status status = (*reader)->ReadBlock("a", 0, 1).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << at;
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
    EXPECT_TRUE((*reader)->ReadBlock("a", 4, 3).ok())
        << "the other file is whole";
  }
  folder.Remove(name);
  const auto reader = CheckpointReader::Open(folder.path());
  const absl::Status status = (*reader)->ReadBlock("a", 0, 1).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is missing"));
}

namespace fs = std::filesystem;

TEST(CheckpointFolderTest, RemovesAWholeCheckpoint) {
  const ScratchFolder root;
  const std::string folder = root.path() + "/c";
  WriteSample(folder);
  ASSERT_TRUE(RemoveCheckpoint(folder).ok());
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_EQ(RemoveCheckpoint(folder).code(), StatusCode::kNotFound);
}

TEST(CheckpointFolderTest, RemovesWhatWasNotFinished) {
  const ScratchFolder root;
  fs::create_directories(root.path() + "/c");
  root.Write("c/server-0-of-2.safetensors", {'x'});
  root.Write("c/server-1-of-2.safetensors.tmp-7-0", {'x'});
  root.Write("c/manifest.json.tmp-7-1", {'x'});
  EXPECT_TRUE(RemoveCheckpoint(root.path() + "/c").ok());
  EXPECT_FALSE(fs::exists(root.path() + "/c"));
}

TEST(CheckpointFolderTest, LeavesWhatIsNoPartOfOne) {
  const ScratchFolder root;
  WriteSample(root.path() + "/c");
  root.Write("c/notes.txt", {'x'});
  root.Write("c/model.safetensors", {'x'});
  const absl::Status status = RemoveCheckpoint(root.path() + "/c");
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("which is no part"));
  EXPECT_TRUE(fs::exists(root.path() + "/c/notes.txt"));
  EXPECT_TRUE(fs::exists(root.path() + "/c/model.safetensors"));
  EXPECT_FALSE(fs::exists(root.path() + "/c/manifest.json"));
  EXPECT_FALSE(fs::exists(root.path() + "/c/" + ShardFileName(0, 2)));
}

// A server may not have heard that nobody wants the checkpoint.
TEST(CheckpointFolderTest, RemovesInVainWhatIsStillWritten) {
  const ScratchFolder root;
  const std::string folder = root.path() + "/c";
  std::atomic<bool> over = false;
  std::thread server([&] {
    for (int i = 0; !over; ++i) {
      std::error_code ignored;
      fs::create_directory(folder, ignored);
      // A few names, so that what there is to remove does not grow.
      std::ofstream(
          absl::StrCat(folder, "/server-0-of-2.safetensors.tmp-", i % 8));
    }
  });
  for (int i = 0; i < 1000; ++i) {
    const absl::Status status = RemoveCheckpoint(folder);
    EXPECT_TRUE(status.ok() || absl::IsNotFound(status) ||
                absl::IsUnavailable(status))
        << status;
  }
  over = true;
  server.join();
  fs::create_directory(folder);
  EXPECT_TRUE(RemoveCheckpoint(folder).ok());
}

TEST(CheckpointFolderTest, ResolvesWithinAPrefixOfABucketAlone) {
  const std::string root = "s3://models/runs";
  EXPECT_EQ(*ResolveWithin(root, "s3://models/runs/uid/a/"),
            "s3://models/runs/uid/a");
  EXPECT_EQ(*ResolveWithin("s3://models", "s3://models/runs"),
            "s3://models/runs");
  EXPECT_TRUE(ResolveWithin(root, root).ok());
  for (const char* outside :
       {"s3://models/runs-of-others", "s3://models", "s3://other/runs/uid",
        "s3://models/runs/../secret", "/runs/uid", "s3:/models/runs/uid"}) {
    EXPECT_EQ(ResolveWithin(root, outside).status().code(),
              absl::StatusCode::kInvalidArgument)
        << outside;
  }
  EXPECT_EQ(ResolveWithin("/checkpoints", root).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*ResolveWithinAny({"/checkpoints", root}, root + "/a"),
            root + "/a");
  EXPECT_EQ(*ResolveWithinAny({}, root), root);
}

TEST(CheckpointFolderTest, ResolvesWithinTheRootAlone) {
  const ScratchFolder root;
  const std::string base = fs::canonical(root.path()).string();
  fs::create_directories(base + "/in/a");
  fs::create_directories(base + "/inside");
  fs::create_directory_symlink(base + "/inside", base + "/in/leads-out");
  fs::create_directory_symlink(base + "/in/a", base + "/leads-in");
  const std::string in = base + "/in";
  EXPECT_EQ(*ResolveWithin(in, base + "/in/a/new/er"), base + "/in/a/new/er");
  EXPECT_EQ(*ResolveWithin(in + "/", base + "/in/a/../b"), base + "/in/b");
  EXPECT_EQ(*ResolveWithin(in, base + "/leads-in/x"), base + "/in/a/x");
  EXPECT_TRUE(ResolveWithin(in, in).ok());
  EXPECT_TRUE(ResolveWithin(base + "/new", base + "/new/x").ok());
  for (const std::string& outside :
       {base, base + "/inside", base + "/in/../inside/x", base + "/in/a/../..",
        base + "/in/leads-out/x", std::string("/etc"), std::string(""),
        std::string("in/a"), std::string("a")}) {
    EXPECT_EQ(ResolveWithin(in, outside).status().code(),
              StatusCode::kInvalidArgument)
        << outside;
  }
}

}  // namespace

}  // namespace paceline
