#include "common/rpc/rpc_metrics.h"

#include <google/protobuf/descriptor.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/metrics/series.h"

namespace paceline {
namespace {

constexpr char kOther[] = "other";

std::string CodeName(grpc::StatusCode code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

class Interceptor final : public grpc::experimental::Interceptor {
 public:
  explicit Interceptor(std::unique_ptr<RpcMetrics::Call> call)
      : call_(std::move(call)) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::PRE_SEND_STATUS)) {
      call_->SetCode(batch->GetSendStatus().error_code());
    }
    batch->Proceed();
  }

 private:
  const std::unique_ptr<RpcMetrics::Call> call_;
};

class Interceptors final
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Interceptors(RpcMetrics* metrics) : metrics_(*metrics) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    return new Interceptor(metrics_.Began(info->method()));
  }

 private:
  RpcMetrics& metrics_;
};

}  // namespace

RpcMetrics::RpcMetrics(prometheus::Registry& registry,
                       const std::vector<std::string>& services)
    : started_(prometheus::BuildCounter()
                   .Name("paceline_grpc_server_started_total")
                   .Help("Calls that began, by method.")
                   .Register(registry)),
      handled_(prometheus::BuildCounter()
                   .Name("paceline_grpc_server_handled_total")
                   .Help("Calls that have ended, by method and code.")
                   .Register(registry)),
      seconds_(prometheus::BuildHistogram()
                   .Name("paceline_grpc_server_handling_seconds")
                   .Help("How long calls took, by method; a stream as long as "
                         "it is open.")
                   .Register(registry)) {
  AddMethod(kOther, kOther);
  for (const std::string& name : services) {
    const auto* const service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            name);
    CHECK(service != nullptr);
    for (int i = 0; i < service->method_count(); ++i) {
      const std::string& method = service->method(i)->name();
      AddMethod(absl::StrCat("/", name, "/", method),
                absl::StrCat(service->name(), "/", method));
    }
  }
}

void RpcMetrics::AddMethod(const std::string& path, const std::string& name) {
  methods_.emplace(
      path, Method{name, &started_.Add({{"method", name}}),
                   &seconds_.Add({{"method", name}}, DurationBuckets())});
  handled_.Add({{"method", name}, {"code", CodeName(grpc::StatusCode::OK)}});
}

std::unique_ptr<RpcMetrics::Call> RpcMetrics::Began(absl::string_view method) {
  auto it = methods_.find(method);
  if (it == methods_.end()) it = methods_.find(kOther);
  it->second.started->Increment();
  return std::make_unique<Call>(this, &it->second, absl::Now());
}

RpcMetrics::Call::~Call() {
  method_.seconds->Observe(absl::ToDoubleSeconds(absl::Now() - began_));
  metrics_.handled_.Add({{"method", method_.name}, {"code", CodeName(code_)}})
      .Increment();
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
RpcMetrics::MakeInterceptors() {
  return std::make_unique<Interceptors>(this);
}

}  // namespace paceline
