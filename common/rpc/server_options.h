#ifndef PACELINE_COMMON_RPC_SERVER_OPTIONS_H_
#define PACELINE_COMMON_RPC_SERVER_OPTIONS_H_

#include <grpcpp/impl/server_builder_option.h>

#include <memory>

namespace paceline {

// Services of gRPC's own, server by server: what gRPC itself offers switches
// them for the whole process.

// Adds or leaves out grpc.reflection.v1alpha.ServerReflection.
std::unique_ptr<grpc::ServerBuilderOption> ReflectionOption(bool enabled);

// Adds or leaves out grpc.health.v1.Health, SERVING from the start.
std::unique_ptr<grpc::ServerBuilderOption> HealthOption(bool enabled);

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_SERVER_OPTIONS_H_
