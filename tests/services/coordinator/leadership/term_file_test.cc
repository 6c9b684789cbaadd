#include "services/coordinator/leadership/term_file.h"

#include "gmock/gmock.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

class TermFileTest : public testing::Test {
 protected:
  const TestFolder folder_;
  const TermFile file_{folder_.Path("store.db")};
};

TEST_F(TermFileTest, SaysWhatTheStoreIs) {
  auto own = file_.Read();
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_FALSE(own->has_store);
  EXPECT_EQ(own->led + own->followed, 0u);
  folder_.Write("store.db", "");
  ASSERT_TRUE(file_.Led(7).ok());
  own = file_.Read();
  EXPECT_TRUE(own->has_store);
  EXPECT_EQ(own->led, 7u);
  EXPECT_EQ(own->followed, 0u);
  // It is either.
  ASSERT_TRUE(file_.Followed(8).ok());
  own = file_.Read();
  EXPECT_EQ(own->led, 0u);
  EXPECT_EQ(own->followed, 8u);
}

TEST_F(TermFileTest, WhatItDoesNotKnowIsAnError) {
  for (const char* const text :
       {"", "led\n", "led x\n", "led -1\n", "leads 7\n", "led 7 8\n",
        "led 99999999999999999999\n"}) {
    folder_.Write("store.db.term", text);
    const absl::Status read = file_.Read().status();
    EXPECT_TRUE(absl::IsDataLoss(read)) << text << ": " << read;
    EXPECT_THAT(std::string(read.message()), HasSubstr("paceline coordinator"));
  }
}

}  // namespace
}  // namespace paceline
