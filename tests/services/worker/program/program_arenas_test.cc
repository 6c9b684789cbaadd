#include "services/worker/program/program_arenas.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/open_descriptors.h"

namespace paceline {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ArenaLayoutTest, EachArrayBeginsAtAMultipleOf64) {
  const std::pair<std::vector<uint64_t>, std::vector<uint64_t>> cases[] = {
      {{}, {}},
      {{1}, {0}},
      {{64, 64}, {0, 64}},
      {{65, 1, 128, 4}, {0, 128, 192, 320}},
  };
  for (const auto& [sizes, offsets] : cases) {
    const ArenaLayout layout = LayOut(sizes);
    EXPECT_EQ(layout.offsets, offsets);
    EXPECT_EQ(layout.bytes, sizes.empty() ? 0 : offsets.back() + sizes.back());
  }
}

TEST(ArenaLayoutTest, WhatHasNoPlaceTakesNone) {
  const ArenaLayout layout = LayOut({10, 0, 10, 0});
  EXPECT_EQ(layout.offsets[2], 64u);
  EXPECT_EQ(layout.bytes, 74u);
}

ProgramTensor TensorOf(int64_t size, TensorKind kind = TensorKind::kTrained) {
  ProgramTensor tensor;
  tensor.shape = {size};
  tensor.size = size;
  tensor.kind = kind;
  return tensor;
}

TEST(ProgramArenasTest, WeightsAreFloatsAndGradientsAsTheWireHasThem) {
  const std::vector<ProgramTensor> tensors = {
      TensorOf(5), TensorOf(3, TensorKind::kFrozen),
      TensorOf(20, TensorKind::kStatistic)};
  for (const DType wire : {DType::kF32, DType::kBF16}) {
    const auto arenas = ProgramArenas::Create(tensors, wire);
    ASSERT_TRUE(arenas.ok()) << arenas.status();
    const ProgramArenas& made = **arenas;
    EXPECT_EQ(made.weights_bytes(), 64u + 64u + 80u);
    EXPECT_EQ(made.gradients_bytes(), 64u + EncodedSize(wire, 20));
    EXPECT_EQ(made.weights(1).size(), 3u);
    EXPECT_THAT(made.weights(2), Each(0.0f));
    EXPECT_EQ(made.gradients(0).size(), EncodedSize(wire, 5));
    EXPECT_THAT(made.gradients(1), IsEmpty());
    EXPECT_EQ(made.gradients(2).data() - made.gradients(0).data(), 64);
  }
}

TEST(ProgramArenasTest, NoMoreThanThereIs) {
  const auto arenas =
      ProgramArenas::Create({TensorOf(int64_t{1} << 38)}, DType::kF32);
  EXPECT_TRUE(absl::IsResourceExhausted(arenas.status())) << arenas.status();
  EXPECT_THAT(std::string(arenas.status().message()),
              HasSubstr("is a shape wrong?"));
}

TEST(ProgramArenasTest, WhatIsMappedStaysWhenTheDescriptorIsClosed) {
  const std::vector<ProgramTensor> tensors = {TensorOf(5)};
  const size_t before = OpenDescriptors();
  auto arenas = ProgramArenas::Create(tensors, DType::kF32);
  ASSERT_TRUE(arenas.ok());
  const int fd = (*arenas)->descriptors()[0];
  EXPECT_EQ(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  (*arenas)->weights(0)[4] = 7;
  auto* const theirs =
      static_cast<float*>(mmap(nullptr, 20, PROT_READ, MAP_SHARED, fd, 0));
  ASSERT_NE(theirs, MAP_FAILED);
  EXPECT_EQ(theirs[4], 7);
  (*arenas)->CloseWeightsDescriptor();
  EXPECT_EQ(OpenDescriptors(), before + 1) << "the gradients'";
  (*arenas)->weights(0)[4] = 8;
  EXPECT_EQ(theirs[4], 8);
  munmap(theirs, 20);
}

}  // namespace
}  // namespace paceline
