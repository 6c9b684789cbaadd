#ifndef PACELINE_SERVICES_CLI_REPORT_SOURCE_H_
#define PACELINE_SERVICES_CLI_REPORT_SOURCE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/cli/report_line.h"

namespace paceline {

// Where a run's reports come from, once its coordinator listens. Used by one
// thread.
class ReportSource {
 public:
  virtual ~ReportSource() = default;

  // Readable when Read() may have something.
  virtual int fd() const = 0;

  // Those that have come since the last call; does not block.
  virtual std::vector<Report> Read() = 0;
};

// Opens the reports of a run on the coordinator at `address`, who does the job
// from then on.
using OpenReports =
    std::function<std::unique_ptr<ReportSource>(const std::string& address)>;

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_REPORT_SOURCE_H_
