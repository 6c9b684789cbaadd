#include "services/cli/admin/job_watcher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status.h"

namespace paceline {
namespace {

// A stream without an end could hang for ever behind a broken balancer; a new
// one resumes where it was.
constexpr absl::Duration kStreamLife = absl::Minutes(30);

}  // namespace

JobWatcher::JobWatcher(AdminClient* client, const std::string& job)
    : client_(client) {
  request_.set_name(job);
}

absl::StatusOr<std::optional<v1::WatchJobResponse>> JobWatcher::Next(
    absl::Time until) {
  for (;;) {
    if (stream_ == nullptr) stream_ = client_->Watch(request_, kStreamLife);
    v1::WatchJobResponse response;
    switch (stream_->Next(until, &response)) {
      case AdminClient::JobStream::Event::kMessage:
        request_.set_resume_token(response.resume_token());
        outage_begin_ = absl::InfiniteFuture();
        attempts_ = 0;
        return std::make_optional(std::move(response));
      case AdminClient::JobStream::Event::kTimeout:
        return absl::DeadlineExceededError("the time to wait has passed");
      case AdminClient::JobStream::Event::kInterrupted:
        return absl::CancelledError("interrupted");
      case AdminClient::JobStream::Event::kEnded:
        break;
    }
    const grpc::Status status = stream_->status();
    stream_.reset();
    if (status.ok()) return std::nullopt;
    PACELINE_RETURN_IF_ERROR(Recover(status, until));
  }
}

absl::Status JobWatcher::Recover(const grpc::Status& status, absl::Time until) {
  const absl::Status explained = client_->Explain(status);
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    client_->Reconnect();
    return absl::OkStatus();
  }
  // A coordinator that has restarted may not know the token: from the present
  // state on, then.
  if (absl::IsInvalidArgument(explained) && !request_.resume_token().empty()) {
    request_.clear_resume_token();
    return absl::OkStatus();
  }
  if (!absl::IsUnavailable(explained)) return explained;
  const absl::Time now = absl::Now();
  outage_begin_ = std::min(outage_begin_, now);
  const absl::Duration pause = RetryPause(++attempts_);
  const absl::Time give_up =
      outage_begin_ + client_->connection().request_timeout;
  if (now + pause >= give_up) return explained;
  if (now + pause >= until) return explained;
  if (attempts_ == 5) {
    client_->Note(absl::StrCat(explained.message(), "; trying again"));
  }
  PACELINE_RETURN_IF_ERROR(client_->Pause(pause));
  client_->Reconnect();
  return absl::OkStatus();
}

}  // namespace paceline
