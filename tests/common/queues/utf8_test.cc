#include "common/utf8.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(CutUtf8Test, CutsBetweenCharacters) {
  EXPECT_EQ(CutUtf8("abc", 3), "abc");
  EXPECT_EQ(CutUtf8("abc", 2), "ab");
  EXPECT_EQ(CutUtf8("a\xc3\xbc", 3), "a\xc3\xbc");
  EXPECT_EQ(CutUtf8("a\xc3\xbc", 2), "a");
  EXPECT_EQ(CutUtf8("\xe4\xb8\xad", 2), "");
  EXPECT_EQ(CutUtf8("", 0), "");
}

}  // namespace
}  // namespace paceline
