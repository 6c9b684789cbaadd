#include "services/cli/admin/error_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/status_details.h"
#include "protos/google/rpc/error_details.pb.h"
#include "services/cli/one_line.h"

namespace paceline {
namespace {

template <class Detail>
Detail DetailOf(const absl::Status& status) {
  Detail detail;
  const auto payload = status.GetPayload(
      absl::StrCat("type.googleapis.com/", Detail::descriptor()->full_name()));
  if (payload.has_value() && !detail.ParseFromString(std::string(*payload))) {
    detail.Clear();
  }
  return detail;
}

// "SUBJECT: DESCRIPTION", or the one that is there.
std::string Line(absl::string_view subject, absl::string_view description) {
  return OneLine(
      absl::StrCat(subject, subject.empty() || description.empty() ? "" : ": ",
                   description));
}

// What the server says of single things beside the message.
std::vector<std::string> FurtherLines(const absl::Status& status) {
  std::vector<std::string> lines;
  const auto failure = DetailOf<google::rpc::PreconditionFailure>(status);
  for (const auto& violation : failure.violations()) {
    lines.push_back(Line(violation.subject(), violation.description()));
  }
  const auto quota = DetailOf<google::rpc::QuotaFailure>(status);
  for (const auto& violation : quota.violations()) {
    lines.push_back(Line(violation.subject(), violation.description()));
  }
  if (const auto delay = RetryDelayOf(status); delay.has_value()) {
    lines.push_back(
        absl::StrCat("try again in ", absl::FormatDuration(*delay)));
  }
  // One that says again what the message says adds nothing.
  const std::string message = OneLine(status.message());
  std::erase_if(lines, [&](const std::string& line) {
    return message.find(line) != std::string::npos;
  });
  return lines;
}

}  // namespace

std::string ErrorText(const absl::Status& status, absl::string_view subject) {
  const std::string reason = ReasonOf(status);
  const std::vector<FieldViolation> violations = ViolationsOf(status);
  // The message of a BadRequest is its violations in one line.
  std::string text =
      absl::StrCat("paceline: ", OneLine(subject), subject.empty() ? "" : ": ",
                   violations.empty() ? OneLine(status.message()) : "refused");
  if (!reason.empty()) {
    absl::StrAppend(&text, " (", absl::StatusCodeToString(status.code()), ": ",
                    OneLine(reason), ")");
  }
  text += '\n';
  for (const FieldViolation& violation : violations) {
    absl::StrAppend(&text, "  ", Line(violation.field, violation.description),
                    "\n");
  }
  for (const std::string& line : FurtherLines(status)) {
    absl::StrAppend(&text, "  ", line, "\n");
  }
  return text;
}

}  // namespace paceline
