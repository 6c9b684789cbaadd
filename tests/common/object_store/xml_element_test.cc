#include "common/object_store/xml_element.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

TEST(XmlElementTest, ListsOfABucket) {
  const auto document = ParseXml(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
      "<!-- all of it --><IsTruncated>false</IsTruncated>"
      "<Contents><Key>a&amp;b/&#x41;&#246;.txt</Key><Size>3</Size></Contents>"
      "<Contents><Key>second</Key></Contents><Prefix/>"
      "</ListBucketResult>\n");
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(document->name, "ListBucketResult");
  EXPECT_EQ(document->TextOf("IsTruncated"), "false");
  EXPECT_EQ(document->TextOf("Prefix"), "");
  EXPECT_EQ(document->TextOf("Missing"), "");
  EXPECT_EQ(document->Child("Missing"), nullptr);
  ASSERT_EQ(document->children.size(), 4u);
  EXPECT_EQ(document->children[1].TextOf("Key"), "a&b/A\xC3\xB6.txt");
  EXPECT_EQ(document->children[2].TextOf("Key"), "second");
}

TEST(XmlElementTest, PrefixesOfNamesMeanNothing) {
  const auto document = ParseXml("<a:Error x='>'><b:Code>X</b:Code></a:Error>");
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(document->name, "Error");
  EXPECT_EQ(document->TextOf("Code"), "X");
}

TEST(XmlElementTest, WhatIsNoXmlIsDataLoss) {
  std::string deep;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&deep, "<a>");
  for (const std::string& text :
       {std::string(), std::string("oops"), std::string("<a>"),
        std::string("<a></b>"), std::string("<a/><b/>"),
        std::string("<a>&nbsp;</a>"), std::string("<a>&#0;</a>"),
        std::string("<a>&amp</a>"), std::string("<a b='"),
        std::string("<!DOCTYPE a><a/>"), std::string("<>x</>"), deep}) {
    EXPECT_EQ(ParseXml(text).status().code(), absl::StatusCode::kDataLoss)
        << text;
  }
}

TEST(XmlElementTest, EscapedTextComesBack) {
  const std::string text = "\"a\" < b & c > d";
  const auto document = ParseXml(absl::StrCat("<a>", EscapeXml(text), "</a>"));
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(document->text, text);
}

}  // namespace
}  // namespace paceline
