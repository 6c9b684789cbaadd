#include "services/worker/program/private_folder.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using testing::UnorderedElementsAre;

// With a folder for temporary files of its own.
class PrivateFolderTest : public testing::Test {
 protected:
  PrivateFolderTest() { setenv("TMPDIR", parent_.path().c_str(), 1); }
  ~PrivateFolderTest() override { unsetenv("TMPDIR"); }

  std::set<std::string> Left() const {
    std::set<std::string> paths;
    for (const auto& entry :
         std::filesystem::directory_iterator(parent_.path())) {
      paths.insert(entry.path().string());
    }
    return paths;
  }

  const TestFolder parent_;
};

std::unique_ptr<PrivateFolder> Made() {
  auto folder = PrivateFolder::Make();
  EXPECT_TRUE(folder.ok()) << folder.status();
  return *std::move(folder);
}

// Makes one in a process that is killed then.
void MakeAndDie() {
  const pid_t pid = fork();
  if (pid == 0) {
    const auto folder = PrivateFolder::Make();
    if (folder.ok()) {
      std::ofstream((*folder)->path() + "/program.sock") << "x";
      raise(SIGKILL);
    }
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST_F(PrivateFolderTest, IsItsOwnersAndEndsWithIt) {
  const auto folder = Made();
  EXPECT_EQ(std::filesystem::status(folder->path()).permissions(),
            std::filesystem::perms::owner_all);
  const auto other = Made();
  EXPECT_THAT(Left(), UnorderedElementsAre(folder->path(), other->path()));
  std::string path;
  {
    const auto third = Made();
    path = third->path();
    std::ofstream(path + "/file") << "x";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(PrivateFolderTest, WhatAKilledProcessLeavesTheNextOneRemoves) {
  const auto before = Made();
  MakeAndDie();
  EXPECT_EQ(Left().size(), 2u);
  MakeAndDie();
  EXPECT_EQ(Left().size(), 2u) << "the one before is gone";
  const auto after = Made();
  EXPECT_THAT(Left(), UnorderedElementsAre(before->path(), after->path()));
}

TEST_F(PrivateFolderTest, NothingElseIsRemoved) {
  const std::string parent = parent_.path();
  std::filesystem::create_directory(parent + "/mine");
  std::filesystem::create_directory(parent + "/paceline-program-abcdef");
  std::ofstream(parent + "/paceline-socket-afile") << "x";
  std::filesystem::create_directory_symlink(parent + "/mine",
                                            parent + "/paceline-socket-alink");
  const auto folder = Made();
  EXPECT_THAT(Left(), UnorderedElementsAre(
                          parent + "/mine", parent + "/paceline-program-abcdef",
                          parent + "/paceline-socket-afile",
                          parent + "/paceline-socket-alink", folder->path()));
}

TEST_F(PrivateFolderTest, SaysWhereItCannotBeMade) {
  std::filesystem::permissions(parent_.path(),
                               std::filesystem::perms::owner_read);
  if (access(parent_.path().c_str(), W_OK) == 0) {
    GTEST_SKIP() << "this user may write everywhere";
  }
  const auto folder = PrivateFolder::Make();
  EXPECT_THAT(std::string(folder.status().message()),
              testing::HasSubstr(parent_.path()));
}

}  // namespace
}  // namespace paceline
