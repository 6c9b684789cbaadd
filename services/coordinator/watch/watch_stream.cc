#include "services/coordinator/watch/watch_stream.h"

#include "common/rpc/grpc_status.h"

namespace paceline {

void WatchStream::Begin(StreamRegistry* registry) {
  registry_ = registry;
  registry->Add(std::static_pointer_cast<WatchStream>(shared_from_this()));
}

void WatchStream::Open(std::shared_ptr<JobEvents> events,
                       JobEvents::Cursor cursor) {
  const auto self = std::static_pointer_cast<WatchStream>(shared_from_this());
  {
    absl::MutexLock lock(&mu_);
    if (done_) return;
    events_ = std::move(events);
    cursor_ = cursor;
    subscription_ =
        events_->Subscribe([weak = std::weak_ptr<WatchStream>(self)] {
          if (const auto stream = weak.lock()) stream->pump_.Post(stream);
        });
  }
  pump_.Post(self);
}

WatchStream::Step WatchStream::NextStep() {
  absl::MutexLock lock(&mu_);
  // gRPC allows one write at a time, counts Finish() as a write, and wants
  // exactly one Finish(), also of a call that was cancelled.
  if (writing_ || finished_) return Step::kNone;
  if (!ends_with_.has_value() && events_ != nullptr) {
    if (auto next = events_->Next(cursor_)) {
      message_ = *std::move(next);
      writing_ = true;
      return Step::kWrite;
    }
    ends_with_ = events_->EndedAt(cursor_);
  }
  if (!ends_with_.has_value()) return Step::kNone;
  finished_ = true;
  end_ = *ends_with_;
  return Step::kFinish;
}

void WatchStream::Pump() {
  switch (NextStep()) {
    case Step::kNone:
      return;
    case Step::kWrite:
      return StartWrite(&message_);
    case Step::kFinish:
      return Finish(ToGrpc(end_));
  }
}

void WatchStream::Close(const absl::Status& status) {
  {
    absl::MutexLock lock(&mu_);
    if (!ends_with_.has_value()) ends_with_ = status;
  }
  Pump();
}

void WatchStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mu_);
    writing_ = false;
    if (!ok && !ends_with_.has_value()) {
      ends_with_ = absl::UnavailableError("the client is gone");
    }
  }
  Pump();
}

void WatchStream::OnCancel() {
  Close(absl::CancelledError("the watch was cancelled"));
}

void WatchStream::OnDone() {
  {
    absl::MutexLock lock(&mu_);
    done_ = true;
    ticket_ = StreamTicket();  // The pump may hold the stream a little longer.
    if (events_ != nullptr) events_->Unsubscribe(subscription_);
  }
  registry_->Remove(this);  // May delete this.
}

}  // namespace paceline
