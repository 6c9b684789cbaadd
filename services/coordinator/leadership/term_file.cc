#include "services/coordinator/leadership/term_file.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/safetensors/durable_file.h"
#include "common/security/small_file.h"
#include "common/status.h"

namespace paceline {

absl::StatusOr<Election::Own> TermFile::Read() const {
  Election::Own own;
  std::error_code error;
  own.has_store = std::filesystem::exists(store_, error);
  const absl::StatusOr<std::string> text = ReadSmallFile(path_);
  if (absl::IsNotFound(text.status())) return own;
  // An empty one is INVALID_ARGUMENT.
  if (!text.ok() && !absl::IsInvalidArgument(text.status())) {
    return text.status();
  }
  const std::string line = text.value_or("");
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::StripSuffix(line, "\n"), ' ');
  uint64_t term = 0;
  const bool whole = words.size() == 2 && absl::SimpleAtoi(words[1], &term);
  if (whole && words[0] == "led") {
    own.led = term;
  } else if (whole && words[0] == "followed") {
    own.followed = term;
  } else {
    return absl::DataLossError(absl::StrCat(
        path_,
        " does not say what the store is: remove it, and say which "
        "coordinator is to lead (`paceline coordinator promote`)"));
  }
  return own;
}

absl::Status TermFile::Write(const std::string& text) const {
  PACELINE_ASSIGN_OR_RETURN(DurableFile file, DurableFile::Create(path_));
  PACELINE_RETURN_IF_ERROR(file.Write(text));
  return file.Commit().status();
}

absl::Status TermFile::Led(uint64_t term) const {
  return Write(absl::StrCat("led ", term, "\n"));
}

absl::Status TermFile::Followed(uint64_t term) const {
  return Write(absl::StrCat("followed ", term, "\n"));
}

}  // namespace paceline
