// TlsSession: what a handler may know of a connection's TLS session. It outlives OpenSSL's object.
#pragma once

#include <string>
#include <string_view>

#include "h2server/connection_info.h"
#include "net/crypto/tls_objects.h"

struct ssl_st;
struct ssl_cipher_st;

namespace h2server::net {

class TlsSession {
 public:
  // The handshake is complete.
  explicit TlsSession(ssl_st& ssl);

  [[nodiscard]] TlsInfo info() const;
  [[nodiscard]] const std::string& server_name() const noexcept { return server_name_; }
  [[nodiscard]] const char* version() const noexcept { return version_; }
  // Returns the name of the key exchange's group, or an empty text: see net/tls/tls_groups.h.
  [[nodiscard]] std::string_view group() const noexcept { return group_; }
  [[nodiscard]] bool resumed() const noexcept { return resumed_; }

 private:
  const char* version_;
  const ssl_cipher_st* cipher_;  // OpenSSL's, never freed
  std::string_view group_;
  std::string server_name_;
  bool resumed_;
  Certificate client_certificate_;  // null: none
};

}  // namespace h2server::net
