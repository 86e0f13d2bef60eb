// TlsTransport: TLS over a TcpTransport as a Transport (server side).
//
// OpenSSL does the handshake, and the records of TLS 1.2. Those of TLS 1.3 are TlsRecords', unless
// the TlsContext says otherwise; OpenSSL's objects are then freed. Neither does I/O here: they read
// from the engine's lease and write to a chain that one send passes to the kernel, so all responses
// of a turn leave together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/memory/memory_budget.h"
#include "coro/event.h"
#include "net/tcp_transport.h"
#include "net/tls/tls_context.h"
#include "net/tls/tls_handover.h"
#include "net/tls/tls_info.h"
#include "net/tls/tls_records.h"

struct ssl_st;

namespace h2server::net {

// Why TLS itself ended a handshake.
enum class HandshakeFailure : std::uint8_t {
  other,
  alert,             // the client's: it does not trust the certificate, for one
  no_common_choice,  // of versions, ciphers, groups or protocols
};

class TlsTransport final : public Transport {
 public:
  // `context` must outlive the transport.
  TlsTransport(io::Engine& engine, base::Fd connection, const TlsContext& context);
  ~TlsTransport() override;

  // Must complete before any other call. After a TLS error, sends the alert and gives the peer up
  // to `linger_ms` to read it. Later reads do the same if they can't decrypt the peer's data.
  Task<Result<void>> handshake(std::uint32_t timeout_ms, std::uint32_t linger_ms);
  // What OpenSSL 3.0 holds for a handshake from the client's first flight on, as measured.
  static constexpr std::size_t handshake_bytes = 48 * 1024;
  // `handshake_bytes` while a handshake waits for the client's second flight. Less while the first
  // one waits for its turn: as much as has come.
  [[nodiscard]] const base::MemoryCharge& handshake_memory() const noexcept {
    return handshake_memory_;
  }
  // Of the connection that it encrypts: to be called before the handshake.
  [[nodiscard]] TcpTransport& tcp() noexcept { return tcp_; }
  // Returns the name that the client asked for (SNI, RFC 6066, 3), or an empty text.
  [[nodiscard]] std::string_view server_name() const noexcept {
    return session_ ? session_->server_name() : std::string_view();
  }
  // Returns true if server_name() is that of the session, which the client may have resumed for
  // another name against RFC 6066, 3: OpenSSL does not tell the new one with TLS 1.2.
  [[nodiscard]] bool tells_old_name() const noexcept {
    return resumed() && std::string_view(session_->version()) == "TLSv1.2";
  }
  // Of a handshake that failed with EPROTO.
  [[nodiscard]] HandshakeFailure handshake_failure() const noexcept { return failure_; }
  // Returns true if the handshake resumed a session.
  [[nodiscard]] bool resumed() const noexcept { return session_ && session_->resumed(); }
  // Returns the group of the key exchange (net/tls/tls_groups.h), or an empty text.
  [[nodiscard]] std::string_view group() const noexcept {
    return session_ ? session_->group() : std::string_view();
  }
  // Returns the ALPN result, a name of TlsOptions::protocols, or empty if the client offered
  // nothing. After challenge_protocol, the client expects that the connection ends (RFC 8737, 3).
  [[nodiscard]] std::string_view protocol() const noexcept { return protocol_; }

  Read read(std::uint32_t timeout_ms) override { return read_plain(timeout_ms); }
  Task<Result<void>> write(base::BufferChain& bytes, base::Pace& pace) override;
  Task<void> finish(std::uint32_t timeout_ms) override;
  void cancel_read() override;
  void cancel_write() override { tcp_.cancel_write(); }
  void break_off() noexcept override { tcp_.break_off(); }
  bool has_unread() const noexcept override { return tcp_.has_unread(); }
  bool bytes_go_to_kernel() const noexcept override { return false; }
  std::size_t whole_sends(std::size_t bytes_max) const noexcept override;
  io::Engine& engine() const noexcept override { return tcp_.engine(); }
  void move_to(io::Engine& engine) noexcept override { tcp_.move_to(engine); }
  Address client() const override { return tcp_.client(); }
  Address server() const override { return tcp_.server(); }
  bool is_unix_socket() const override { return tcp_.is_unix_socket(); }
  unsigned listener() const noexcept override { return tcp_.listener(); }
  std::optional<TlsInfo> tls() const override {
    return session_ ? std::optional(session_->info()) : std::nullopt;
  }

 private:
  friend struct TlsBio;  // gives OpenSSL access to input_ and encrypted_

  Task<Result<void>> shake_hands(std::uint32_t timeout_ms);
  Task<Result<void>> wait_in_long_turn(std::int64_t until_ms);
  void end_input() noexcept;
  void end_handshake(TlsHandover* handover);
  Task<void> send_alert();
  Task<Result<io::Lease>> read_plain(std::uint32_t timeout_ms);
  Result<void> encrypt(base::BufferChain& bytes);
  std::size_t decrypt(std::span<char> room);
  std::size_t decrypt_by_openssl(std::span<char> room);
  [[nodiscard]] bool encrypt_by_openssl(base::BufferChain& bytes, std::size_t size_max);
  [[nodiscard]] bool has_input() const noexcept;
  [[nodiscard]] std::size_t record_bytes_max() noexcept;

  using Ending = TlsRecords::Ending;

  TcpTransport tcp_;
  const bool own_records_;
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;  // null once records_ is not
  std::unique_ptr<TlsRecords> records_;
  std::optional<TlsSession> session_;  // after the handshake
  std::string protocol_;               // short enough to need no memory
  io::Lease lease_;                    // received ciphertext
  base::MemoryCharge handshake_memory_{base::MemoryOwner::requests};
  std::string_view input_;       // part of lease_ or waiting_input_ that has not been decrypted
  std::string waiting_input_;    // of a handshake that waits for its turn
  bool has_cost_ = false;        // the handshake: what follows is cheap
  io::Op* waiting_ = nullptr;    // the same: what cancel_read() ends
  base::BufferChain encrypted_;  // output not yet sent
  std::size_t small_records_left_ = 0;   // bytes still to be sent in small records
  std::int64_t encrypted_ms_ = -60'000;  // when data was last encrypted
  std::uint32_t linger_ms_ = 0;
  coro::Event flushed_;  // set by the reader, awaited by the writer
  bool flushing_ = false;
  Ending ending_ = Ending::none;  // how the input ended
  HandshakeFailure failure_ = HandshakeFailure::other;
};

}  // namespace h2server::net
