#include "common/security/bearer_token.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/security/token_table.h"

namespace paceline {
namespace {

// gRPC wants metadata keys in lower case.
constexpr char kKey[] = "authorization";

std::string Authorization(const BearerToken& token) {
  return absl::StrCat("Bearer ", *token.Get());
}

class Plugin : public grpc::MetadataCredentialsPlugin {
 public:
  explicit Plugin(std::shared_ptr<const BearerToken> token)
      : token_(std::move(token)) {}

  bool IsBlocking() const override { return false; }

  grpc::Status GetMetadata(
      grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
      std::multimap<grpc::string, grpc::string>* metadata) override {
    metadata->emplace(kKey, Authorization(*token_));
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
      call->GetSendInitialMetadata()->emplace(kKey, Authorization(*token_));
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

absl::StatusOr<std::string> ParseBearerToken(absl::string_view text) {
  const absl::string_view token = absl::StripAsciiWhitespace(text);
  if (token.empty() || token.size() > kMaxTokenBytes ||
      !std::all_of(token.begin(), token.end(), absl::ascii_isgraph)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a token is one word of at most ", kMaxTokenBytes,
                     " visible ASCII characters"));
  }
  return std::string(token);
}

absl::StatusOr<std::shared_ptr<const BearerToken>> OpenBearerToken(
    const std::string& path, absl::Duration interval) {
  return BearerToken::Open(
      path, interval,
      {.parse = &ParseBearerToken,
       .unusable = "the token cannot be read again; it stays as it was",
       .changed = nullptr});
}

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
