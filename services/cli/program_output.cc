#include "services/cli/program_output.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/cli/run_files.h"

namespace paceline {
namespace {

constexpr char kLogSuffix[] = ".program.log";

// A traceback of Python, but not an epoch of progress lines.
constexpr size_t kLinesShown = 12;

// Where `word` stands by itself in `text`; npos if nowhere. "w0.2" is a word,
// and in "of w0." w0 is one.
size_t FindWord(absl::string_view text, absl::string_view word) {
  const auto alnum = [&](size_t at) {
    return at < text.size() &&
           absl::ascii_isalnum(static_cast<unsigned char>(text[at]));
  };
  const auto in_word = [&](size_t at) {
    return alnum(at) || (at < text.size() && text[at] == '.' && alnum(at + 1));
  };
  size_t at = text.find(word);
  while (at != absl::string_view::npos) {
    const bool begins = at == 0 || !in_word(at - 1);
    if (begins && !in_word(at + word.size())) return at;
    at = text.find(word, at + 1);
  }
  return at;
}

// `workers` in the order in which `why` names them; then those it does not.
std::vector<std::string> InOrderOfBlame(absl::string_view why,
                                        std::vector<std::string> workers) {
  std::stable_sort(workers.begin(), workers.end(),
                   [&](const std::string& a, const std::string& b) {
                     return FindWord(why, a) < FindWord(why, b);
                   });
  return workers;
}

}  // namespace

std::string ProgramLog(absl::string_view folder, absl::string_view worker) {
  return absl::StrCat(folder, "/", worker, kLogSuffix);
}

std::string WithLastQuote(absl::string_view why) {
  constexpr absl::string_view kQuote = "; last lines: ";
  constexpr absl::string_view kBetween = " | ";
  const size_t begin = why.find(kQuote);
  if (begin == absl::string_view::npos) return std::string(why);
  const size_t last = why.rfind(kBetween);
  const bool several = last != absl::string_view::npos && last > begin;
  const size_t kept = several ? last + kBetween.size() : begin + kQuote.size();
  return absl::StrCat(why.substr(0, begin), ": ", why.substr(kept));
}

void RemoveProgramLogs(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> logs;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    if (file.path().string().ends_with(kLogSuffix)) logs.push_back(file.path());
  }
  for (const auto& log : logs) std::filesystem::remove(log, error);
}

std::vector<std::string> LastWords(absl::string_view folder,
                                   absl::string_view why,
                                   const std::vector<std::string>& workers) {
  for (const std::string& worker : InOrderOfBlame(why, workers)) {
    const std::string log = ProgramLog(folder, worker);
    const std::vector<std::string> said = LastLinesOf(log, kLinesShown);
    if (said.empty()) continue;
    std::vector<std::string> lines = {absl::StrCat(log, " ends with:")};
    bool no_package = false;
    for (const std::string& line : said) {
      lines.push_back(absl::StrCat("  | ", line));
      no_package |= absl::StrContains(line, "No module named 'paceline'");
    }
    if (no_package) {
      lines.emplace_back(
          "the Python package is missing: `pip install services/worker/python` "
          "in paceline's source tree, or add that folder to PYTHONPATH");
    }
    return lines;
  }
  return {};
}

}  // namespace paceline
