#include "services/cli/one_line.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(OneLineTest, EveryControlCharacterIsABlank) {
  EXPECT_EQ(OneLine("a\nb\tc\x1b[2Jd\x7f"), "a b c [2Jd ");
  EXPECT_EQ(OneLine("a\xc2\x9b"
                    "2Jb\xc2\x80\xc2\x9f"),
            "a 2Jb  ");
}

TEST(OneLineTest, OtherTextStays) {
  EXPECT_EQ(OneLine(""), "");
  EXPECT_EQ(OneLine("Zürich \xc2\xa0 \xe4\xb8\xad"),
            "Zürich \xc2\xa0 \xe4\xb8\xad");
  EXPECT_EQ(OneLine("\xc2"), "\xc2");  // Cut off, as before.
}

}  // namespace
}  // namespace paceline
