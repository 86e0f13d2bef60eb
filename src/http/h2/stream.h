// A stream as the native session knows it: its state, its windows, its place in the queues.
#pragma once

#include <cstdint>

#include "http/h2/flow.h"

namespace h2server::http::h2 {

struct Transfer;

// RFC 9218, 4.
struct Priority {
  static constexpr std::uint8_t urgencies = 8;

  std::uint8_t urgency = 3;  // 0 goes first
  bool incremental = false;  // shares with others of its urgency instead of going before them

  bool operator==(const Priority&) const = default;
};

// A client that says nothing about priorities expects its responses side by side.
inline constexpr Priority unsaid_priority{.urgency = 3, .incremental = true};

struct Stream {
  // RFC 9113, 5.1, of those that a server has without pushing.
  enum class State : std::uint8_t { open, half_closed_remote, half_closed_local, closed };

  State state = State::closed;
  bool announced = false;  // the receiver of events knows it
  bool has_body = false;   // of the response: DATA is still to be sent
  bool responded = false;  // the response's head is under way
  bool ready = false;      // in the scheduler
  bool taken = false;      // body_taken is to be told
  bool queued = false;     // for telling
  bool sized = false;      // Content-Length was given
  Priority priority = unsaid_priority;
  std::uint64_t content_left = 0;  // when sized: what is to come
  SendWindow send;
  ReceiveWindow receive;
  Transfer* next_in_bucket = nullptr;
  Transfer* next_ready = nullptr;
  Transfer* previous_ready = nullptr;
  Transfer* next_told = nullptr;

  [[nodiscard]] bool takes_content() const noexcept {
    return state == State::open || state == State::half_closed_local;
  }
  [[nodiscard]] bool may_send() const noexcept {
    return state == State::open || state == State::half_closed_remote;
  }
};

}  // namespace h2server::http::h2
