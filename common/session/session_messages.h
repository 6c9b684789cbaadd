#ifndef PACELINE_COMMON_SESSION_SESSION_MESSAGES_H_
#define PACELINE_COMMON_SESSION_SESSION_MESSAGES_H_

#include "protos/paceline/v1/fleet.pb.h"

namespace paceline {

// Where the messages of fleet.proto have what belongs to the session, the same
// for both kinds of member.

// Whether a message is of its session, and not of its stream alone.
inline bool IsNumbered(const v1::WorkerMessage& message) {
  return !message.has_hello() && !message.has_heartbeat() &&
         !message.has_log_told() && !message.has_by_socket() &&
         message.kind_case() != v1::WorkerMessage::KIND_NOT_SET;
}
inline bool IsNumbered(const v1::ServerMessage& message) {
  return !message.has_hello() && !message.has_heartbeat() &&
         !message.has_log_told() && !message.has_by_socket() &&
         message.kind_case() != v1::ServerMessage::KIND_NOT_SET;
}
inline bool IsNumbered(const v1::WorkerCommand& command) {
  return !command.has_registered() && !command.has_heartbeat() &&
         !command.has_tell_log() && !command.has_socket_offer() &&
         !command.has_by_socket() &&
         command.kind_case() != v1::WorkerCommand::KIND_NOT_SET;
}
inline bool IsNumbered(const v1::ServerCommand& command) {
  return !command.has_welcome() && !command.has_heartbeat() &&
         !command.has_tell_log() && !command.has_socket_offer() &&
         !command.has_by_socket() &&
         command.kind_case() != v1::ServerCommand::KIND_NOT_SET;
}

inline v1::SessionHello* SessionOfHello(v1::WorkerMessage& hello) {
  return hello.mutable_hello()->mutable_session();
}
inline v1::SessionHello* SessionOfHello(v1::ServerMessage& hello) {
  return hello.mutable_hello()->mutable_session();
}

// The answer to `hello`.
inline bool IsWelcome(const v1::WorkerCommand& command) {
  return command.has_registered();
}
inline bool IsWelcome(const v1::ServerCommand& command) {
  return command.has_welcome();
}
inline v1::SessionWelcome* SessionOfWelcome(v1::WorkerCommand& welcome) {
  return welcome.mutable_registered()->mutable_session();
}
inline v1::SessionWelcome* SessionOfWelcome(v1::ServerCommand& welcome) {
  return welcome.mutable_welcome()->mutable_session();
}
inline const v1::SessionWelcome& SessionOfWelcome(
    const v1::WorkerCommand& welcome) {
  return welcome.registered().session();
}
inline const v1::SessionWelcome& SessionOfWelcome(
    const v1::ServerCommand& welcome) {
  return welcome.welcome().session();
}

}  // namespace paceline

#endif  // PACELINE_COMMON_SESSION_SESSION_MESSAGES_H_
