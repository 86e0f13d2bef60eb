// ServerOptions: what a Server needs to know before it starts.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "h2server/access_log.h"
#include "h2server/access_record.h"
#include "h2server/limits.h"
#include "h2server/result.h"

namespace h2server::net {
class TlsChallenges;
}

#pragma GCC visibility push(default)
namespace h2server {

// How connections are accepted and served.
enum class ServerScheme : std::uint8_t {
  reuseport,              // each worker accepts on a listener of its own; the kernel spreads
  acceptor,               // one thread accepts, and a balancer chooses the worker
  thread_pool,            // each thread accepts a connection, serves it to its end, and so on
  buffered_pool,          // one thread accepts into a bounded queue, from which the threads take
  thread_per_connection,  // one thread accepts and starts a thread for each connection
  // A process accepts and forks a child for each connection. It is forked by start(), when the
  // program should have only one thread; handlers run in the children.
  process_per_connection,
};

// How a worker waits for the kernel. The first two schemes run on epoll or io_uring, the others on
// blocking calls. Where `automatic` has chosen io_uring, a thread that finds no memory for its ring
// runs on epoll, and the log says so: all processes of a user share one limit on locked memory.
enum class IoEngine : std::uint8_t { automatic, epoll, io_uring, blocking };

// Whether clients have to show a certificate of an authority in ServerOptions::client_ca_file. A
// certificate that does not verify is always refused.
enum class ClientCertificates : std::uint8_t {
  none,      // not asked for
  optional,  // asked for; clients without one are served
  required,  // clients without one are refused
};

// The library may be built without libnghttp2; then start() fails for `nghttp2`.
enum class Http2Implementation : std::uint8_t { native, nghttp2 };

// Who protects the records of TLS 1.3 after the handshake, which is always OpenSSL's. `own` costs
// less CPU time and memory; the ciphers are OpenSSL's with both. TLS 1.2 is OpenSSL's altogether.
enum class TlsRecordLayer : std::uint8_t { own, openssl };

// A place to listen at: a host and a port, the path of a Unix socket, or a descriptor.
struct ListenerOptions {
  std::string host = {};     // as in ServerOptions
  std::uint16_t port = 443;  // as in ServerOptions
  // At most 107 bytes. A socket that a killed server left there is replaced; a live one and a file
  // of another kind are errors. The server removes its socket when it ends.
  std::string unix_path = {};
  unsigned unix_mode = 0;  // permissions of the socket, such as 0660; 0: as the umask allows
  // TCP or Unix stream sockets that listen already, for example one from systemd, or several of one
  // port (SO_REUSEPORT), which workers share out. They stay open, and their backlogs go on filling
  // when the server has ended. They become non-blocking.
  std::vector<int> descriptors = {};
  bool cleartext = false;  // as in ServerOptions
  // Each connection begins with a header of the PROXY protocol, version 1 or 2, which tells the
  // client's address (see ConnectionInfo); others are closed. On TCP, only from trusted_proxies.
  bool proxy_protocol = false;
};

// A certificate and its key.
struct CertificateFiles {
  std::string certificate_file;  // PEM; the chain may follow
  std::string key_file;          // PEM
  // What the authority says about the certificate (OCSP, RFC 6960), DER. Sent to clients that ask
  // for it, while it is valid. Empty: nothing is sent.
  std::string ocsp_file = {};

  auto operator<=>(const CertificateFiles&) const = default;
};

// The certificate of some hosts; clients name the host they want (SNI, RFC 6066, 3).
struct HostCertificate {
  std::vector<std::string> hosts;  // names as of Server::host()
  std::string certificate_file;    // as in CertificateFiles
  std::string key_file;
  std::string ocsp_file = {};
  // Others of the same hosts, each with a key of another type, such as RSA beside ECDSA. A client
  // gets the one that it supports; ECDSA comes before RSA.
  std::vector<CertificateFiles> more = {};
};

struct ServerOptions {
  std::string host = {};     // a name or an address; empty: every address of this machine
  std::uint16_t port = 443;  // 0: any free port, see Server::addresses()
  bool cleartext = false;    // HTTP/1.1 and HTTP/2 with prior knowledge, without TLS
  // If it is not empty, the server listens there instead: port is ignored, and host or cleartext
  // beside it is an error.
  std::vector<ListenerOptions> listeners = {};
  std::string certificate_file = "./cert/server.crt";  // PEM; unused in cleartext
  std::string key_file = "./cert/server.key";
  std::string ocsp_file = {};                            // as in CertificateFiles
  std::vector<CertificateFiles> more_certificates = {};  // as HostCertificate::more
  // For clients that name one of these hosts; the one above is for all others. The passphrase of an
  // encrypted key is asked for, too.
  std::vector<HostCertificate> host_certificates = {};
  // Called by start() for the passphrase of an encrypted key file. If it fails, start() fails
  // for that reason. Empty: an encrypted key is an error.
  std::function<Result<std::string, std::string>(const std::string& key_file)> key_passphrase = {};
  // Answers ACME's challenges tls-alpn-01 (RFC 8737). For this program; null: none are answered.
  std::shared_ptr<const net::TlsChallenges> tls_challenges = {};
  // The authorities that sign the certificates of clients, PEM; see ConnectionInfo::tls() and
  // ClientCertificates. For clients that use TLS only.
  std::string client_ca_file = {};
  ClientCertificates client_certificates = ClientCertificates::none;
  TlsRecordLayer tls_record_layer = TlsRecordLayer::own;
  // Files of 32 to 4096 random bytes, the same for every server whose session tickets (RFC 8446,
  // 4.6.1) this one is to accept. The first makes new tickets. Read again by
  // Server::reload_certificates(). Empty: a key of this server alone, gone with the process.
  std::vector<std::string> ticket_key_files = {};
  // Workers; 0: the scheme's default, which is 1, or 64 in a pool; see processors_allowed().
  // Ignored by schemes with a thread or a process per connection.
  unsigned threads = 0;
  // Addresses and networks ("192.0.2.7", "10.0.0.0/8", "2001:db8::/32") of proxies whose headers of
  // the PROXY protocol are believed, and of forwarded_client(). Clients of Unix sockets always are.
  std::vector<std::string> trusted_proxies = {};
  ServerScheme scheme = ServerScheme::reuseport;
  IoEngine io = IoEngine::automatic;
  Http2Implementation http2 = Http2Implementation::native;
  // The server has no threads but those of run_blocking(): a loop of the program watches
  // Server::descriptor() and calls Server::poll(). Takes one worker of the scheme reuseport, on
  // epoll.
  bool foreign_loop = false;
  // Maximum open connections. 0: 512 with a thread or a process per connection, as many as there
  // are descriptors for with acceptor and reuseport, but no more than one for each 8 KiB of
  // memory_max; no limit with a pool. Beyond it, connections
  // wait with a thread or a process each; acceptor and reuseport close the longest idle one, or the
  // new one if none is idle; a pool closes the new one.
  unsigned connections_max = 0;
  // Maximum from one IPv4 address or IPv6 network of 64 bits; more are closed. 0: half of all with
  // acceptor and reuseport, no limit with the others. Unix sockets have none.
  unsigned connections_per_address_max = 0;
  // Bytes that clients may make the process hold: heads of requests, content that is not read,
  // responses that are not taken, listings, encoders, archives, parts of uploads. Half of it makes
  // memory tight: handlers that may wait, and have no attempt, are not called, and their clients
  // get 503. From three quarters on, the clients that hold most are cut off. One number for all
  // servers of a process, of the last one to start with a number. 0: that number if there is one,
  // else a quarter of the memory that the process may use. At least 16 MiB.
  std::uint64_t memory_max = 0;
  // Calls handlers also while memory is tight: for operators.
  bool serve_when_tight = false;
  unsigned queue_size = 128;      // buffered-pool: connections that wait for a thread
  bool refuse_when_full = false;  // buffered-pool: otherwise accepting waits for room
  Limits limits = {};
  AccessLogOptions access_log = {};
  bool metrics = false;  // counts requests, for Server::metrics() and Server::status()
  ExchangeHook exchange_hook = {};
  std::string root = {};  // of load_file_from_filecache(); may be empty
  // Threads of run_blocking(), started as they are needed, and how many calls may wait for one.
  unsigned blocking_threads_max = 16;
  unsigned blocking_queue_max = 1024;
  // How long requests in flight may take after stop(). Then they are cancelled; what does not end
  // within another second is left behind, see wait().
  std::chrono::milliseconds drain_limit{10'000};
};

// Returns how many processors this process may use: those of its affinity mask, and no more than
// its control groups' CPU quotas (cpu.max) allow. At least 1.
[[nodiscard]] unsigned processors_allowed() noexcept;

}  // namespace h2server
#pragma GCC visibility pop
