// TlsConnection: a TLS 1.3 connection after its handshake, with OpenSSL's client and two servers
// that share all keys: the server's own records, taken over from OpenSSL as the server does, and
// the object of OpenSSL that they were taken from, the twin. The same bytes go to both.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/memory/buffer_chain.h"
#include "net/tls/tls_records.h"

namespace h2server::fuzz {

// An end of the connection that OpenSSL implements. Its bytes are in memory.
class TlsEnd {
 public:
  enum class State : std::uint8_t { open, closed /* by close_notify */, broken };

  explicit TlsEnd(SSL_CTX* context);

  [[nodiscard]] SSL* ssl() const noexcept { return ssl_.get(); }
  // Returns true once the handshake is complete.
  bool shake_hands();
  // Reads all content that `bytes` complete.
  void arrived(std::string_view bytes);
  // Returns false if OpenSSL refuses.
  bool write(std::string_view content);
  // Returns the bytes for the peer since the last call.
  std::string sent();

  [[nodiscard]] const std::string& content() const noexcept { return content_; }
  [[nodiscard]] State state() const noexcept { return state_; }
  // The alert that the peer sent; -1: none.
  [[nodiscard]] int alert_received() const noexcept { return alert_received_; }

 private:
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
  BIO* in_;   // the SSL's
  BIO* out_;  // the SSL's
  std::string content_;
  State state_ = State::open;
  int alert_received_ = -1;
};

struct TlsConnectionOptions {
  std::uint16_t suite = 0x1301;  // RFC 8446, B.4; the first three
  unsigned fragment_code = 0;    // max_fragment_length of RFC 6066, 4; 0: none
};

struct TlsSecrets {
  std::string client;
  std::string server;
};

class TlsConnection {
 public:
  TlsConnection(const TlsConnectionOptions& options, const net::TlsRecordsLimits& limits);
  TlsConnection(const TlsConnection&) = delete;
  TlsConnection& operator=(const TlsConnection&) = delete;

  [[nodiscard]] TlsEnd& client() noexcept { return client_; }
  [[nodiscard]] TlsEnd& twin() noexcept { return twin_; }
  [[nodiscard]] net::TlsRecords& records() noexcept { return *records_; }
  [[nodiscard]] const TlsSecrets& secrets() const noexcept { return secrets_; }
  // The records that OpenSSL sent with the server's secret: tickets.
  [[nodiscard]] const std::string& tickets() const noexcept { return tickets_; }

 private:
  TlsSecrets secrets_;
  TlsEnd client_;
  TlsEnd twin_;
  std::unique_ptr<net::TlsRecords> records_;
  std::string tickets_;
};

}  // namespace h2server::fuzz
