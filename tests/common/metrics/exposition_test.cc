#include "tests/common/metrics/exposition.h"

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include "common/metrics/series.h"
#include "gmock/gmock.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(ExpositionTest, ReadsWhatTheSerializerWrites) {
  prometheus::Registry registry;
  auto& family =
      prometheus::BuildCounter().Name("a_total").Help("A.").Register(registry);
  family.Add({{"x", "1"}, {"y", "a \"b\", \\ {c} \n"}}).Increment(2);
  family.Add({{"x", "2"}, {"y", "="}}).Increment(3);
  HistogramSeries(registry, "b", "B.", {1, 2}).Observe(1.5);
  const Exposition exposition(registry.Collect());
  EXPECT_THAT(exposition.Names(),
              ElementsAre("a_total", "b_bucket", "b_count", "b_sum"));
  EXPECT_EQ(exposition.SeriesOf("a_total"), 2u);
  EXPECT_EQ(exposition.Sum("a_total"), 5);
  EXPECT_THAT(exposition.ValuesOf("a_total", "y"),
              ElementsAre("=", "a \"b\", \\ {c} \n"));
  EXPECT_THAT(exposition.LabelsOf("b_bucket"),
              ElementsAre(Pair("le", ElementsAre("+Inf", "1", "2"))));
  EXPECT_EQ(exposition.Sum("b_sum"), 1.5);
  EXPECT_EQ(exposition.SeriesOf("c"), 0u);
  EXPECT_EQ(exposition.Sum("c"), 0);
  EXPECT_THAT(exposition.LabelsOf("c"), IsEmpty());
}

TEST(ExpositionTest, WhatIsNoneFails) {
  for (const char* const text :
       {"a", "a b", "a{", "a{x} 1", "a{x=1} 1", "a{x=\"1} 1", "a{x=\"1\"}",
        "a{x=\"1\",x=\"2\"} 1"}) {
    SCOPED_TRACE(text);
    EXPECT_NONFATAL_FAILURE(Exposition{absl::string_view(text)}, text);
  }
}

}  // namespace
}  // namespace paceline
