#include "services/cli/program_flags.h"

#include "common/plain_name.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(ProgramNameTest, IsThatOfTheScript) {
  const std::pair<const char*, const char*> kNames[] = {
      {"python3 train.py", "train"},
      {"/usr/bin/python3.11 -u jobs/my_resnet.py --data x.csv", "my_resnet"},
      {"python3 -m shop.train --verbose", "train"},
      {"DEPTH=18 ./train", "train"},
      {"./run.d/train", "train"},
      {"env X=1 julia 'models/big net.jl'", "net"},
      {"python3 \"train.py\"", "train"},
      {"python3 _train+v2.py", "train-v2"},
      {"python3 -c 'print(1)'", "python3"},
      {"A=1", "program"},
      {"...", "program"},
      {"", "program"},
  };
  for (const auto& [command, name] : kNames) {
    EXPECT_EQ(ProgramNameOf(command), name) << command;
  }
}

TEST(ProgramNameTest, IsAlwaysAPlainName) {
  for (const std::string& command :
       {std::string(200, 'x'), std::string("\xc3\xa4.py"), std::string("-"),
        std::string("-m"), std::string("a\nb"), "./" + std::string(99, '.')}) {
    EXPECT_TRUE(IsPlainName(ProgramNameOf(command))) << command;
  }
}

}  // namespace
}  // namespace paceline
