#include "tls_connection.h"

#include <openssl/bio.h>
#include <openssl/err.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "net/certs/tls_certificate.h"
#include "net/tls/tls_context.h"
#include "net/tls/tls_handover.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

int value_of(char digit) { return digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10; }

// A line "LABEL RANDOM SECRET" of OpenSSL's key log.
void log_key(const SSL* ssl, const char* text) {
  auto* const secrets = static_cast<TlsSecrets*>(SSL_get_app_data(ssl));
  const std::string_view line(text);
  const std::string_view digits = line.substr(line.rfind(' ') + 1);
  std::string secret;
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
    secret += static_cast<char>(value_of(digits[at]) * 16 + value_of(digits[at + 1]));
  }
  if (line.starts_with("CLIENT_TRAFFIC_SECRET_0 ")) secrets->client = std::move(secret);
  if (line.starts_with("SERVER_TRAFFIC_SECRET_0 ")) secrets->server = std::move(secret);
}

// Made once: the key of its certificate would cost more than a handshake.
SSL_CTX* server_context() {
  static const std::shared_ptr<const net::TlsContext> made = [] {
    std::string folder = std::filesystem::temp_directory_path() / "tls_fuzzer_XXXXXX";
    require(::mkdtemp(folder.data()) != nullptr, "there is a folder for the certificate");
    require(net::make_self_signed(folder + "/crt", folder + "/key").has_value(),
            "there is a certificate");
    auto context = net::TlsContext::open(folder + "/crt", folder + "/key");
    std::filesystem::remove_all(folder);
    require(context.has_value(), "the server has its context");
    return *context;
  }();
  return made->get();
}

SSL_CTX* client_context() {
  static const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> made = [] {
    std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()),
                                                         SSL_CTX_free);
    SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_keylog_callback(context.get(), log_key);
    return context;
  }();
  return made.get();
}

}  // namespace

TlsEnd::TlsEnd(SSL_CTX* context)
    : ssl_(SSL_new(context), SSL_free), in_(BIO_new(BIO_s_mem())), out_(BIO_new(BIO_s_mem())) {
  BIO_set_mem_eof_return(in_, -1);
  SSL_set_bio(ssl_.get(), in_, out_);
  SSL_clear_mode(ssl_.get(), SSL_MODE_AUTO_RETRY);  // arrived() notices each KeyUpdate
}

bool TlsEnd::shake_hands() {
  ERR_clear_error();
  const int verdict = SSL_do_handshake(ssl_.get());
  require(verdict == 1 || SSL_get_error(ssl_.get(), verdict) == SSL_ERROR_WANT_READ,
          "a handshake succeeds");
  return verdict == 1;
}

void TlsEnd::arrived(std::string_view bytes) {
  if (!bytes.empty()) BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
  while (state_ == State::open) {
    std::array<char, 16'384> room;
    std::size_t size = 0;
    ERR_clear_error();
    const int verdict = SSL_read_ex(ssl_.get(), room.data(), room.size(), &size);
    if (verdict == 1) {
      content_.append(room.data(), size);
      continue;
    }
    const int error = SSL_get_error(ssl_.get(), verdict);
    if (error == SSL_ERROR_WANT_READ) {
      // OpenSSL keeps its answer to a KeyUpdate for the next write.
      if (SSL_get_key_update_type(ssl_.get()) != SSL_KEY_UPDATE_NONE) {
        SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
        SSL_do_handshake(ssl_.get());
      }
      if (BIO_ctrl_pending(in_) > 0) continue;
      break;
    }
    // SSL_get_error() knows a close_notify only by its level, which means nothing (RFC 8446, 6).
    const bool closed =
        ERR_peek_error() == 0 && (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
    state_ = closed ? State::closed : State::broken;
    const int reason = ERR_GET_REASON(ERR_peek_error());
    if (error == SSL_ERROR_SSL && reason >= SSL_AD_REASON_OFFSET) {
      alert_received_ = reason - SSL_AD_REASON_OFFSET;
    }
  }
  ERR_clear_error();
}

bool TlsEnd::write(std::string_view content) {
  while (!content.empty()) {
    std::size_t size = 0;
    ERR_clear_error();
    if (SSL_write_ex(ssl_.get(), content.data(), content.size(), &size) != 1) {
      ERR_clear_error();
      return false;
    }
    content.remove_prefix(size);
  }
  return true;
}

std::string TlsEnd::sent() {
  std::string bytes(BIO_ctrl_pending(out_), '\0');
  if (!bytes.empty()) BIO_read(out_, bytes.data(), static_cast<int>(bytes.size()));
  return bytes;
}

TlsConnection::TlsConnection(const TlsConnectionOptions& options,
                             const net::TlsRecordsLimits& limits)
    : client_(client_context()), twin_(server_context()) {
  constexpr std::array suites = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
                                 "TLS_CHACHA20_POLY1305_SHA256"};
  SSL* const client = client_.ssl();
  SSL_set_app_data(client, &secrets_);
  require(SSL_set_ciphersuites(client, suites.at(options.suite - 0x1301U)) == 1 &&
              SSL_set_tlsext_max_fragment_length(
                  client, static_cast<std::uint8_t>(options.fragment_code)) == 1,
          "the client has its options");
  SSL_set_connect_state(client);
  SSL_set_accept_state(twin_.ssl());
  net::TlsHandover handover(twin_.ssl());
  for (bool client_done = false, server_done = false; !client_done || !server_done;) {
    client_done = client_.shake_hands();
    const std::string flight = client_.sent();
    BIO_write(SSL_get_rbio(twin_.ssl()), flight.data(), static_cast<int>(flight.size()));
    server_done = twin_.shake_hands();
    // The server sends its tickets last.
    tickets_ = twin_.sent();
    if (!tickets_.empty()) {
      BIO_write(SSL_get_rbio(client), tickets_.data(), static_cast<int>(tickets_.size()));
    }
  }
  client_.arrived({});
  records_ = handover.take(limits);
  require(records_ != nullptr, "the server takes over every connection with TLS 1.3");
  require(!secrets_.client.empty() && !secrets_.server.empty(), "OpenSSL logs the secrets");
}

}  // namespace h2server::fuzz
