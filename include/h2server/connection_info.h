// ConnectionInfo: the two ends of a request's connection, and its TLS session.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#pragma GCC visibility push(default)
namespace h2server {

// An end of a connection, or where a server listens. All members are empty if it is not known.
struct Address {
  std::string host = {};   // numeric; an IPv4 client of an IPv6 listener has its IPv4 address
  std::uint16_t port = 0;  // of TCP
  std::string path = {};   // of a Unix socket; its clients usually have none

  bool operator==(const Address&) const = default;
};

// A certificate that the server has verified, see ServerOptions::client_ca_file.
struct ClientCertificate {
  std::string pem;
  std::string subject;  // a distinguished name as in RFC 2253: "CN=alice,O=Example"
};

struct TlsInfo {
  std::string version;           // "TLSv1.3" or "TLSv1.2"
  std::string cipher;            // its name by IANA: "TLS_AES_128_GCM_SHA256"
  std::string group = {};        // of the key exchange, by IANA: "x25519"; empty if there was none
  std::string server_name = {};  // that the client asked for (SNI, RFC 6066, 3); may be empty
  std::optional<ClientCertificate> client_certificate = {};
};

// Nothing is kept for it: each call asks the kernel or the TLS library, and makes copies. The base
// class knows nothing. Used on the thread of the connection's handlers.
class ConnectionInfo {
 public:
  ConnectionInfo() = default;
  ConnectionInfo(const ConnectionInfo&) = delete;
  ConnectionInfo& operator=(const ConnectionInfo&) = delete;
  virtual ~ConnectionInfo() = default;

  // A system call each. The client's address is empty once the client has reset the connection.
  [[nodiscard]] virtual Address client() const { return {}; }
  [[nodiscard]] virtual Address server() const { return {}; }
  // Returns true if it is one of a Unix socket. A client of TCP that has reset its connection has
  // no address either. A system call.
  [[nodiscard]] virtual bool is_unix_socket() const { return false; }
  // The listener that accepted it, by its index in ServerOptions::listeners.
  [[nodiscard]] virtual unsigned listener() const noexcept { return 0; }
  // Returns nullopt in cleartext.
  [[nodiscard]] virtual std::optional<TlsInfo> tls() const { return std::nullopt; }
};

}  // namespace h2server
#pragma GCC visibility pop
