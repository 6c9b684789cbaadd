#include "services/coordinator/process/coordinator_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/rpc/grpc_status.h"
#include "common/status_details.h"
#include "protos/paceline/v1/cluster.grpc.pb.h"

namespace paceline {
namespace {

class CoordinatorService final
    : public v1::CoordinatorService::CallbackService {
 public:
  CoordinatorService(CoordinatorCalls calls, CallGuard* guard)
      : calls_(std::move(calls)), guard_(guard) {}

  grpc::ServerUnaryReactor* ListCoordinators(
      grpc::CallbackServerContext* context,
      const v1::ListCoordinatorsRequest* request,
      v1::ListCoordinatorsResponse* response) override {
    const absl::Status admitted =
        Admit(*context, "ListCoordinators", *request).status();
    if (admitted.ok()) *response = calls_.list();
    return Finish(*context, admitted);
  }

  grpc::ServerUnaryReactor* PromoteCoordinator(
      grpc::CallbackServerContext* context,
      const v1::PromoteCoordinatorRequest* request,
      v1::Coordinator* response) override {
    const auto caller = Admit(*context, "PromoteCoordinator", *request);
    if (!caller.ok()) return Finish(*context, caller.status());
    auto promoted = calls_.promote(*request);
    const absl::Status status = promoted.status();
    LogWarning("told to lead", {{"by", caller->identity},
                                {"accept_loss", request->accept_loss()},
                                {"answer", std::string(status.message())}});
    if (status.ok()) *response = *std::move(promoted);
    return Finish(*context, status);
  }

 private:
  absl::StatusOr<Caller> Admit(const grpc::CallbackServerContext& context,
                               absl::string_view name,
                               const google::protobuf::MessageLite& request) {
    Caller caller;
    const absl::Status admitted = guard_->Admit(
        context, absl::StrCat("/paceline.v1.CoordinatorService/", name),
        /*resource=*/"", caller);
    caller.Took(request.ByteSizeLong(), admitted.ok());
    if (!admitted.ok()) return admitted;
    return caller;
  }

  static grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext& context,
                                          const absl::Status& status) {
    grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
    reactor->Finish(ToGrpc(status));
    return reactor;
  }

  const CoordinatorCalls calls_;
  CallGuard* const guard_;
};

class StandbyAnswers final : public grpc::CallbackGenericService {
 public:
  explicit StandbyAnswers(std::function<std::string()> why)
      : why_(std::move(why)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext*) override {
    class Answer final : public grpc::ServerGenericBidiReactor {
     public:
      explicit Answer(const absl::Status& status) { Finish(ToGrpc(status)); }
      void OnDone() override { delete this; }
    };
    return new Answer(WithReason(absl::UnavailableError(why_()), "NOT_LEADER"));
  }

 private:
  const std::function<std::string()> why_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeCoordinatorService(CoordinatorCalls calls,
                                                      CallGuard* guard) {
  return std::make_unique<CoordinatorService>(std::move(calls), guard);
}

std::unique_ptr<grpc::CallbackGenericService> MakeStandbyAnswers(
    std::function<std::string()> why) {
  return std::make_unique<StandbyAnswers>(std::move(why));
}

}  // namespace paceline
