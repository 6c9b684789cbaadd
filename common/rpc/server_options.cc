#include "common/rpc/server_options.h"

#include <google/protobuf/generated_message_reflection.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_plugin.h>

#include <algorithm>
#include <vector>

#include "protos/grpc/health/v1/health.pb.h"

namespace paceline {
namespace {

using Plugin = std::unique_ptr<grpc::ServerBuilderPlugin>;

class Reflection : public grpc::ServerBuilderOption {
 public:
  explicit Reflection(bool enabled) : enabled_(enabled) {}

  void UpdateArguments(grpc::ChannelArguments*) override {}

  void UpdatePlugins(std::vector<Plugin>* plugins) override {
    // Linking the library has put one there already, for every server.
    Plugin wanted =
        std::make_unique<grpc::reflection::ProtoServerReflectionPlugin>();
    plugins->erase(std::remove_if(plugins->begin(), plugins->end(),
                                  [&wanted](const Plugin& plugin) {
                                    return plugin->name() == wanted->name();
                                  }),
                   plugins->end());
    if (!enabled_) return;
    plugins->push_back(std::move(wanted));
    // It names the health service too, which gRPC answers without a descriptor.
    google::protobuf::LinkMessageReflection<
        ::grpc::health::v1::HealthCheckRequest>();
  }

 private:
  const bool enabled_;
};

class DefaultHealth : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<Plugin>*) override {}
};

}  // namespace

std::unique_ptr<grpc::ServerBuilderOption> ReflectionOption(bool enabled) {
  return std::make_unique<Reflection>(enabled);
}

std::unique_ptr<grpc::ServerBuilderOption> HealthOption(bool enabled) {
  if (!enabled) {
    return std::make_unique<grpc::HealthCheckServiceServerBuilderOption>(
        nullptr);
  }
  // Once, because it is not thread-safe; servers without it say so themselves.
  static const bool kOn = [] {
    grpc::EnableDefaultHealthCheckService(true);
    return true;
  }();
  static_cast<void>(kOn);
  return std::make_unique<DefaultHealth>();
}

}  // namespace paceline
