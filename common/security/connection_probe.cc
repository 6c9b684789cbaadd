#include "common/security/connection_probe.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/security/openssl_types.h"
#include "common/security/tls_files.h"
#include "common/status.h"
#include "common/status_details.h"
#include "common/unique_fd.h"

namespace paceline {
namespace {

struct Target {
  std::string host;
  std::string port;

  bool is_ip() const {
    in6_addr ip = {};
    return inet_pton(AF_INET, host.c_str(), &ip) == 1 ||
           inet_pton(AF_INET6, host.c_str(), &ip) == 1;
  }
};

// Empty for what is no host and port, a socket of this machine say.
Target ParseTarget(absl::string_view address) {
  if (!absl::ConsumePrefix(&address, "dns:///") &&
      !absl::ConsumePrefix(&address, "dns:") &&
      !absl::ConsumePrefix(&address, "ipv4:")) {
    absl::ConsumePrefix(&address, "ipv6:");
  }
  const size_t colon = address.rfind(':');
  if (colon == address.npos || absl::StartsWith(address, "unix")) return {};
  absl::string_view host = address.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return {std::string(host), std::string(address.substr(colon + 1))};
}

// Whether the descriptor gets ready for `events` in time.
bool Await(int fd, short events, absl::Time deadline) {
  while (true) {
    const int64_t left =
        std::max<int64_t>(0, absl::ToInt64Milliseconds(deadline - absl::Now()));
    pollfd waiting = {.fd = fd, .events = events, .revents = 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

// Invalid if nobody answers.
UniqueFd Connect(const Target& target, absl::Time deadline) {
  addrinfo wanted = {};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (target.host.empty() ||
      getaddrinfo(target.host.c_str(), target.port.c_str(), &wanted, &found) !=
          0) {
    return UniqueFd();
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found,
                                                             &freeaddrinfo);
  for (const addrinfo* it = found; it != nullptr; it = it->ai_next) {
    UniqueFd fd(socket(it->ai_family,
                       it->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                       it->ai_protocol));
    if (!fd.valid()) continue;
    if (connect(fd.get(), it->ai_addr, it->ai_addrlen) == 0) return fd;
    int error = errno;
    socklen_t size = sizeof(error);
    if (error == EINPROGRESS && Await(fd.get(), POLLOUT, deadline) &&
        getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
        error == 0) {
      return fd;
    }
  }
  return UniqueFd();
}

// What one connection has shown.
struct Shown {
  bool speaks_tls = false;   // Something of the server's that is TLS came.
  bool plain = false;        // Something came that is none.
  bool asked = false;        // It has asked for our certificate.
  bool established = false;  // The handshake is over, seen from here.
  bool answered = false;     // It has said something after it: all is well.
  bool closed = false;
  int alert = 0;         // The server's, of RFC 8446; 0: none came.
  int verify_error = 0;  // Of OpenSSL: what is wrong with its certificate.
  // Of the certificate with which that is so.
  std::string issuer;
  std::vector<std::string> names;
  absl::Time expired = absl::InfiniteFuture();
};

std::string TextOf(const X509_NAME* name) {
  char text[256];
  X509_NAME_oneline(name, text, sizeof(text));
  return text;
}

// The hosts that a certificate is for.
std::vector<std::string> NamesOf(const X509* certificate) {
  std::vector<std::string> names;
  const std::unique_ptr<GENERAL_NAMES, void (*)(GENERAL_NAMES*)> all(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(
          certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type != GEN_DNS && name->type != GEN_IPADD) continue;
    const ASN1_STRING* const value =
        name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
    const auto* const bytes = ASN1_STRING_get0_data(value);
    const int size = ASN1_STRING_length(value);
    if (name->type == GEN_DNS) {
      names.emplace_back(reinterpret_cast<const char*>(bytes),
                         static_cast<size_t>(size));
    } else if (size == 4 || size == 16) {
      char text[INET6_ADDRSTRLEN] = "";
      inet_ntop(size == 4 ? AF_INET : AF_INET6, bytes, text, sizeof(text));
      names.emplace_back(text);
    }
  }
  return names;
}

int NoteVerified(int sound, X509_STORE_CTX* context) {
  if (sound == 1) return 1;
  const auto* const ssl = static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(
      context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  Shown& shown = *static_cast<Shown*>(SSL_get_app_data(ssl));
  shown.verify_error = X509_STORE_CTX_get_error(context);
  const X509* const bad = X509_STORE_CTX_get_current_cert(context);
  if (bad != nullptr) {
    shown.issuer = TextOf(X509_get_issuer_name(bad));
    shown.names = NamesOf(bad);
    shown.expired =
        TimeOf(X509_get0_notAfter(bad)).value_or(absl::InfiniteFuture());
  }
  return 0;
}

int NoteAsked(SSL* ssl, void* /*argument*/) {
  static_cast<Shown*>(SSL_get_app_data(ssl))->asked = true;
  return 1;
}

struct FreeSsl {
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
  void operator()(SSL* p) const { SSL_free(p); }
};

void Trust(SSL_CTX* context, const std::string& pem) {
  const OpensslPtr<BIO> text = BioOf(pem);
  while (true) {
    const OpensslPtr<X509> ca(
        PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
    if (ca == nullptr) break;
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca.get());
  }
  ERR_clear_error();  // The end of the text is one.
}

void Present(SSL_CTX* context, const std::string& pem) {
  const OpensslPtr<BIO> key_text = BioOf(pem);
  const OpensslPtr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  const OpensslPtr<BIO> text = BioOf(pem);
  bool first = true;
  while (true) {
    OpensslPtr<X509> certificate(
        PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
    if (certificate == nullptr) break;
    if (std::exchange(first, false)) {
      SSL_CTX_use_certificate(context, certificate.get());
    } else {
      SSL_CTX_add1_chain_cert(context, certificate.get());
    }
  }
  if (key != nullptr) SSL_CTX_use_PrivateKey(context, key.get());
  ERR_clear_error();
}

// TLS through memory, so that the socket is read and written here: OpenSSL's
// own writes would raise SIGPIPE.
class Handshake {
 public:
  Handshake(const Target& target, const std::string& server_name, bool verify,
            const TlsMaterial& material)
      : context_(SSL_CTX_new(TLS_client_method())) {
    CHECK(context_ != nullptr);
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    Trust(context_.get(), material.ca);
    if (!material.identity.empty()) Present(context_.get(), material.identity);
    SSL_CTX_set_cert_cb(context_.get(), &NoteAsked, nullptr);
    // gRPC's servers close a connection that does not offer HTTP/2.
    static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
    SSL_CTX_set_alpn_protos(context_.get(), kHttp2, sizeof(kHttp2));
    ssl_.reset(SSL_new(context_.get()));
    CHECK(ssl_ != nullptr);
    SSL_set_app_data(ssl_.get(), &shown_);
    if (verify) SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, &NoteVerified);
    ExpectName(target, server_name, verify);
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    CHECK(in_ != nullptr && out_ != nullptr);
    SSL_set_bio(ssl_.get(), in_, out_);  // They are its own now.
    SSL_set_connect_state(ssl_.get());
  }

  Shown Run(int fd, absl::Time deadline) {
    while (Step() && Send(fd, deadline) && Receive(fd, deadline)) {
    }
    Send(fd, deadline);  // Our alert, so that the server's log says why.
    return shown_;
  }

 private:
  void ExpectName(const Target& target, const std::string& server_name,
                  bool verify) {
    const Target name = server_name.empty() ? target : Target{server_name, ""};
    if (!name.is_ip()) SSL_set_tlsext_host_name(ssl_.get(), name.host.c_str());
    if (!verify) return;
    if (name.is_ip()) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()),
                                    name.host.c_str());
    } else {
      SSL_set1_host(ssl_.get(), name.host.c_str());
    }
  }

  // As far as it gets with what has come. False if nothing more is expected.
  bool Step() {
    ERR_clear_error();
    int result = 0;
    if (!shown_.established) {
      result = SSL_do_handshake(ssl_.get());
      shown_.established = result == 1;
    }
    if (shown_.established) {
      char byte = 0;
      result = SSL_read(ssl_.get(), &byte, 1);
      if (result == 1) {
        shown_.answered = true;
        return false;
      }
    }
    if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ) {
      return !shown_.closed;
    }
    NoteError(ERR_peek_error());
    return false;
  }

  void NoteError(uint64_t error) {
    const int reason = ERR_GET_REASON(error);
    if (reason > SSL_AD_REASON_OFFSET) {
      shown_.alert = reason - SSL_AD_REASON_OFFSET;
    }
    shown_.plain = heard_ && !shown_.speaks_tls;
  }

  bool Send(int fd, absl::Time deadline) {
    char bytes[4096];
    while (true) {
      const int size = BIO_read(out_, bytes, sizeof(bytes));
      if (size <= 0) return true;
      for (int sent = 0; sent < size;) {
        const ssize_t part = send(
            fd, bytes + sent, static_cast<size_t>(size - sent), MSG_NOSIGNAL);
        if (part > 0) {
          sent += static_cast<int>(part);
        } else if (errno != EAGAIN || !Await(fd, POLLOUT, deadline)) {
          // What the server said before it went may still be read.
          return errno == EPIPE || errno == ECONNRESET;
        }
      }
    }
  }

  bool Receive(int fd, absl::Time deadline) {
    if (!Await(fd, POLLIN, deadline)) return false;
    char bytes[4096];
    const ssize_t size = recv(fd, bytes, sizeof(bytes), 0);
    if (size < 0 && errno == EAGAIN) return true;
    if (size <= 0) {
      shown_.closed = true;
      // SSL_read() and SSL_do_handshake() say so, or have an alert.
      return true;
    }
    // Whatever is TLS begins with a record of the handshake, or an alert.
    if (!std::exchange(heard_, true)) {
      shown_.speaks_tls = bytes[0] == 0x15 || bytes[0] == 0x16;
    }
    BIO_write(in_, bytes, static_cast<int>(size));
    return true;
  }

  Shown shown_;
  bool heard_ = false;  // The server has said anything at all.
  std::unique_ptr<SSL_CTX, FreeSsl> context_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  BIO* in_ = nullptr;
  BIO* out_ = nullptr;
};

std::string Day(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

absl::Status NotTrusted(const Shown& shown, const std::string& address,
                        const TlsFiles& files) {
  std::string why;
  switch (shown.verify_error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      why = absl::StrCat("has expired (", Day(shown.expired),
                         "): it has to be renewed there");
      break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      why = shown.names.empty()
                ? "is for no host at all: it is no server's"
                : absl::StrCat("is for ", absl::StrJoin(shown.names, ", "),
                               ": dial one of these, or give "
                               "--tls-server-name");
      break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      why = absl::StrCat("comes from \"", shown.issuer,
                         "\", and that is not in --tls-ca ", files.ca,
                         ": get the ca.crt of this cluster");
      break;
    default:
      why = absl::StrCat("is not sound: ",
                         X509_verify_cert_error_string(shown.verify_error));
  }
  return WithReason(absl::UnauthenticatedError(absl::StrCat(
                        "the certificate that ", address, " shows ", why)),
                    "SERVER_NOT_TRUSTED");
}

absl::Status NotTaken(const Shown& shown, const std::string& address,
                      const TlsFiles& files, const TlsMaterial& material) {
  std::string why;
  if (material.expires <= absl::Now() ||
      shown.alert == SSL3_AD_CERTIFICATE_EXPIRED) {
    why = absl::StrCat("it has expired (", Day(material.expires),
                       "): have it renewed");
  } else if (shown.alert == TLS1_AD_UNKNOWN_CA) {
    why = "it comes from an authority that is not known there";
  } else {
    why = "most likely it comes from an authority that is not known there";
  }
  return WithReason(
      absl::UnauthenticatedError(
          absl::StrCat(address, " does not take the certificate of --tls-cert ",
                       files.cert, ": ", why)),
      "BAD_CERTIFICATE");
}

}  // namespace

absl::Status ProbeConnection(const std::string& address,
                             const ClientSecurity& security,
                             absl::Duration timeout) {
  TlsFiles files;
  TlsMaterial material;
  if (security.tls != nullptr) {
    files = security.tls->files();
    absl::StatusOr<TlsMaterial> read = ReadTlsFiles(files);
    if (!read.ok()) return absl::OkStatus();  // They are being exchanged.
    material = *std::move(read);
  }
  const Target target = ParseTarget(address);
  const absl::Time deadline = absl::Now() + timeout;
  const UniqueFd fd = Connect(target, deadline);
  if (!fd.valid()) return absl::OkStatus();
  const Shown shown = Handshake(target, security.server_name,
                                /*verify=*/security.tls != nullptr, material)
                          .Run(fd.get(), deadline);
  if (security.tls == nullptr) {
    if (!shown.speaks_tls) return absl::OkStatus();
    return WithReason(
        absl::UnauthenticatedError(absl::StrCat(
            address,
            " speaks TLS: give --tls-ca FILE, the authority of its "
            "certificate, and --tls-cert FILE and --tls-key FILE, or a token")),
        "NO_CREDENTIALS");
  }
  if (shown.verify_error != 0) return NotTrusted(shown, address, files);
  if (shown.plain) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          address, " speaks no TLS: it is another port, or a ",
                          "cluster without TLS; for that leave --tls-ca out")),
                      "NO_TLS");
  }
  const bool refused = shown.alert != 0 || (shown.established && shown.closed);
  if (!refused || !shown.asked || shown.answered) return absl::OkStatus();
  if (!material.identity.empty()) {
    return NotTaken(shown, address, files, material);
  }
  return WithReason(absl::UnauthenticatedError(absl::StrCat(
                        address, " wants a client certificate, and none is ",
                        "given: --tls-cert FILE and --tls-key FILE")),
                    "NO_CREDENTIALS");
}

}  // namespace paceline
