#include "common/security/namespaces.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

TEST(NamespacesTest, WithoutAnyNamedAllAreMeant) {
  const Namespaces all;
  EXPECT_TRUE(all.all());
  EXPECT_TRUE(all.Has("vision"));
  EXPECT_TRUE(all.HasResource("namespaces/vision/jobs/a"));
  EXPECT_TRUE(all.HasResource("workers/w0"));
  EXPECT_TRUE(all.HasResource(""));
  EXPECT_EQ(all.Text(), "");
}

TEST(NamespacesTest, SomeAreTheseAlone) {
  const auto some = Namespaces::Parse("vision+speech");
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_FALSE(some->all());
  EXPECT_EQ(some->Text(), "speech+vision");
  EXPECT_EQ(*some, *Namespaces::Parse("speech+vision"));
  for (const char* const name : {"vision", "speech"}) {
    EXPECT_TRUE(some->Has(name));
    EXPECT_TRUE(some->HasResource(absl::StrCat("namespaces/", name)));
    EXPECT_TRUE(
        some->HasResource(absl::StrCat("namespaces/", name, "/jobs/a")));
  }
  for (const char* const name : {"", "-", "visio", "vision2", "Vision", "*"}) {
    EXPECT_FALSE(some->Has(name)) << name;
  }
  for (const char* const resource :
       {"", "workers/w0", "vision", "namespaces/", "namespaces/-",
        "namespaces/vision2/jobs/a", "namespaces//vision", "/namespaces/vision",
        "Namespaces/vision", "namespaces/other/jobs/vision"}) {
    EXPECT_FALSE(some->HasResource(resource)) << resource;
  }
}

TEST(NamespacesTest, WhatIsNoNamespaceIsRefused) {
  const std::string long_name(64, 'x');
  for (const std::string& text :
       {std::string(), std::string("+"), std::string("a+"), std::string("+a"),
        std::string("-"), std::string("Vision"), std::string("a b"),
        std::string("1a"), std::string("a-"), std::string("a,b"),
        std::string("a/b"), std::string("*"), std::string("a\0b", 3),
        long_name}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Namespaces::Parse(text).status()))
        << text;
  }
  EXPECT_TRUE(Namespaces::Parse(long_name.substr(1)).ok());
  EXPECT_THAT(std::string(Namespaces::Parse("a+b+a").status().message()),
              HasSubstr("namespace a is named twice"));
}

TEST(NamespacesTest, ThereAreSoManyAtMost) {
  std::string text = "n0";
  for (size_t i = 1; i < Namespaces::kMost; ++i)
    absl::StrAppend(&text, "+n", i);
  EXPECT_TRUE(Namespaces::Parse(text).ok());
  EXPECT_THAT(std::string(Namespaces::Parse(text + "+more").status().message()),
              HasSubstr("16 namespaces at most, not 17"));
}

TEST(NamespaceOfResourceTest, Table) {
  EXPECT_EQ(NamespaceOfResource("namespaces/vision"), "vision");
  EXPECT_EQ(NamespaceOfResource("namespaces/vision/jobs/a"), "vision");
  EXPECT_EQ(NamespaceOfResource("namespaces/-"), "-");
  EXPECT_EQ(NamespaceOfResource("namespaces/"), "");
  EXPECT_EQ(NamespaceOfResource("namespaces//jobs/a"), "");
  EXPECT_EQ(NamespaceOfResource("workers/w0"), "");
  EXPECT_EQ(NamespaceOfResource(""), "");
}

}  // namespace
}  // namespace paceline
