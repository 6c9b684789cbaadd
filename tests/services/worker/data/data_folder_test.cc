#include "services/worker/data/data_folder.h"

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "services/worker/data/dataset.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;

class DataFolderTest : public ::testing::Test {
 protected:
  DataFolderTest() {
    fs::create_directories(root_ + "/mnist");
    fs::create_directories(outside_ + "/secret");
  }

  std::string Found(const std::string& dir) {
    const auto found = DataFolder(dir, places_);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or("");
  }
  // The message, with the name of the folder taken out.
  std::string Refused(const std::string& dir) {
    const absl::Status status = DataFolder(dir, places_).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << dir << ": " << status;
    std::string text(status.message());
    const std::string quoted = absl::StrCat("\"", dir, "\"");
    const size_t at = text.find(quoted);
    EXPECT_NE(at, std::string::npos) << text;
    if (at != std::string::npos) text.erase(at, quoted.size());
    return text;
  }

  const ScratchFolder scratch_;
  const std::string folder_ = fs::path(scratch_.path()).lexically_normal();
  const std::string root_ = folder_ + "/root";
  const std::string outside_ = folder_ + "/outside";
  DataPlaces places_ = {.root = root_};
};

TEST_F(DataFolderTest, BelowTheRoot) {
  EXPECT_EQ(Found("mnist"), root_ + "/mnist");
  EXPECT_EQ(Found("./mnist"), root_ + "/mnist");
  // That it is not there is found by reading.
  EXPECT_EQ(Found("none/of/these"), root_ + "/none/of/these");
  EXPECT_EQ(Found("..mnist"), root_ + "/..mnist");
}

TEST_F(DataFolderTest, AnAbsolutePathIsRefused) {
  for (const std::string& dir :
       {std::string("/etc"), outside_, root_ + "/mnist", std::string("//")}) {
    EXPECT_THAT(Refused(dir),
                AllOf(HasSubstr("absolute"), HasSubstr("--data-root"),
                      HasSubstr("--data-anywhere")));
  }
}

TEST_F(DataFolderTest, UpwardsIsRefused) {
  for (const char* dir : {"..", "../outside", "mnist/../../outside", "mnist/..",
                          "none/../../../../etc"}) {
    EXPECT_THAT(Refused(dir), HasSubstr("\"..\""));
  }
}

TEST_F(DataFolderTest, ALinkThatStaysInsideIsFollowed) {
  fs::create_directory_symlink("mnist", root_ + "/relative");
  fs::create_directory_symlink(root_ + "/mnist", root_ + "/absolute");
  EXPECT_EQ(Found("relative"), root_ + "/relative");
  EXPECT_EQ(Found("absolute"), root_ + "/absolute");
}

TEST_F(DataFolderTest, ALinkThatLeadsOutIsRefused) {
  fs::create_directory_symlink(outside_, root_ + "/out");
  fs::create_directory_symlink("../outside", root_ + "/up");
  fs::create_directory_symlink("round", root_ + "/round");
  for (const char* dir : {"out", "out/secret", "up", "up/secret", "round"}) {
    EXPECT_THAT(Refused(dir), HasSubstr("does not lead to"));
  }
}

// Nobody learns by a job what lies on a machine.
TEST_F(DataFolderTest, NothingIsToldOfWhatIsOutside) {
  EXPECT_EQ(Refused(outside_ + "/secret"), Refused(outside_ + "/none"));
  EXPECT_EQ(Refused("../outside/secret"), Refused("../outside/none"));
  fs::create_directory_symlink(outside_ + "/secret", root_ + "/there");
  fs::create_directory_symlink(outside_ + "/none", root_ + "/not-there");
  EXPECT_EQ(Refused("there"), Refused("not-there"));
  fs::create_directory_symlink(outside_, root_ + "/out");
  EXPECT_EQ(Refused("out/secret"), Refused("out/none"));
}

TEST_F(DataFolderTest, TheRootMayBeALinkItself) {
  const std::string link = folder_ + "/link";
  fs::create_directory_symlink(root_, link);
  places_.root = link;
  EXPECT_EQ(Found("mnist"), link + "/mnist");
  EXPECT_THAT(Refused("../outside"), HasSubstr("\"..\""));
}

TEST_F(DataFolderTest, AFolderWhoseNameBeginsAsTheRootIsOutside) {
  fs::create_directories(root_ + "-other");
  fs::create_directory_symlink(root_ + "-other", root_ + "/other");
  EXPECT_THAT(Refused("other"), HasSubstr("does not lead to"));
}

TEST_F(DataFolderTest, WithoutARootThereIsNothing) {
  const absl::Status status = DataFolder("mnist", {.root = ""}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("--data-root"));
}

TEST_F(DataFolderTest, ARootThatHasGoneIsNotFound) {
  const auto found = DataFolder("mnist", {.root = root_ + "/gone"});
  EXPECT_TRUE(absl::IsNotFound(found.status())) << found.status();
}

TEST_F(DataFolderTest, AnOwnerMayAllowAll) {
  places_.anywhere = true;
  EXPECT_EQ(Found("mnist"), root_ + "/mnist");
  EXPECT_EQ(Found(outside_), outside_);
  EXPECT_EQ(Found("../outside"), outside_);
}

TEST_F(DataFolderTest, LoadingAsksFirst) {
  for (const char* kind : {"mnist", "cifar10", "cifar100"}) {
    const auto loaded =
        LoadDataset(absl::StrCat(kind, ":/etc"), Split::kTrain, places_);
    EXPECT_TRUE(absl::IsInvalidArgument(loaded.status())) << loaded.status();
  }
}

}  // namespace
}  // namespace paceline
