// ConnectionObserver: sees what happens on a connection, for logs and metrics.
//
// The connection calls it on its own thread. The pointer is null if nobody wants to know. http
// reads no clock, so times come from here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "http/exchange.h"

namespace h2server::http {

// How an HTTP/2 connection ends by the server's decision (RFC 9113, 5.4.1).
struct ConnectionError {
  std::uint32_t code = 0;  // RFC 9113, 7
  enum class Flood : std::uint8_t { none, idle_frames, resets, other };
  Flood flood = Flood::none;  // what the client sent too much of, with ENHANCE_YOUR_CALM
};

class ConnectionObserver {
 public:
  ConnectionObserver() = default;
  ConnectionObserver(const ConnectionObserver&) = delete;
  ConnectionObserver& operator=(const ConnectionObserver&) = delete;

  // Microseconds since a fixed point; never goes back.
  [[nodiscard]] virtual std::int64_t now_us() const noexcept = 0;
  // The last byte of the exchange's response has been handed over or given up. Called once for each
  // exchange, also for a request that was refused before it was complete: its head is empty then.
  // `stream` is 0 with HTTP/1.x.
  virtual void ended(const ExchangeState& exchange, std::uint32_t stream) noexcept = 0;
  // Returns the names, in lower case, of the request's fields that ended() reads beside the method,
  // the target and the authority, or nothing if it reads the whole request.
  [[nodiscard]] virtual std::optional<std::span<const std::string_view>> fields_read()
      const noexcept = 0;
  // A stream of HTTP/2 was reset (RFC 9113, 6.4) before its end.
  virtual void reset(bool by_client) noexcept = 0;
  // The server ends an HTTP/2 connection.
  virtual void failed(const ConnectionError& error) noexcept = 0;

 protected:
  virtual ~ConnectionObserver() = default;
};

// Returns why the response ended early: what the exchange's token tells, else what was noted, else
// `otherwise`. None if it is `whole`.
CutOff cut_off_of(const ExchangeState& exchange, bool whole, CutOff otherwise) noexcept;

struct HostRoutes;

// What a connection knows of itself from its first byte on.
struct ConnectionTraits {
  bool encrypted = false;
  // The client has named a host when it began TLS (SNI, RFC 6066, 3).
  bool names_host = false;
  const HostRoutes* named = nullptr;       // the host with routes of its own that it named, if any
  ConnectionObserver* observer = nullptr;  // null: nobody wants to know
  std::uint64_t client = 0;                // as coro::StopState::client()
};

}  // namespace h2server::http
