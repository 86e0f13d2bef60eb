// Byte transport over one TCP connection, with TLS or in cleartext. Never blocks.
//
// Implements no protocol above TLS. The owner appends to out(), waits for the socket and calls
// again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/fd.h"
#include "base/memory/buffer_chain.h"
#include "load/errors.h"
#include "load/target.h"
#include "load/tls.h"

namespace h2server::lab::load {

class Connection {
 public:
  // Starts to connect. `tls` is null for cleartext; otherwise it must outlive the connection.
  [[nodiscard]] Result<void> open(Target& target, const TlsContext* tls);
  // Continues the TCP and TLS handshakes. Returns done, would_block or failed.
  [[nodiscard]] Step establish(ErrorKind& failure) noexcept;

  [[nodiscard]] Transfer read(std::span<char> room) noexcept;
  // Bytes have arrived since the last read().
  void note_arrival() noexcept {
    if (tls_) tls_->note_arrival();
  }
  // Sends as much of out() as possible. Returns done if out() is empty.
  [[nodiscard]] Step flush();
  [[nodiscard]] base::BufferChain& out() noexcept { return out_; }

  // With `reset`, closes by RST, so that neither end keeps TIME_WAIT.
  void close(bool reset) noexcept;

  [[nodiscard]] int socket() const noexcept { return socket_.get(); }
  [[nodiscard]] const Tls* tls() const noexcept { return tls_ ? &*tls_ : nullptr; }
  // Bytes on the wire above TCP since open().
  [[nodiscard]] std::uint64_t bytes_in() const noexcept { return tls_ ? tls_->bytes_in() : in_; }
  [[nodiscard]] std::uint64_t bytes_out() const noexcept {
    return tls_ ? tls_->bytes_out() : sent_;
  }

 private:
  [[nodiscard]] Transfer send() noexcept;

  base::Fd socket_;
  std::optional<Tls> tls_;
  base::BufferChain out_;
  bool connected_ = false;
  bool peer_ended_ = false;
  std::uint64_t in_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace h2server::lab::load
