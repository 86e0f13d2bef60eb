// Stream: the native session's part of an exchange: its state, windows and links in queues.
#pragma once

#include <cstdint>

#include "http/h2/flow.h"

namespace h2server::http::h2 {

struct H2Exchange;

// RFC 9218, 4.
struct Priority {
  static constexpr std::uint8_t urgencies = 8;

  std::uint8_t urgency = 3;  // 0 is sent first
  bool incremental = false;  // takes turns with others of its urgency

  bool operator==(const Priority&) const = default;
};

// Used if the client gives no priority: such clients expect interleaved responses.
inline constexpr Priority unsaid_priority{.urgency = 3, .incremental = true};

// What became of content: a handler has read it, or nobody will.
enum class Consumed : std::uint8_t { read, dropped };

struct Stream {
  // RFC 9113, 5.1, without idle and the reserved states of server push.
  enum class State : std::uint8_t { open, half_closed_remote, half_closed_local, closed };

  State state = State::closed;
  bool announced = false;  // its event `request` has been delivered
  bool has_body = false;   // DATA of the response is still to be sent
  bool responded = false;  // the response's head has been queued
  bool ready = false;      // in the scheduler
  bool queued = false;     // in the queue of pending events
  bool sized = false;      // the request has a Content-Length
  bool read = false;       // a handler has begun to read the request's content
  Priority priority = unsaid_priority;
  std::uint32_t turn_used = 0;     // if ready: bytes sent in the present turn
  std::uint64_t content_left = 0;  // if sized: bytes still to come
  SendWindow send;
  ReceiveWindow receive;
  H2Exchange* next_in_bucket = nullptr;
  H2Exchange* next_ready = nullptr;
  H2Exchange* previous_ready = nullptr;
  H2Exchange* next_notification = nullptr;

  [[nodiscard]] bool takes_content() const noexcept {
    return state == State::open || state == State::half_closed_local;
  }
  // Returns true if the window allows all content that is still to come.
  [[nodiscard]] bool fits_window() const noexcept {
    return sized && content_left <= receive.left();
  }
  [[nodiscard]] bool may_send() const noexcept {
    return state == State::open || state == State::half_closed_remote;
  }
};

}  // namespace h2server::http::h2
