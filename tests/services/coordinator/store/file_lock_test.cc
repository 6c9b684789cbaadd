#include "services/coordinator/store/file_lock.h"

#include <unistd.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/services/coordinator/store/store_testing.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

TEST(FileLockTest, OneHolderAtATimeWhoIsNamed) {
  const TestDirectory directory;
  const std::string path = directory.Path("lock");
  std::optional<FileLock> first;
  {
    auto taken = FileLock::Take(path);
    ASSERT_TRUE(taken.ok()) << taken.status();
    first.emplace(*std::move(taken));
  }
  const absl::Status second = FileLock::Take(path).status();
  EXPECT_TRUE(absl::IsUnavailable(second)) << second;
  EXPECT_THAT(std::string(second.message()),
              HasSubstr(absl::StrCat("by process ", getpid())));
  first.reset();
  EXPECT_TRUE(FileLock::Take(path).ok());
}

TEST(FileLockTest, AMissingDirectoryIsNotFound) {
  const TestDirectory directory;
  const absl::Status status =
      FileLock::Take(directory.Path("none/lock")).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
}

}  // namespace
}  // namespace paceline
