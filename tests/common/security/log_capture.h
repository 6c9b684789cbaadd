#ifndef PACELINE_TESTS_COMMON_SECURITY_LOG_CAPTURE_H_
#define PACELINE_TESTS_COMMON_SECURITY_LOG_CAPTURE_H_

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace paceline {

// Where this process logs to, and every LogCapture. It is there before main():
// a logger must not be replaced while threads may use it.
inline const auto kLogSinks = [] {
  auto sinks = std::make_shared<spdlog::sinks::dist_sink_mt>(
      spdlog::default_logger()->sinks());
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("tests", sinks));
  return sinks;
}();

// Keeps what this process logs while it is there. Thread-safe.
class LogCapture {
 public:
  LogCapture() { kLogSinks->add_sink(sink_); }
  ~LogCapture() { kLogSinks->remove_sink(sink_); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // How many of the lines contain `text`.
  int Count(absl::string_view text) const { return sink_->Count(text); }

 private:
  class Sink : public spdlog::sinks::base_sink<std::mutex> {
   public:
    int Count(absl::string_view text) {
      std::lock_guard<std::mutex> lock(mutex_);
      int count = 0;
      for (const std::string& line : lines_) {
        count += absl::StrContains(line, text) ? 1 : 0;
      }
      return count;
    }

   protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
      lines_.emplace_back(message.payload.data(), message.payload.size());
    }
    void flush_() override {}

   private:
    std::vector<std::string> lines_;
  };

  const std::shared_ptr<Sink> sink_ = std::make_shared<Sink>();
};

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_SECURITY_LOG_CAPTURE_H_
