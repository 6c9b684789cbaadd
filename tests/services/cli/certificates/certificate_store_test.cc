#include "services/cli/certificates/certificate_store.h"

#include <sys/stat.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

const CertificateStore::Texts kTexts = {
    {"tls.crt", "certificate"}, {"tls.key", "key"}, {"ca.crt", "authority"}};

mode_t ModeOf(const std::string& path) {
  struct stat found = {};
  EXPECT_EQ(stat(path.c_str(), &found), 0) << path;
  return found.st_mode & 0777;
}

TEST(CertificateFolderTest, KeepsAndReplaces) {
  const TestFolder scratch;
  CertificateFolder folder(scratch.Path("new/tls"));
  EXPECT_TRUE(absl::IsNotFound(folder.Get("w0").status()));
  ASSERT_TRUE(folder.Put("w0", kTexts).ok());
  EXPECT_EQ(folder.Get("w0").value_or(CertificateStore::Texts()), kTexts);
  EXPECT_EQ(folder.PlaceOf("w0"), scratch.Path("new/tls/w0"));
  EXPECT_EQ(ModeOf(scratch.Path("new/tls/w0/tls.key")), 0600);
  auto changed = kTexts;
  changed["tls.key"] = "another key";
  ASSERT_TRUE(folder.Put("w0", changed).ok());
  EXPECT_EQ(folder.Get("w0").value_or(CertificateStore::Texts()), changed);
  EXPECT_EQ(ModeOf(scratch.Path("new/tls/w0/tls.key")), 0600);
}

TEST(CertificateFolderTest, WhatWasNeverFinishedIsNotThere) {
  const TestFolder scratch;
  CertificateFolder folder(scratch.Path("tls"));
  ASSERT_TRUE(folder.Put("w0", {{"tls.key", "key"}}).ok());
  EXPECT_TRUE(absl::IsNotFound(folder.Get("w0").status()));
}

TEST(CertificateFolderTest, AFileInItsPlace) {
  const TestFolder scratch;
  CertificateFolder folder(scratch.Write("taken", "a file"));
  const absl::Status put = folder.Put("w0", kTexts);
  EXPECT_TRUE(absl::IsUnavailable(put)) << put;
  EXPECT_THAT(std::string(put.message()), testing::HasSubstr("taken/w0"));
}

}  // namespace
}  // namespace paceline
