#include "tests/gpu/conformance.h"
#include "tests/gpu/queued_backend.h"
#include "tests/gpu/step_check.h"

namespace paceline {
namespace {

class LanesConformanceTest : public ConformanceTest {};
PACELINE_ON_EVERY_BACKEND(LanesConformanceTest);

TEST_P(LanesConformanceTest, StepsBetweenLanes) {
  EXPECT_EQ(StepDiffers(*backend_), "");
}

// A mark that was never set, and one that is set again.
TEST_P(LanesConformanceTest, NobodyWaitsForAMarkThatIsNotSet) {
  const auto mark = *backend_->MakeMark();
  backend_->Follow(Lane::kCompute, *mark);
  EXPECT_TRUE(backend_->Await(*mark).ok());
  const DeviceArray x(*backend_, 4, 1);
  for (int i = 0; i < 3; ++i) {
    backend_->Scale(2, x.span());
    backend_->Set(*mark, Lane::kCompute);
    EXPECT_TRUE(backend_->Await(*mark).ok());
  }
  EXPECT_EQ(x.Host(), std::vector<float>(4, 8.0f));
}

// The double that stands for a device in other tests keeps the same rules.
TEST(QueuedBackendTest, StepsBetweenLanes) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    QueuedBackend backend(seed);
    const std::string differs = StepDiffers(backend);
    // Now and then its last run is one that it remembers anew.
    EXPECT_TRUE(differs.empty() ||
                differs == "after 20 runs nothing is repeated")
        << seed << ": " << differs;
  }
}

}  // namespace
}  // namespace paceline
