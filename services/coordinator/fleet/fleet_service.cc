#include "services/coordinator/fleet/fleet_service.h"

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "common/lane/lane_door.h"
#include "common/log/log.h"
#include "common/rpc/server_stream.h"
#include "common/status.h"
#include "protos/paceline/v1/fleet.grpc.pb.h"
#include "services/coordinator/fleet/member_session.h"
#include "services/coordinator/fleet/session_book.h"
#include "services/coordinator/jobs/resource_name.h"

namespace paceline {
namespace {

absl::Status HelloFirst() {
  return absl::InvalidArgumentError("the first message must be `hello`");
}

// What differs between the two kinds of members.

struct Workers {
  using In = v1::WorkerMessage;
  using Out = v1::WorkerCommand;
  using Session = WorkerSession;

  static absl::StatusOr<uint64_t> Connect(Fleet& fleet,
                                          const v1::WorkerHello& hello,
                                          std::weak_ptr<Session> session) {
    return fleet.OnWorkerConnected(hello, std::move(session));
  }
  static void Disconnect(Fleet& fleet, uint64_t member, const std::string& name,
                         const absl::Status& why) {
    fleet.OnWorkerDisconnected(member);
    fleet.logs().Gone(member, FormatWorkerName(name), why);
  }
  // A run hears what its workers say, and does not ask for their links.
  static void LinkChanged(Fleet&, uint64_t, uint64_t, bool) {}
  static void EndIsLost(Fleet& fleet, uint64_t member) {
    const auto part = fleet.SessionOf(member);
    const auto run = part == nullptr ? nullptr : part->run.lock();
    if (run != nullptr) run->LoseEnd();
  }
  static std::function<absl::Status(In&)> HandlerOf(Fleet* fleet,
                                                    uint64_t member) {
    return [fleet, member, part = std::shared_ptr<const RunSession>()](
               v1::WorkerMessage& message) mutable {
      if (message.has_log_told()) {
        fleet->logs().Told(member, std::move(*message.mutable_log_told()));
        return absl::OkStatus();
      }
      return fleet->OnWorkerMessage(member, message, &part);
    };
  }
};

struct Servers {
  using In = v1::ServerMessage;
  using Out = v1::ServerCommand;
  using Session = MemberSession<In, Out>;

  static absl::StatusOr<uint64_t> Connect(Fleet& fleet,
                                          const v1::ServerHello& hello,
                                          std::weak_ptr<Session> session) {
    return fleet.OnServerConnected(hello, std::move(session));
  }
  static void Disconnect(Fleet& fleet, uint64_t member, const std::string& name,
                         const absl::Status& why) {
    fleet.OnServerDisconnected(member);
    fleet.logs().Gone(member, FormatServerName(name), why);
  }
  static void LinkChanged(Fleet& fleet, uint64_t member, uint64_t link,
                          bool connected) {
    fleet.OnServerLink(member, link, connected);
  }
  // Their sessions are never restored.
  static void EndIsLost(Fleet&, uint64_t) {}
  static std::function<absl::Status(In&)> HandlerOf(Fleet* fleet,
                                                    uint64_t member) {
    return [fleet, member](v1::ServerMessage& message) {
      if (message.has_log_told()) {
        fleet->logs().Told(member, std::move(*message.mutable_log_told()));
        return absl::OkStatus();
      }
      return fleet->OnServerMessage(member, message);
    };
  }
};

// Who hears what the member says in its session, which is in the book.
template <class Kind>
typename Kind::Session::Handlers HandlersOf(
    Fleet* fleet, uint64_t member,
    const std::shared_ptr<SessionBook<typename Kind::In, typename Kind::Out>>&
        book,
    const std::shared_ptr<typename Kind::Session>& session) {
  using Book = SessionBook<typename Kind::In, typename Kind::Out>;
  return {.on_message = Kind::HandlerOf(fleet, member),
          .on_over =
              [fleet, book = book.get(), member, session = session.get()] {
                // Whoever ends it, a stream or the book, holds the book.
                Kind::Disconnect(*fleet, member, session->name(),
                                 session->closed());
                book->Remove(session->id());
              },
          .on_link =
              [fleet, member](uint64_t link, bool connected) {
                Kind::LinkChanged(*fleet, member, link, connected);
              },
          .end_soon =
              [book = std::weak_ptr<Book>(book),
               session = std::weak_ptr<typename Kind::Session>(session)] {
                // Not while the service itself goes.
                const auto open = book.lock();
                auto over = session.lock();
                if (open != nullptr && over != nullptr) {
                  open->EndSoon(std::move(over));
                }
              },
          .on_lost_end = [fleet, member] { Kind::EndIsLost(*fleet, member); }};
}

// Where members of this machine hand over sockets for their streams.
struct Sockets {
  LaneDoor* door = nullptr;
  std::string host = {};  // As they name it; empty: nobody does.
};

// One of the streams that carry a member's session.
template <class Kind>
class MemberStream
    : public ServerStream<typename Kind::In, typename Kind::Out> {
 public:
  using In = typename Kind::In;
  using Out = typename Kind::Out;
  using Session = typename Kind::Session;
  using Book = SessionBook<In, Out>;

  MemberStream(Fleet* fleet, std::shared_ptr<Book> book, FleetMetrics* metrics,
               const Sockets* sockets, StreamTicket ticket)
      // What is resumed may be all that is kept.
      : ServerStream<In, Out>(2 * kMaxQueuedCommands),
        fleet_(fleet),
        book_(std::move(book)),
        metrics_(metrics),
        sockets_(sockets),
        ticket_(std::move(ticket)) {}

 protected:
  absl::Status OnMessage(In& message) override {
    if (message.has_by_socket()) return this->ReadBypass();
    if (session_ != nullptr) return session_->OnMessage(this, message);
    if (!message.has_hello()) return HelloFirst();
    // It matters to this stream alone.
    std::string host;
    if (message.hello().has_session()) {
      host = std::move(*SessionOfHello(message)->mutable_host());
    }
    const auto& hello = message.hello();
    PACELINE_RETURN_IF_ERROR(fleet_->CheckTerm(hello.session()));
    PACELINE_RETURN_IF_ERROR(hello.session().id() == 0 ? Register(hello)
                                                       : Resume(hello));
    if (!host.empty() && host == sockets_->host) Invite();
    return absl::OkStatus();
  }

  void OnDisconnected() override {
    if (!invitation_.empty()) sockets_->door->Withdraw(invitation_);
    if (session_ != nullptr) session_->OnStreamOver(this);
  }

 private:
  template <class Hello>
  absl::Status Resume(const Hello& hello) {
    PACELINE_ASSIGN_OR_RETURN(session_,
                              book_->Find(hello.session().id(), hello.name()));
    PACELINE_RETURN_IF_ERROR(
        session_->Attach(Self(), hello.session().received()));
    metrics_->sessions_resumed.Increment();
    // Its lease begins anew: it was heard just now.
    In heartbeat;
    heartbeat.mutable_heartbeat();
    PACELINE_RETURN_IF_ERROR(session_->OnMessage(this, heartbeat));
    LogInfo("back", {{"member", hello.name()}});
    return absl::OkStatus();
  }

  // The member is on this machine.
  void Invite() {
    const std::weak_ptr<OpenStream> weak = this->shared_from_this();
    LaneInvitation invitation =
        sockets_->door->InviteSocket([weak](MessageSocket::Parts socket) {
          const auto open = weak.lock();
          if (open == nullptr) return;
          Out last;
          last.mutable_by_socket();
          std::static_pointer_cast<MemberStream>(open)->Bypass(
              std::move(socket), std::move(last));
        });
    invitation_ = invitation.token;
    Out offer;
    offer.mutable_socket_offer()->set_address(std::move(invitation.address));
    offer.mutable_socket_offer()->set_token(std::move(invitation.token));
    this->Send(std::move(offer));
  }

  std::shared_ptr<OutgoingStream<Out>> Self() {
    return std::static_pointer_cast<OutgoingStream<Out>>(
        this->shared_from_this());
  }

  template <class Hello>
  absl::Status Register(const Hello& hello) {
    const auto session =
        book_->Open(hello.name(), hello.has_session(), kMaxQueuedCommands);
    const absl::StatusOr<uint64_t> member =
        Kind::Connect(*fleet_, hello, session);
    if (!member.ok()) {
      book_->Remove(session->id());
      return member.status();
    }
    session->Handle(HandlersOf<Kind>(fleet_, *member, book_, session));
    const absl::Status attached = session->Attach(Self(), 0);
    if (attached.ok()) {
      session_ = session;
    } else {
      session->End();  // Another member has taken its name meanwhile.
    }
    return attached;
  }

  Fleet* const fleet_;
  const std::shared_ptr<Book> book_;
  FleetMetrics* const metrics_;
  const Sockets* const sockets_;
  const StreamTicket ticket_;
  std::shared_ptr<Session> session_;
  std::string invitation_;  // For a socket, once there is one.
};

class FleetService final : public v1::Fleet::CallbackService {
 public:
  FleetService(Fleet* fleet, CallGuard* guard, StreamRegistry* streams,
               FleetMetrics* metrics, LaneDoor* sockets)
      : fleet_(fleet), guard_(guard), streams_(streams), metrics_(metrics) {
    if (sockets != nullptr) sockets_ = {sockets, HostKey()};
    for (auto& [member, session] : fleet_->TakeRestored()) {
      workers_->Adopt(session);
      session->Handle(HandlersOf<Workers>(fleet_, member, workers_, session));
    }
  }

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::WorkerCommand>* Worker(
      grpc::CallbackServerContext* context) override {
    return Open<Workers>(*context, "/paceline.v1.Fleet/Worker", workers_);
  }
  grpc::ServerBidiReactor<v1::ServerMessage, v1::ServerCommand>* Server(
      grpc::CallbackServerContext* context) override {
    return Open<Servers>(*context, "/paceline.v1.Fleet/Server", servers_);
  }

 private:
  // Kept alive by the registry, and by the local reference until it is there.
  template <class Kind>
  grpc::ServerBidiReactor<typename Kind::In, typename Kind::Out>* Open(
      const grpc::CallbackServerContext& context, absl::string_view method,
      const std::shared_ptr<SessionBook<typename Kind::In, typename Kind::Out>>&
          book) {
    using Refused = RefusedCall<
        grpc::ServerBidiReactor<typename Kind::In, typename Kind::Out>>;
    const absl::StatusOr<Caller> caller = guard_->Admit(context, method);
    if (!caller.ok()) return new Refused(caller.status());
    absl::StatusOr<StreamTicket> ticket = guard_->OpenStream(*caller);
    if (!ticket.ok()) return new Refused(ticket.status());
    const auto stream = std::make_shared<MemberStream<Kind>>(
        fleet_, book, metrics_, &sockets_, *std::move(ticket));
    stream->Begin(streams_, caller->account);
    return stream.get();
  }

  Fleet* const fleet_;
  CallGuard* const guard_;
  StreamRegistry* const streams_;
  FleetMetrics* const metrics_;
  Sockets sockets_;
  // The fleet's threads may still close a session when the service goes.
  const std::shared_ptr<SessionBook<Workers::In, Workers::Out>> workers_ =
      std::make_shared<SessionBook<Workers::In, Workers::Out>>();
  const std::shared_ptr<SessionBook<Servers::In, Servers::Out>> servers_ =
      std::make_shared<SessionBook<Servers::In, Servers::Out>>();
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFleetService(Fleet* fleet, CallGuard* guard,
                                                StreamRegistry* streams,
                                                FleetMetrics* metrics,
                                                LaneDoor* sockets) {
  return std::make_unique<FleetService>(fleet, guard, streams, metrics,
                                        sockets);
}

}  // namespace paceline
