#include "common/metrics/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace paceline {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Family(MetricType type, const char* name, const char* help,
                    double value) {
  prometheus::ClientMetric metric;
  if (type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return {.name = name, .help = help, .type = type, .metric = {metric}};
}

// Of /proc/PID/stat, behind the command in parentheses, which may have any
// characters: from `state`, field 3 of proc(5), on.
std::vector<std::string> StatFields(const std::string& folder) {
  std::ifstream file(folder + "/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t behind = text.rfind(") ");
  if (behind == std::string::npos) return {};
  return absl::StrSplit(text.substr(behind + 2), ' ');
}

// Field `number` of proc(5).
std::optional<double> Field(const std::vector<std::string>& fields,
                            size_t number) {
  double value = 0;
  if (number - 3 >= fields.size() ||
      !absl::SimpleAtod(fields[number - 3], &value)) {
    return std::nullopt;
  }
  return value;
}

std::optional<double> OpenFiles(const std::string& folder) {
  std::error_code error;
  const std::filesystem::directory_iterator files(folder + "/fd", error);
  if (error) return std::nullopt;
  return static_cast<double>(
      std::distance(begin(files), std::filesystem::directory_iterator()));
}

}  // namespace

std::vector<MetricFamily> ProcessMetrics::Collect() const {
  std::vector<MetricFamily> families;
  const auto gauge = [&](const char* name, const char* help,
                         std::optional<double> value) {
    if (!value.has_value()) return;
    families.push_back(Family(MetricType::Gauge, name, help, *value));
  };
  const std::vector<std::string> stat = StatFields(folder_);
  const auto user = Field(stat, 14);
  const auto system = Field(stat, 15);
  if (user.has_value() && system.has_value()) {
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    families.push_back(Family(MetricType::Counter, "process_cpu_seconds_total",
                              "CPU time, in user and system mode.",
                              (*user + *system) / ticks));
  }
  gauge("process_virtual_memory_bytes", "Size of the address space.",
        Field(stat, 23));
  if (const auto pages = Field(stat, 24)) {
    gauge("process_resident_memory_bytes", "Memory in use.",
          *pages * static_cast<double>(sysconf(_SC_PAGESIZE)));
  }
  gauge("process_threads", "Threads.", Field(stat, 20));
  gauge("process_open_fds", "Open files and sockets.", OpenFiles(folder_));
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    gauge("process_max_fds", "How many there may be.",
          static_cast<double>(limit.rlim_cur));
  }
  gauge("process_start_time_seconds", "Unix time of the start.",
        absl::ToDoubleSeconds(started_ - absl::UnixEpoch()));
  return families;
}

}  // namespace paceline
