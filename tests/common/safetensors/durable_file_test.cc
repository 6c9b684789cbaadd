#include "common/safetensors/durable_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "common/safetensors/input_file.h"
#include "common/safetensors/sha256.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Names(const ScratchFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

TEST(Sha256Test, IsThatOfTheStandard) {
  Sha256 sha256;
  sha256.Update("a");
  sha256.Update("bc");
  EXPECT_EQ(sha256.HexDigest(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256.HexDigest(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
      << "of nothing: it begins anew";
  EXPECT_TRUE(IsHexDigest(sha256.HexDigest()));
  EXPECT_FALSE(IsHexDigest("abc"));
  EXPECT_FALSE(IsHexDigest(std::string(64, 'G')));
}

TEST(DurableFileTest, IsThereAfterCommitAndNotBefore) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/f";
  auto file = DurableFile::Create(path);
  ASSERT_TRUE(file.ok()) << file.status();
  // Small pieces, one as large as the buffer, and one across its end.
  std::string want;
  for (const size_t size : {1, 70'000, 3, 65'536, 65'535, 2, 0}) {
    const std::string piece(size, static_cast<char>('a' + want.size() % 26));
    ASSERT_TRUE(file->Write(piece).ok());
    want += piece;
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  const auto written = file->Commit();
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_THAT(Names(folder), ElementsAre("f"));
  EXPECT_EQ(*ReadWholeFile(path, 1 << 20), want);
  EXPECT_EQ(written->bytes, want.size());
  EXPECT_EQ(written->sha256, HexSha256(want));
}

TEST(DurableFileTest, OneThatIsNotCommittedLeavesNothing) {
  const ScratchFolder folder;
  {
    auto file = DurableFile::Create(folder.path() + "/f");
    ASSERT_TRUE(file.ok() && file->Write("half").ok());
    EXPECT_EQ(Names(folder).size(), 1u);
  }
  EXPECT_THAT(Names(folder), IsEmpty());
}

TEST(DurableFileTest, SaysWhyAFileCannotBeMade) {
  const ScratchFolder folder;
  EXPECT_EQ(DurableFile::Create(folder.path() + "/no/f").status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(DurableFile::Create("/proc/version/f").status().code(),
            absl::ErrnoToStatusCode(ENOTDIR));
  // A folder has the name that the file is to get.
  std::filesystem::create_directories(folder.path() + "/taken/x");
  auto file = DurableFile::Create(folder.path() + "/taken");
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->Commit().ok());
}

// A limit on the size of files stands for a disk that is full.
TEST(DurableFileTest, AFullDiskIsResourceExhaustedAndLeavesNothing) {
  const ScratchFolder folder;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {1 << 20, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  absl::Status status;
  {
    auto file = DurableFile::Create(folder.path() + "/f");
    ASSERT_TRUE(file.ok());
    status = file->Write(std::string(2 << 20, 'x'));
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(Names(folder), IsEmpty());
}

TEST(InputFileTest, ReadsPlainFilesAlone) {
  const ScratchFolder folder;
  EXPECT_EQ(InputFile::Open(folder.path() + "/f").status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(InputFile::Open(folder.path()).status().code(),
            StatusCode::kInvalidArgument);
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(InputFile::Open(pipe).status().code(), StatusCode::kInvalidArgument)
      << "and does not wait for its other end";
  folder.Write("f", {'a', 'b', 'c'});
  const auto file = InputFile::Open(folder.path() + "/f");
  ASSERT_TRUE(file.ok());
  std::string two(2, ' ');
  EXPECT_TRUE(file->Read(1, absl::MakeSpan(two.data(), 2)).ok());
  EXPECT_EQ(two, "bc");
  EXPECT_EQ(file->Read(2, absl::MakeSpan(two.data(), 2)).code(),
            StatusCode::kDataLoss);
  EXPECT_EQ(ReadWholeFile(folder.path() + "/f", 2).status().code(),
            StatusCode::kDataLoss);
}

}  // namespace
}  // namespace paceline
