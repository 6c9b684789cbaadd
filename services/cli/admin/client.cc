#include "services/cli/admin/client.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/security/connection_probe.h"
#include "common/status.h"
#include "common/status_details.h"

namespace paceline {
namespace {

// A coordinator that is not heard for so long is given up.
constexpr absl::Duration kLiveness = absl::Seconds(8);

// How long a server may take to say whether it takes our certificate.
constexpr absl::Duration kProbe = absl::Seconds(2);

// Shorter outages are nobody's business.
constexpr absl::Duration kQuietOutage = absl::Seconds(2);

// With the details that the status had.
absl::Status Reworded(const absl::Status& status, absl::string_view message) {
  absl::Status reworded(status.code(), message);
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    reworded.SetPayload(type, payload);
  });
  return reworded;
}

absl::Status Interrupted() { return absl::CancelledError("interrupted"); }

// A stream without an end could hang for ever behind a broken balancer; a new
// one resumes where it was.
constexpr absl::Duration kStreamLife = absl::Minutes(30);

}  // namespace

absl::StatusOr<std::unique_ptr<AdminClient>> AdminClient::Create(
    Connection connection, std::shared_ptr<Interruption> interruption,
    std::function<void(absl::string_view)> note) {
  if (connection.address.empty()) {
    return absl::InvalidArgumentError(
        "no coordinator is named: give --address HOST:PORT, set "
        "PACELINE_ADDRESS, or make a context with `paceline config "
        "set-context NAME --address HOST:PORT` and `use-context NAME`");
  }
  ClientSecurityOptions options;
  options.tls = {.cert = connection.tls_cert,
                 .key = connection.tls_key,
                 .ca = connection.tls_ca};
  options.tls_server_name = connection.tls_server_name;
  options.token_file = connection.token_file;
  options.insecure_plaintext = connection.insecure_plaintext;
  PACELINE_ASSIGN_OR_RETURN(ClientSecurity security,
                            MakeClientSecurity(options));
  for (const auto& address : SplitCoordinatorAddresses(connection.address)) {
    PACELINE_RETURN_IF_ERROR(CheckDialAddress(address, security));
  }
  std::unique_ptr<AdminClient> client(
      new AdminClient(std::move(connection), std::move(security),
                      std::move(interruption), std::move(note)));
  client->Reconnect();
  return client;
}

void AdminClient::Reconnect() {
  address_ = addresses_.Next();
  channel_ =
      MakeChannel(address_, ChannelProfile::kControl, kLiveness, security_);
  jobs_ = v1::JobService::NewStub(channel_);
  cluster_ = v1::ClusterService::NewStub(channel_);
  coordinator_ = v1::CoordinatorService::NewStub(channel_);
}

absl::Status AdminClient::Pause(absl::Duration pause) {
  interruption_->WaitUntil(absl::Now() + pause);
  return interruption_->signal() == 0 ? absl::OkStatus() : Interrupted();
}

absl::Status AdminClient::Explain(const grpc::Status& status) const {
  const absl::Status explained = FromGrpc(status);
  // The coordinator was reached: it speaks of somebody whom it has asked.
  if (absl::StartsWith(ReasonOf(explained), "MEMBER_")) return explained;
  if (absl::IsUnavailable(explained)) {
    return Reworded(explained, absl::StrCat("cannot reach ", address_, ": ",
                                            explained.message()));
  }
  if (absl::IsDeadlineExceeded(explained)) {
    return Reworded(
        explained,
        absl::StrCat(address_, " did not answer within ",
                     absl::FormatDuration(connection_.request_timeout)));
  }
  return explained;
}

absl::Status AdminClient::Perform(const Attempt& attempt) {
  const absl::Time begin = absl::Now();
  const absl::Time deadline = begin + connection_.request_timeout;
  bool noted = false;
  absl::Status outage;
  for (int tries = 1;; ++tries) {
    repeated_ = tries > 1;
    const absl::Status status = Try(attempt, deadline);
    // The reason that says what is wrong is the more useful one.
    if (absl::IsDeadlineExceeded(status) && !outage.ok()) return outage;
    if (!absl::IsUnavailable(status)) return status;
    if (tries == 1)
      PACELINE_RETURN_IF_ERROR(CheckCredentials(status, deadline));
    outage = status;
    const absl::Duration pause = std::max(
        RetryPause(tries), RetryDelayOf(status).value_or(absl::ZeroDuration()));
    if (absl::Now() + pause >= deadline) return outage;
    if (!noted && absl::Now() - begin >= kQuietOutage) {
      noted = true;
      note_(absl::StrCat(outage.message(), "; trying again"));
    }
    PACELINE_RETURN_IF_ERROR(Pause(pause));
    Reconnect();
  }
}

absl::Status AdminClient::CheckCredentials(const absl::Status& outage,
                                           absl::Time deadline) const {
  // The coordinator said that itself: it has taken us.
  if (!ReasonOf(outage).empty()) return absl::OkStatus();
  const absl::Status refused = ProbeConnection(
      address_, security_,
      std::clamp(deadline - absl::Now(), absl::ZeroDuration(), kProbe));
  if (ReasonOf(refused) != "NO_CREDENTIALS") return refused;
  return Reworded(
      refused,
      absl::StrCat(refused.message(),
                   "; or as PACELINE_TLS_CA, PACELINE_TLS_CERT and "
                   "PACELINE_TLS_KEY, or as tls-ca, tls-cert and tls-key of a "
                   "context (`paceline config set-context`)"));
}

absl::Status AdminClient::Try(const Attempt& attempt, absl::Time deadline) {
  // A call that is cancelled at once may still reach the server.
  if (interruption_->signal() != 0) return Interrupted();
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  const Interruption::Cancels cancels(interruption_.get(), &context);
  const grpc::Status status = attempt(&context);
  // What came before the interruption is still told.
  if (!status.ok() && interruption_->signal() != 0) return Interrupted();
  return Explain(status);
}

std::unique_ptr<AdminClient::JobStream> AdminClient::Watch(
    grpc::ClientContext* context, const v1::WatchJobRequest& request) {
  return jobs_->WatchJob(context, request);
}

absl::Duration RetryPause(int attempt) {
  return std::min(
      absl::Seconds(2),
      absl::Milliseconds(100) * std::pow(1.5, std::min(attempt - 1, 20)));
}

JobWatcher::JobWatcher(AdminClient* client, const std::string& job)
    : client_(client) {
  request_.set_name(job);
}

JobWatcher::~JobWatcher() {
  if (stream_ == nullptr) return;
  context_->TryCancel();
  v1::WatchJobResponse unread;
  while (stream_->Read(&unread)) {
  }
  stream_->Finish();
}

absl::StatusOr<std::optional<v1::WatchJobResponse>> JobWatcher::Next(
    absl::Time until) {
  Interruption& interruption = client_->interruption();
  for (;;) {
    if (interruption.signal() != 0) return Interrupted();
    v1::WatchJobResponse response;
    if (Read(until, response)) {
      request_.set_resume_token(response.resume_token());
      outage_begin_ = absl::InfiniteFuture();
      attempts_ = 0;
      return std::make_optional(std::move(response));
    }
    const grpc::Status status = stream_->Finish();
    stream_.reset();
    if (status.ok()) return std::nullopt;
    if (interruption.signal() != 0) return Interrupted();
    PACELINE_RETURN_IF_ERROR(Recover(status, until));
  }
}

bool JobWatcher::Read(absl::Time until, v1::WatchJobResponse& response) {
  if (stream_ == nullptr) {
    context_.emplace();
    context_->set_deadline(
        absl::ToChronoTime(std::min(until, absl::Now() + kStreamLife)));
  }
  const Interruption::Cancels cancels(&client_->interruption(), &*context_);
  if (stream_ == nullptr) stream_ = client_->Watch(&*context_, request_);
  return stream_->Read(&response);
}

absl::Status JobWatcher::Recover(const grpc::Status& status, absl::Time until) {
  const absl::Status explained = client_->Explain(status);
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    if (absl::Now() >= until) {
      return absl::DeadlineExceededError("the time to wait has passed");
    }
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
  // Who has seen something had the right credentials, and waits.
  if (attempts_ == 1 && request_.resume_token().empty()) {
    PACELINE_RETURN_IF_ERROR(client_->CheckCredentials(explained, until));
  }
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
