#include "services/worker/program/program_life.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/log/log.h"
#include "common/status.h"

namespace paceline {
namespace {

// Who connects says hello at once.
constexpr absl::Duration kHelloTimeout = absl::Seconds(10);

// How long a connection that is broken is read for what came before.
constexpr absl::Duration kLastWords = absl::Seconds(1);

// From the end of a connection to that of its process, which the kernel brings
// about in this order when a process dies.
constexpr absl::Duration kExitTimeout = absl::Seconds(2);

}  // namespace

absl::StatusOr<std::unique_ptr<ProgramLife>> ProgramLife::Begin(
    ProgramSocket* socket, const ProgramCommand& command,
    const ProgramPatience& patience) {
  auto life = absl::WrapUnique(new ProgramLife);
  if (!command.text.empty()) {
    PACELINE_ASSIGN_OR_RETURN(life->process_,
                              ProgramProcess::Start(command, socket->path()));
  }
  PACELINE_RETURN_IF_ERROR(life->AwaitConnection(*socket, patience));
  PACELINE_RETURN_IF_ERROR(life->AwaitHello());
  return life;
}

absl::Status ProgramLife::AwaitConnection(ProgramSocket& socket,
                                          const ProgramPatience& patience) {
  bool dead = false;
  ProgramPatience waiting = patience;
  waiting.stopped = [&] {
    dead = process_ != nullptr && process_->Ended();
    return dead || patience.stopped();
  };
  absl::StatusOr<std::shared_ptr<ProgramConnection>> taken =
      socket.Take(waiting);
  if (taken.ok()) {
    connection_ = *std::move(taken);
    return absl::OkStatus();
  }
  if (dead) return Died("before it connected");
  if (!absl::IsDeadlineExceeded(taken.status())) return taken.status();
  return absl::DeadlineExceededError(absl::StrCat(
      process_ != nullptr ? "the program has not connected to "
                          : "no program has connected to ",
      socket.path(),
      ": start it with PACELINE_PROGRAM set to that path, or the worker with "
      "--exec"));
}

absl::Status ProgramLife::AwaitHello() {
  const ProgramPatience patience = {.deadline =
                                        Clock::Real().Now() + kHelloTimeout};
  const auto frame = Receive(patience, "before it said hello");
  if (absl::IsDeadlineExceeded(frame.status())) {
    // Somebody who only holds the place: the next one may do better.
    return absl::UnavailableError(
        absl::StrCat("the program said no `hello` within ",
                     absl::FormatDuration(kHelloTimeout)));
  }
  PACELINE_RETURN_IF_ERROR(frame.status());
  if (frame->kind != FrameKind::kHello) {
    return Refuse(absl::InvalidArgumentError(
        absl::StrCat("the program began with `", FrameName(frame->kind),
                     "`, not with `hello`")));
  }
  const auto hello = ParseHello(frame->body);
  if (!hello.ok()) return Refuse(hello.status());
  if (hello->protocol != kProgramProtocol) {
    return Refuse(absl::FailedPreconditionError(absl::StrCat(
        "the program speaks version ", hello->protocol,
        " of the program protocol, this agent version ", kProgramProtocol,
        ": use the package of the agent's release")));
  }
  hello_ = *hello;
  return absl::OkStatus();
}

absl::Status ProgramLife::Send(absl::string_view frame,
                               const ProgramPatience& patience,
                               absl::string_view where,
                               absl::Span<const int> descriptors) {
  const absl::Status sent = connection_->Send(frame, patience, descriptors);
  if (!absl::IsUnavailable(sent)) return sent;
  // Its last word may still be there: why it has failed.
  const absl::Time deadline = Clock::Real().Now() + kLastWords;
  while (Clock::Real().Now() < deadline) {
    const auto word = Receive({.deadline = Clock::Real().Now()}, where);
    if (absl::IsDeadlineExceeded(word.status())) break;
    PACELINE_RETURN_IF_ERROR(word.status());
  }
  return Died(where);
}

absl::Status ProgramLife::Tell(absl::string_view frame,
                               const ProgramPatience& patience) {
  return connection_->Send(frame, patience);
}

void ProgramLife::SendAtOnce(absl::string_view frames) {
  connection_->SendAtOnce(frames);
}

absl::StatusOr<ProgramFrame> ProgramLife::Receive(
    const ProgramPatience& patience, absl::string_view where) {
  absl::StatusOr<ProgramFrame> frame = connection_->Receive(patience);
  if (absl::IsUnavailable(frame.status())) return Died(where);
  if (absl::IsInvalidArgument(frame.status())) return Refuse(frame.status());
  if (!frame.ok() || frame->kind != FrameKind::kFailed) return frame;
  const auto failed = ParseFailed(frame->body);
  if (!failed.ok()) return Refuse(failed.status());
  over_ = true;
  return absl::Status(
      failed->why.code(),
      absl::StrCat("the program failed ", where, ": ", failed->why.message()));
}

absl::Status ProgramLife::Refuse(const absl::Status& wrong) {
  over_ = true;
  connection_
      ->Send(RefusedFrame(wrong),
             {.deadline = Clock::Real().Now() + absl::Seconds(1)})
      .IgnoreError();
  return Annotate(wrong, "the program is refused");
}

absl::Status ProgramLife::Died(absl::string_view where) {
  if (process_ == nullptr) {
    return absl::UnavailableError(absl::StrCat(
        "the program closed its connection ", where, "; its own log says why"));
  }
  if (!process_->AwaitEnd(kExitTimeout)) {
    return absl::UnavailableError(
        absl::StrCat("the program closed its connection ", where,
                     ", and its process goes on"));
  }
  described_ = true;
  // "exited with 1 in step 812; last lines: ...".
  const std::string how = process_->Describe();
  const size_t end = std::min(how.find(';'), how.size());
  return absl::Status(process_->killed() ? absl::StatusCode::kUnavailable
                                         : absl::StatusCode::kAborted,
                      absl::StrCat("the program ", how.substr(0, end), " ",
                                   where, how.substr(end)));
}

void ProgramLife::End(absl::string_view last_word, absl::Duration grace,
                      const std::function<bool()>& hurried) {
  const absl::Time deadline = Clock::Real().Now() + grace;
  if (connection_ != nullptr && !over_ && !connection_->gone() &&
      !connection_->torn()) {
    // Whatever else it says until it has closed is of no use.
    const ProgramPatience patience = {.deadline = deadline, .stopped = hurried};
    absl::Status status = connection_->Send(last_word, patience);
    while (status.ok() && !hurried() && Clock::Real().Now() < deadline) {
      status = connection_->Receive(patience).status();
    }
  }
  connection_ = nullptr;
  if (process_ == nullptr) return;
  const bool by_itself = process_->End(deadline, grace, hurried);
  if (!described_) {
    const nlohmann::json fields = {{"pid", pid()},
                                   {"how", process_->Describe()}};
    if (by_itself) {
      LogInfo("the program has ended", fields);
    } else {
      LogWarning("the program did not end by itself", fields);
    }
  }
  process_ = nullptr;
}

}  // namespace paceline
