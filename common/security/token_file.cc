#include "common/security/token_file.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "common/log/log.h"
#include "common/security/small_file.h"
#include "common/status.h"

namespace paceline {

absl::StatusOr<std::shared_ptr<const TokenFile>> TokenFile::Open(
    const std::string& path, absl::Duration interval) {
  PACELINE_ASSIGN_OR_RETURN(std::string content, ReadSmallFile(path));
  auto table = TokenTable::Parse(content);
  if (!table.ok()) return Annotate(table.status(), path);
  std::shared_ptr<TokenFile> file(
      new TokenFile(path, std::move(content), *std::move(table)));
  file->looking_ = std::make_unique<Periodic>(
      interval, [file = file.get()] { file->Look(); });
  return file;
}

TokenFile::TokenFile(std::string path, std::string content, TokenTable table)
    : path_(std::move(path)),
      content_(std::move(content)),
      table_(std::make_shared<const TokenTable>(std::move(table))) {}

std::optional<Identity> TokenFile::Match(absl::string_view token) const {
  std::shared_ptr<const TokenTable> table;
  {
    absl::MutexLock lock(&mu_);
    table = table_;
  }
  return table->Match(token);
}

void TokenFile::Look() {
  auto content = ReadSmallFile(path_);
  if (content.ok() && *content == content_) {
    complaint_.clear();
    return;
  }
  absl::StatusOr<TokenTable> table =
      content.ok() ? TokenTable::Parse(*content) : content.status();
  if (!table.ok()) {
    const std::string complaint(table.status().message());
    if (complaint == complaint_) return;
    complaint_ = complaint;
    LogWarning("the token file cannot be used; the tokens stay as they were",
               {{"file", path_}, {"error", complaint}});
    return;
  }
  complaint_.clear();
  content_ = *std::move(content);
  LogInfo("the token file has changed",
          {{"file", path_}, {"tokens", table->size()}});
  auto fresh = std::make_shared<const TokenTable>(*std::move(table));
  absl::MutexLock lock(&mu_);
  table_.swap(fresh);
}

}  // namespace paceline
