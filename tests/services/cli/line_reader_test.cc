#include "services/cli/line_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/unique_fd.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LineReaderTest : public testing::Test {
 protected:
  LineReaderTest() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    read_end_.Reset(ends[0]);
    write_end_.Reset(ends[1]);
  }
  void Write(const std::string& text) {
    ASSERT_EQ(write(write_end_.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }

  UniqueFd read_end_;
  UniqueFd write_end_;
};

TEST_F(LineReaderTest, JoinsWhatArrivesInPieces) {
  LineReader reader(read_end_.get());
  EXPECT_THAT(reader.Read(), IsEmpty());
  Write("one\ntw");
  EXPECT_THAT(reader.Read(), ElementsAre("one"));
  Write("o\n\nthree");
  EXPECT_THAT(reader.Read(), ElementsAre("two", ""));
  EXPECT_FALSE(reader.at_end());
  write_end_.Reset();
  EXPECT_THAT(reader.Read(), ElementsAre("three"));
  EXPECT_TRUE(reader.at_end());
  EXPECT_THAT(reader.Read(), IsEmpty());
}

TEST_F(LineReaderTest, ALineMayBeLongerThanItsBuffer) {
  LineReader reader(read_end_.get());
  const std::string line(40000, 'x');
  Write(line + "\n");
  EXPECT_THAT(reader.Read(), ElementsAre(line));
}

}  // namespace
}  // namespace paceline
