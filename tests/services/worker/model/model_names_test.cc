#include <vector>

#include "absl/strings/string_view.h"
#include "common/job/names.h"
#include "gmock/gmock.h"
#include "services/worker/model/architectures.h"

namespace paceline {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

TEST(ModelNamesTest, AreThoseOfTheArchitectures) {
  std::vector<absl::string_view> names;
  for (const Architecture& architecture : Architectures()) {
    names.push_back(architecture.name);
  }
  EXPECT_THAT(ModelNames(), ElementsAreArray(names));
}

TEST(ModelNamesTest, AnUnknownOneIsRefusedWithThoseThatThereAre) {
  for (const absl::string_view name : ModelNames()) {
    EXPECT_TRUE(CheckModelName(name).ok()) << name;
  }
  const absl::Status status = CheckModelName("vgg");
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("unknown model \"vgg\"; there are logreg, mlp"));
}

}  // namespace
}  // namespace paceline
