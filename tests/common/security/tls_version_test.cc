// What a client speaks that is not ours.

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/common/security/guarded_server.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {
namespace {

struct Free {
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
  void operator()(BIO* p) const { BIO_free_all(p); }
};

// Does a handshake succeed that offers `version` alone? As lenient as OpenSSL
// can be told to be, so that only the server can say no.
bool Handshake(const std::string& address, int version) {
  const std::unique_ptr<SSL_CTX, Free> context(
      SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_security_level(context.get(), 0);
  SSL_CTX_set_min_proto_version(context.get(), version);
  SSL_CTX_set_max_proto_version(context.get(), version);
  const std::unique_ptr<BIO, Free> bio(BIO_new_ssl_connect(context.get()));
  BIO_set_conn_hostname(bio.get(), address.c_str());
  SSL* ssl = nullptr;
  BIO_get_ssl(bio.get(), &ssl);
  static constexpr uint8_t kHttp2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl, kHttp2, sizeof(kHttp2));
  return BIO_do_connect(bio.get()) == 1 && BIO_do_handshake(bio.get()) == 1;
}

TEST(TlsVersionTest, IsOnePointTwoOrLater) {
  const TestCertificates certificates;
  const TlsFiles files = certificates.Server();
  const auto security =
      MakeServerSecurity({.tls = {files.cert, files.key, ""},
                          .token_file = certificates.TokenFile()});
  ASSERT_TRUE(security.ok()) << security.status();
  const GuardedServer server(*security);
  EXPECT_FALSE(Handshake(server.address(), TLS1_VERSION));
  EXPECT_FALSE(Handshake(server.address(), TLS1_1_VERSION));
  EXPECT_TRUE(Handshake(server.address(), TLS1_2_VERSION));
  EXPECT_TRUE(Handshake(server.address(), TLS1_3_VERSION));
}

}  // namespace
}  // namespace paceline
