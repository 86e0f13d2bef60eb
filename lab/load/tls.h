// TLS client (OpenSSL) over a non-blocking socket. Verifies no certificates: the servers are on the
// same machine and use self-signed ones.
//
// A TlsContext must outlive its Tls objects. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "h2server/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace h2server::lab::load {

// Result of a step on a non-blocking connection.
enum class Step : std::uint8_t { done, would_block, ended, failed };

struct Transfer {
  Step step = Step::failed;
  std::size_t size = 0;  // bytes, if `done`
  bool drained = false;  // if `done`: nothing more has arrived; epoll reports new bytes
};

class TlsContext {
 public:
  // `alpn` is the only protocol offered.
  static Result<TlsContext, std::string> open(std::string_view alpn);
  [[nodiscard]] ssl_ctx_st* get() const noexcept { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const noexcept;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

class Tls {
 public:
  // The socket belongs to the caller and must outlive this object.
  Tls(const TlsContext& context, int socket);
  Tls(const Tls&) = delete;  // OpenSSL keeps the address of filled_
  Tls& operator=(const Tls&) = delete;

  [[nodiscard]] Step handshake() noexcept;
  // Returns the protocol that ALPN selected, empty if none.
  [[nodiscard]] std::string_view protocol() const noexcept;
  [[nodiscard]] Transfer read(std::span<char> room) noexcept;
  // Bytes have arrived at the socket since the last read().
  void note_arrival() noexcept { filled_ = true; }
  [[nodiscard]] Transfer write(std::string_view bytes) noexcept;
  // Sends close_notify. Does not wait.
  void finish() noexcept;

  // Bytes on the wire, including record headers and the handshake.
  [[nodiscard]] std::uint64_t bytes_in() const noexcept;
  [[nodiscard]] std::uint64_t bytes_out() const noexcept;

 private:
  [[nodiscard]] Step step_of(int result) const noexcept;

  struct Free {
    void operator()(ssl_st* ssl) const noexcept;
  };
  std::unique_ptr<ssl_st, Free> ssl_;
  bool filled_ = false;  // the last read(2) was full, or older than an arrival: there may be more
};

}  // namespace h2server::lab::load
