#include "services/coordinator/watch/watch_stream.h"

#include "common/rpc/grpc_status.h"

namespace paceline {

void WatchStream::Begin(StreamRegistry* registry) {
  registry_ = registry;
  open_.Increment();
  registry->Add(std::static_pointer_cast<WatchStream>(shared_from_this()));
}

void WatchStream::Open(std::shared_ptr<JobEvents> events,
                       JobEvents::Cursor cursor) {
  const auto self = std::static_pointer_cast<WatchStream>(shared_from_this());
  {
    absl::MutexLock lock(&mu_);
    if (done_) return;
    events_ = std::move(events);
    cursor_ = std::move(cursor);
    subscription_ =
        events_->Subscribe([weak = std::weak_ptr<WatchStream>(self)] {
          if (const auto stream = weak.lock()) stream->pump_.Post(stream);
        });
  }
  pump_.Post(self);
}

WatchStream::Queue::Step WatchStream::Read() {
  absl::MutexLock lock(&mu_);
  if (events_ == nullptr || queue_.closed() || queue_.size() > 0) return {};
  if (auto next = events_->Next(cursor_)) return queue_.Send(*std::move(next));
  const auto ended = events_->EndedAt(cursor_);
  if (!ended.has_value()) return {};
  return queue_.Close(*ended);
}

void WatchStream::Perform(const Queue::Step& step) {
  switch (step.kind) {
    case Queue::Step::Kind::kNone:
      return;
    case Queue::Step::Kind::kWrite:
      return StartWrite(step.message);
    case Queue::Step::Kind::kFinish:
      return Finish(ToGrpc(step.status));
  }
}

void WatchStream::Pump() { Perform(Read()); }

void WatchStream::Close(const absl::Status& status) {
  Perform(queue_.Close(status));
}

void WatchStream::OnWriteDone(bool ok) {
  Perform(queue_.Written());
  if (ok) return Pump();
  Close(absl::UnavailableError("the client is gone"));
}

// Even a cancelled call needs its Finish().
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
  open_.Decrement();
  registry_->Remove(this);  // May delete this.
}

}  // namespace paceline
