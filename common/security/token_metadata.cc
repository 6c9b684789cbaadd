#include "common/security/token_metadata.h"

#include <map>
#include <string>
#include <utility>

namespace paceline {
namespace {

// gRPC wants metadata keys in lower case.
constexpr char kKey[] = "authorization";

class Plugin : public grpc::MetadataCredentialsPlugin {
 public:
  explicit Plugin(std::shared_ptr<const BearerToken> token)
      : token_(std::move(token)) {}

  bool IsBlocking() const override { return false; }

  grpc::Status GetMetadata(
      grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
      std::multimap<grpc::string, grpc::string>* metadata) override {
    metadata->emplace(kKey, token_->Authorization());
    return grpc::Status::OK;
  }

 private:
  const std::shared_ptr<const BearerToken> token_;
};

class Interceptor : public grpc::experimental::Interceptor {
 public:
  explicit Interceptor(const BearerToken* token) : token_(token) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* call) override {
    if (call->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::
                PRE_SEND_INITIAL_METADATA)) {
      call->GetSendInitialMetadata()->emplace(kKey, token_->Authorization());
    }
    call->Proceed();
  }

 private:
  const BearerToken* const token_;  // The factory's, which outlives the call.
};

class Factory : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit Factory(std::shared_ptr<const BearerToken> token)
      : token_(std::move(token)) {}

  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return new Interceptor(token_.get());  // gRPC's from here.
  }

 private:
  const std::shared_ptr<const BearerToken> token_;
};

}  // namespace

std::shared_ptr<grpc::CallCredentials> TokenCredentials(
    std::shared_ptr<const BearerToken> token) {
  return grpc::MetadataCredentialsFromPlugin(
      std::make_unique<Plugin>(std::move(token)));
}

std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
PlaintextToken(std::shared_ptr<const BearerToken> token) {
  return std::make_unique<Factory>(std::move(token));
}

}  // namespace paceline
