#include "common/metrics/process_metrics.h"

#include <unistd.h>

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;

std::map<std::string, double> ValuesOf(const ProcessMetrics& metrics) {
  std::map<std::string, double> values;
  for (const auto& family : metrics.Collect()) {
    const auto& metric = family.metric.at(0);
    values[family.name] = family.type == prometheus::MetricType::Counter
                              ? metric.counter.value
                              : metric.gauge.value;
  }
  return values;
}

TEST(ProcessMetricsTest, ThisProcess) {
  const auto values = ValuesOf(ProcessMetrics());
  EXPECT_GE(values.at("process_cpu_seconds_total"), 0);
  EXPECT_GT(values.at("process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(values.at("process_virtual_memory_bytes"),
            values.at("process_resident_memory_bytes"));
  EXPECT_GE(values.at("process_threads"), 1);
  EXPECT_GE(values.at("process_open_fds"), 3);
  EXPECT_GE(values.at("process_max_fds"), values.at("process_open_fds"));
  EXPECT_GT(values.at("process_start_time_seconds"), 1.7e9);
}

TEST(ProcessMetricsTest, FieldsAreCountedBehindTheCommand) {
  TestFolder folder;
  // The command is whatever somebody has called it.
  folder.Write("stat",
               "7 (a) b (c) S 1 7 7 0 -1 0 1 2 3 4 250 50 0 0 20 0 9 0 100 "
               "4096000 10 0\n");
  const auto values =
      ValuesOf(ProcessMetrics(folder.Path(""), absl::FromUnixSeconds(1000)));
  EXPECT_DOUBLE_EQ(values.at("process_cpu_seconds_total"),
                   300.0 / static_cast<double>(sysconf(_SC_CLK_TCK)));
  EXPECT_EQ(values.at("process_threads"), 9);
  EXPECT_EQ(values.at("process_virtual_memory_bytes"), 4096000);
  EXPECT_EQ(values.at("process_resident_memory_bytes"),
            10.0 * static_cast<double>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(values.at("process_start_time_seconds"), 1000);
}

TEST(ProcessMetricsTest, WhatCannotBeReadIsLeftOut) {
  const auto values = ValuesOf(ProcessMetrics("/nowhere"));
  EXPECT_THAT(values, Not(Contains(Key("process_cpu_seconds_total"))));
  EXPECT_THAT(values, Not(Contains(Key("process_open_fds"))));
  EXPECT_THAT(values, Contains(Key("process_start_time_seconds")));
}

}  // namespace
}  // namespace paceline
