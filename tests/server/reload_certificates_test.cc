// Server::reload_certificates(), resume_sessions_of() and tls_challenges, with clients of OpenSSL.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/fd.h"
#include "h2server/server.h"
#include "net/certs/tls_challenges.h"
#include "net/tls_handshake.h"
#include "server/client.h"

namespace h2server {
namespace reload_certificates_test {

using net::Certificate;
using net::Identity;
using net::Session;

// A connection over TCP that has done its handshake, if `shaken`.
class TlsClient {
 public:
  explicit TlsClient(const Server& server, SSL_SESSION* session = nullptr,
                     const std::string& protocols = "")
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        settings_(SSL_CTX_new(TLS_client_method())),
        ssl_(SSL_new(settings_.get())) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(tests::port_of(server));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    SSL_set_fd(ssl_.get(), socket_.get());
    SSL_set_tlsext_host_name(ssl_.get(), "a.example");
    if (session != nullptr) SSL_set_session(ssl_.get(), session);
    SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(protocols.data()),
                        static_cast<unsigned>(protocols.size()));
    shaken = SSL_connect(ssl_.get()) == 1;
    ERR_clear_error();
  }

  // Returns the status of GET /; 0: the connection has ended. With it come the tickets.
  int get() {
    const std::string request = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";
    if (SSL_write(ssl_.get(), request.data(), static_cast<int>(request.size())) <= 0) return 0;
    std::string answer(4096, '\0');
    const int size = SSL_read(ssl_.get(), answer.data(), static_cast<int>(answer.size()));
    ERR_clear_error();
    return size > 12 ? std::stoi(answer.substr(9, 3)) : 0;
  }
  // Returns true if the peer has closed the connection in order, without a byte.
  bool sees_end() {
    char byte = 0;
    const int got = SSL_read(ssl_.get(), &byte, 1);
    return got <= 0 && SSL_get_error(ssl_.get(), got) == SSL_ERROR_ZERO_RETURN;
  }
  [[nodiscard]] bool shows(const Identity& identity) const {
    const Certificate certificate(SSL_get1_peer_certificate(ssl_.get()));
    return certificate != nullptr && X509_cmp(certificate.get(), identity.certificate.get()) == 0;
  }
  [[nodiscard]] bool resumed() const { return SSL_session_reused(ssl_.get()) == 1; }
  [[nodiscard]] Session session() const { return Session(SSL_get1_session(ssl_.get())); }

  bool shaken = false;

 private:
  const base::Fd socket_;
  const std::unique_ptr<SSL_CTX, net::FreeBy<SSL_CTX_free>> settings_;
  const std::unique_ptr<SSL, net::FreeBy<SSL_free>> ssl_;
};

class ReloadCertificatesTest : public testing::Test {
 protected:
  ServerOptions options(ServerScheme scheme = ServerScheme::reuseport) {
    const CertificateFiles pair = files_.write_pair("pair", first_);
    ServerOptions options;
    options.host = "127.0.0.1";
    options.port = 0;
    options.scheme = scheme;
    options.threads = 4;  // a pool serves so many connections at once
    options.certificate_file = pair.certificate_file;
    options.key_file = pair.key_file;
    return options;
  }

  net::Files files_;
  Identity first_ = net::make_identity("first", net::ec_key(), nullptr);
  Identity second_ = net::make_identity("second", net::ec_key(), nullptr);
};

TEST_F(ReloadCertificatesTest, ServesTheNewOnesToNewConnections) {
  for (const ServerScheme scheme : tests::schemes) {
    if (scheme == ServerScheme::process_per_connection) continue;
    SCOPED_TRACE(tests::scheme_name(scheme));
    Server server(options(scheme));
    server.get("/", [](Request&) { return Response(200); });
    ASSERT_TRUE(server.start());
    TlsClient old(server);
    EXPECT_TRUE(old.shows(first_));
    EXPECT_EQ(old.get(), 200);
    const Session session = old.session();
    files_.write_pair("pair", second_);
    EXPECT_TRUE(TlsClient(server).shows(first_)) << "not asked yet";
    ASSERT_TRUE(server.reload_certificates());
    EXPECT_TRUE(TlsClient(server).shows(second_));
    EXPECT_EQ(old.get(), 200);
    TlsClient resumed(server, session.get());
    EXPECT_TRUE(resumed.resumed());
    EXPECT_EQ(resumed.get(), 200);
    files_.write("pair.crt", "no certificate");
    const Result<void, std::string> refused = server.reload_certificates();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().find(files_.path("pair.crt")), std::string::npos);
    EXPECT_TRUE(TlsClient(server).shows(second_));
  }
}

TEST_F(ReloadCertificatesTest, DoesNothingWithoutTls) {
  Server server(tests::cleartext(ServerScheme::reuseport, 1));
  ASSERT_TRUE(server.start());
  EXPECT_TRUE(server.reload_certificates());
}

TEST_F(ReloadCertificatesTest, SessionsGoOnWithTheNextServer) {
  Server before(options());
  before.get("/", [](Request&) { return Response(200); });
  ASSERT_TRUE(before.start());
  TlsClient client(before);
  EXPECT_EQ(client.get(), 200);
  const Session session = client.session();
  Server stranger(options());
  ASSERT_TRUE(stranger.start());
  EXPECT_FALSE(TlsClient(stranger, session.get()).resumed());
  Server after(options());
  after.resume_sessions_of(before);
  ASSERT_TRUE(after.start());
  EXPECT_TRUE(TlsClient(after, session.get()).resumed());
}

TEST_F(ReloadCertificatesTest, SessionsAreSharedByATicketKey) {
  files_.write("old.key", std::string(48, 'o'));
  files_.write("new.key", std::string(48, 'n'));
  ServerOptions with_old = options();
  with_old.ticket_key_files = {files_.path("old.key")};
  Server one(with_old);
  one.get("/", [](Request&) { return Response(200); });
  ASSERT_TRUE(one.start());
  ServerOptions with_both = options();
  with_both.ticket_key_files = {files_.path("new.key"), files_.path("old.key")};
  Server other(with_both);
  other.get("/", [](Request&) { return Response(200); });
  ASSERT_TRUE(other.start());
  TlsClient client(one);
  EXPECT_EQ(client.get(), 200);
  TlsClient second(other, client.session().get());
  EXPECT_TRUE(second.resumed());
  EXPECT_EQ(second.get(), 200);
  const Session of_new_key = second.session();
  EXPECT_FALSE(TlsClient(one, of_new_key.get()).resumed());
  files_.write("old.key", std::string(48, 'n'));
  ASSERT_TRUE(one.reload_certificates());
  EXPECT_TRUE(TlsClient(one, of_new_key.get()).resumed());
}

TEST_F(ReloadCertificatesTest, ATicketKeyIsReadWithTheCertificates) {
  const std::string key = files_.path("ticket.key");
  files_.write("ticket.key", std::string(31, 'k'));
  ServerOptions options = this->options();
  options.ticket_key_files = {key};
  Server server(options);
  const auto start = server.start();
  ASSERT_FALSE(start);
  EXPECT_EQ(start.error(),
            "the ticket key " + key + " needs 32 to 4096 random bytes: openssl rand 80 > " + key);
  files_.write("ticket.key", std::string(32, 'k'));
  ASSERT_TRUE(server.start());
  files_.write("ticket.key", std::string(4097, 'k'));
  EXPECT_FALSE(server.reload_certificates());
  std::filesystem::remove(key);
  const auto reloaded = server.reload_certificates();
  ASSERT_FALSE(reloaded);
  EXPECT_EQ(reloaded.error(), "can't read the ticket key " + key + ": No such file or directory");
}

TEST_F(ReloadCertificatesTest, ChallengesEndWithTheHandshake) {
  const Identity proof = net::make_identity("proof", net::ec_key(), nullptr);
  const auto challenges = std::make_shared<net::TlsChallenges>();
  for (const TlsRecordLayer layer : {TlsRecordLayer::own, TlsRecordLayer::openssl}) {
    ServerOptions options = this->options();
    options.tls_challenges = challenges;
    options.tls_record_layer = layer;
    Server server(options);
    server.get("/", [](Request&) { return Response(200); });
    ASSERT_TRUE(server.start());
    const std::string challenge_only = "\x0a"
                                       "acme-tls/1";
    challenges->remove("a.example");
    EXPECT_FALSE(TlsClient(server, nullptr, challenge_only).shaken);
    X509_up_ref(proof.certificate.get());
    EVP_PKEY_up_ref(proof.key.get());
    challenges->set("a.example", {Certificate(proof.certificate.get()), net::Key(proof.key.get())});
    TlsClient authority(server, nullptr, challenge_only);
    EXPECT_TRUE(authority.shaken && authority.shows(proof));
    EXPECT_TRUE(authority.sees_end());
    TlsClient other(server);
    EXPECT_TRUE(other.shows(first_));
    EXPECT_EQ(other.get(), 200);
    // The table outlives a reload.
    ASSERT_TRUE(server.reload_certificates());
    EXPECT_TRUE(TlsClient(server, nullptr, challenge_only).shows(proof));
  }
}

}  // namespace reload_certificates_test
}  // namespace h2server
