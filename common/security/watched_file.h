#ifndef PACELINE_COMMON_SECURITY_WATCHED_FILE_H_
#define PACELINE_COMMON_SECURITY_WATCHED_FILE_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/log/log.h"
#include "common/security/small_file.h"
#include "common/status.h"

namespace paceline {

// What a small file says, looked at again every `interval`. While the file is
// missing or malformed the value stays as it was, and a warning is logged once.
// Thread-safe.
template <class Value>
class WatchedFile {
 public:
  // What files of one kind mean, and what is logged of them.
  struct Kind {
    absl::StatusOr<Value> (*parse)(absl::string_view text);
    const char* unusable;  // The warning.
    // Told of a new value; may be null.
    void (*changed)(const std::string& path, const Value& value);
  };

  // The errors of ReadSmallFile() and `kind.parse`, with the path.
  static absl::StatusOr<std::shared_ptr<const WatchedFile>> Open(
      const std::string& path, absl::Duration interval, const Kind& kind) {
    PACELINE_ASSIGN_OR_RETURN(std::string text, ReadSmallFile(path));
    PACELINE_ASSIGN_OR_RETURN(Value value, Annotate(kind.parse(text), path));
    std::shared_ptr<WatchedFile> file(
        new WatchedFile(path, kind, std::move(text), std::move(value)));
    file->looking_ = std::make_unique<Periodic>(
        interval, [file = file.get()] { file->Look(); });
    return file;
  }

  std::shared_ptr<const Value> Get() const {
    absl::MutexLock lock(&mu_);
    return value_;
  }

 private:
  WatchedFile(std::string path, const Kind& kind, std::string text, Value value)
      : path_(std::move(path)),
        kind_(kind),
        text_(std::move(text)),
        value_(std::make_shared<const Value>(std::move(value))) {}

  void Look() {
    absl::StatusOr<std::string> text = ReadSmallFile(path_);
    if (text.ok() && *text == text_) {
      complaint_.clear();
      return;
    }
    absl::StatusOr<Value> value =
        text.ok() ? kind_.parse(*text) : text.status();
    if (!value.ok()) {
      const std::string complaint(value.status().message());
      if (std::exchange(complaint_, complaint) == complaint) return;
      LogWarning(kind_.unusable, {{"file", path_}, {"error", complaint}});
      return;
    }
    complaint_.clear();
    text_ = *std::move(text);
    if (kind_.changed != nullptr) kind_.changed(path_, *value);
    auto fresh = std::make_shared<const Value>(*std::move(value));
    absl::MutexLock lock(&mu_);
    value_.swap(fresh);
  }

  const std::string path_;
  const Kind kind_;
  // The thread's own.
  std::string text_;
  std::string complaint_;

  mutable absl::Mutex mu_;
  std::shared_ptr<const Value> value_ ABSL_GUARDED_BY(mu_);

  std::unique_ptr<Periodic> looking_;  // Ends before what it looks at.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_WATCHED_FILE_H_
