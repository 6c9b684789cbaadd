#ifndef PACELINE_COMMON_RPC_GRPC_LOG_H_
#define PACELINE_COMMON_RPC_GRPC_LOG_H_

namespace paceline {

// What gRPC itself logs (handshakes that failed, pings without an answer), for
// the rest of the process. Without either it goes to stderr as text, among our
// lines. Both are for main(), before anything else of gRPC is used; GRPC_TRACE
// and GRPC_VERBOSITY say what there is of it, by default errors alone.

// Lines as ours, with "from": "grpc"; its errors are warnings, all else is
// information. Up to the very end of the process: its threads end last.
void LogWhatGrpcLogs();

// Nothing, unless GRPC_VERBOSITY is set: for a command that tells what failed
// in its own words.
void SilenceGrpcLog();

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_GRPC_LOG_H_
