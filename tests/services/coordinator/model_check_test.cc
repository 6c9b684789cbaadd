#include "services/coordinator/run/model_check.h"

#include <functional>

#include "gtest/gtest.h"
#include "tests/services/coordinator/fake_worker.h"

namespace paceline {
namespace {

using Model = v1::WorkerReady;

TEST(ModelCheckTest, TakesModels) {
  EXPECT_TRUE(CheckModel(SmallModel(1).tensors()).ok());
  Model scalar;
  scalar.add_tensors()->set_name("one");
  scalar.mutable_tensors(0)->set_size(1);
  EXPECT_TRUE(CheckModel(scalar.tensors()).ok());
  Model largest;
  largest.add_tensors()->set_name("all");
  largest.mutable_tensors(0)->add_shape(int64_t{1} << 38);
  largest.mutable_tensors(0)->set_size(int64_t{1} << 38);
  EXPECT_TRUE(CheckModel(largest.tensors()).ok());
}

TEST(ModelCheckTest, RefusesWhatCannotBe) {
  const std::function<void(Model&)> kChanges[] = {
      [](Model& m) { m.mutable_tensors(0)->clear_name(); },
      [](Model& m) { m.mutable_tensors(0)->set_name(std::string(1025, 'x')); },
      [](Model& m) { m.mutable_tensors(0)->set_name(m.tensors(1).name()); },
      [](Model& m) { m.mutable_tensors(0)->set_size(39); },
      [](Model& m) { m.mutable_tensors(0)->set_size(0); },
      [](Model& m) {
        m.mutable_tensors(0)->set_shape(0, 0);
        m.mutable_tensors(0)->set_size(0);
      },
      [](Model& m) {
        m.mutable_tensors(0)->set_shape(0, -10);
        m.mutable_tensors(0)->set_size(-40);
      },
      // 2^62 elements, and 2^64, which are 0 in 64 bits.
      [](Model& m) {
        m.mutable_tensors(0)->set_shape(0, int64_t{1} << 60);
        m.mutable_tensors(0)->set_size(int64_t{1} << 62);
      },
      [](Model& m) {
        m.mutable_tensors(0)->set_shape(0, int64_t{1} << 62);
        m.mutable_tensors(0)->set_size(0);
      },
      // Each possible, but not both.
      [](Model& m) {
        m.mutable_tensors(0)->set_shape(0, int64_t{1} << 36);
        m.mutable_tensors(0)->set_size(int64_t{1} << 38);
      }};
  int number = 0;
  for (const auto& change : kChanges) {
    Model model = SmallModel(1);
    change(model);
    EXPECT_TRUE(absl::IsInvalidArgument(CheckModel(model.tensors())))
        << "change " << number;
    ++number;
  }
}

}  // namespace
}  // namespace paceline
