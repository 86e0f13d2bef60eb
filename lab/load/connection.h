// Bytes in and out of one TCP connection, by TLS or in the clear. Never blocks.
//
// Knows no protocol above TLS. The owner waits for the socket and calls again; what it wants to
// send it appends to out().
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/buffer_chain.h"
#include "base/fd.h"
#include "load/errors.h"
#include "load/target.h"
#include "load/tls.h"

namespace h2server::lab::load {

class Connection {
 public:
  // Begins to connect; `tls` is null for cleartext and outlives the connection otherwise.
  [[nodiscard]] Result<void> open(Target& target, const TlsContext* tls);
  // TCP's and TLS's handshakes: done, would_block or failed.
  [[nodiscard]] Step establish(ErrorKind& failure) noexcept;

  [[nodiscard]] Transfer read(std::span<char> room) noexcept;
  // Sends what it can of out(): done when that was all.
  [[nodiscard]] Step flush();
  [[nodiscard]] base::BufferChain& out() noexcept { return out_; }

  // `reset`: by RST, so that neither end remembers the connection (no TIME_WAIT).
  void close(bool reset) noexcept;

  [[nodiscard]] int socket() const noexcept { return socket_.get(); }
  [[nodiscard]] const Tls* tls() const noexcept { return tls_ ? &*tls_ : nullptr; }
  // On the wire above TCP, since open().
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
