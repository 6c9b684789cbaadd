#include "common/checkpoint/checkpoint_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/common/checkpoint/checkpoint_samples.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using testing::HasSubstr;

TEST(CheckpointFolderTest, ListsTheNewestFirstAndTheDamagedLast) {
  const ScratchFolder root;
  CheckpointManifest manifest = WriteSample(root.path() + "/jobs/x/old");
  WriteSample(root.path() + "/jobs/y/new");
  manifest.create_time += absl::Hours(1);
  ASSERT_TRUE(WriteManifest(root.path() + "/jobs/y/new", manifest).ok());
  fs::create_directories(root.path() + "/jobs/z/unfinished");
  fs::create_directories(root.path() + "/bad");
  root.Write("bad/manifest.json", {'{'});
  // A link must not lead into a loop.
  fs::create_directory_symlink(root.path(), root.path() + "/jobs/loop");
  const auto found = ListCheckpoints(root.path());
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ((*found)[0].folder, root.path() + "/jobs/y/new");
  EXPECT_EQ((*found)[0].manifest->create_time, manifest.create_time);
  EXPECT_EQ((*found)[1].folder, root.path() + "/jobs/x/old");
  EXPECT_EQ((*found)[2].manifest.status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(ListCheckpoints(root.path() + "/jobs/x/old")->size(), 1u)
      << "the root may be one itself";
  EXPECT_EQ(ListCheckpoints("/nowhere").status().code(), StatusCode::kNotFound);
}

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
