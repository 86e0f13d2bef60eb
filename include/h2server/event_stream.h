// EventStream: server-sent events (HTML Living Standard, 9.2). Each event goes to every client that
// has subscribed, on all workers.
//
//   EventStream clock;
//   server.get("/clock", [&](Request& request) { return clock.subscribe(request); });
//   clock.send({.data = "12:00", .type = "tick"});
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "h2server/request.h"
#include "h2server/response.h"

#pragma GCC visibility push(default)
namespace h2server {

struct Event {
  std::string data;       // text; each line of it is sent as a line of its own
  std::string type = {};  // for addEventListener(); empty: "message"
  std::string id = {};    // what a client that reconnects sends as Last-Event-ID; empty: none
  // How long a client waits before it reconnects.
  std::optional<std::chrono::milliseconds> retry = {};
};

struct EventStreamOptions {
  // Events that one client has not taken yet. A slower client is cut off; it reconnects.
  std::size_t waiting_max = 64;
  // Events to keep for clients that reconnect with the id of one of them.
  std::size_t history_max = 0;
  // Time without an event after which clients get a comment, so that proxies keep the connection
  // and the server notices who has left. 0: never.
  std::chrono::milliseconds keep_alive{15'000};
};

// The bytes of an event are made once and shared by all clients. Thread-safe. The responses end
// when the object is destroyed, when close() is called and when the server begins to stop.
class EventStream {
 public:
  explicit EventStream(EventStreamOptions options = {});
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;
  ~EventStream();

  // Returns a response that sends the events from now on, and before them what the history has
  // after Last-Event-ID. For handlers.
  [[nodiscard]] Response subscribe(Request& request);
  // Sends the event to all clients. Any thread. Throws std::invalid_argument if the type or the id
  // contains a line break or NUL.
  void send(const Event& event);
  // Ends all responses; later requests get 204, so that clients do not reconnect. Any thread.
  void close();
  // The number of clients. Any thread.
  [[nodiscard]] std::size_t clients() const noexcept;

 private:
  class Hub;
  std::shared_ptr<Hub> hub_;
};

}  // namespace h2server
#pragma GCC visibility pop
