#include "common/rpc/wire_format.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(WireFormatTest, EveryElementTypeComesBackAsItWas) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    EXPECT_EQ(*FromWire(ToWire(dtype)), dtype);
  }
  EXPECT_EQ(ToWire(DType::kBF16), v1::BF16);
}

TEST(WireFormatTest, WhatIsNotKnownIsRefused) {
  for (const int format : {0, 4, -1}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        FromWire(static_cast<v1::WireFormat>(format)).status()));
  }
}

}  // namespace
}  // namespace paceline
