// TLS as a client (OpenSSL), over a non-blocking socket. Verifies nothing: it loads servers of the
// same machine with certificates that they made themselves.
//
// A TlsContext outlives its Tls. One thread.
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

// What became of a step on a non-blocking connection.
enum class Step : std::uint8_t { done, would_block, ended, failed };

struct Transfer {
  Step step = Step::failed;
  std::size_t size = 0;  // bytes, at `done`
  bool drained = false;  // at `done`: nothing more has arrived; epoll tells of what will
};

class TlsContext {
 public:
  // `alpn`: the only protocol that is offered.
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
  // The socket stays the caller's and outlives this.
  Tls(const TlsContext& context, int socket);
  Tls(const Tls&) = delete;  // OpenSSL knows where it is
  Tls& operator=(const Tls&) = delete;

  [[nodiscard]] Step handshake() noexcept;
  // What ALPN chose; empty when the server chose nothing.
  [[nodiscard]] std::string_view protocol() const noexcept;
  [[nodiscard]] Transfer read(std::span<char> room) noexcept;
  [[nodiscard]] Transfer write(std::string_view bytes) noexcept;
  // Tells the peer that nothing more comes; does not wait.
  void finish() noexcept;

  // On the wire, records' heads and handshake included.
  [[nodiscard]] std::uint64_t bytes_in() const noexcept;
  [[nodiscard]] std::uint64_t bytes_out() const noexcept;

 private:
  [[nodiscard]] Step step_of(int result) const noexcept;

  struct Free {
    void operator()(ssl_st* ssl) const noexcept;
  };
  std::unique_ptr<ssl_st, Free> ssl_;
  bool filled_ = false;  // the last read(2) brought all that was asked for: there may be more
};

}  // namespace h2server::lab::load
