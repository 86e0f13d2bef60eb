// TlsHandover: takes a TLS 1.3 connection over from OpenSSL when its handshake is complete.
//
// It notes the traffic secrets, which OpenSSL yields for key logs only, and counts the records that
// OpenSSL writes and reads with them. OpenSSL reads a record's header first and then the rest, so
// it never holds bytes of the next one.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "net/tls/tls_records.h"

namespace h2server::net {

class TlsHandover {
 public:
  // Connections of `context` may have a TlsHandover. To them the server offers records as short as
  // a client asks for (RFC 8449).
  [[nodiscard]] static bool install(SSL_CTX* context);

  // For a handshake that has not begun and ends before this object does. `ssl` must outlive it.
  explicit TlsHandover(SSL* ssl);
  TlsHandover(const TlsHandover&) = delete;
  TlsHandover& operator=(const TlsHandover&) = delete;
  ~TlsHandover();

  // Call it once the handshake is complete. Returns null if OpenSSL has to go on: with TLS 1.2
  // and with a cipher suite that TlsRecords does not know.
  [[nodiscard]] std::unique_ptr<TlsRecords> take(const TlsRecordsLimits& limits = {}) const;

 private:
  struct Callbacks;  // of OpenSSL

  SSL* const ssl_;
  TlsRecords::Start start_;
  std::uint16_t record_size_limit_ = 0;  // of the client; 0: none
};

}  // namespace h2server::net
