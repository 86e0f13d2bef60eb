// A client's connection, used by both loops: the session, optional TLS and pending output. The loop
// owns the connection and its socket and makes all system calls on it.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "floor/output.h"
#include "floor/session.h"
#include "floor/tls.h"

namespace h2server::lab::floor {

// All of it must outlive the loop.
struct LoopOptions {
  const Answers& answers;
  const net::TlsContext* tls = nullptr;  // null: cleartext
  int listener = -1;                     // non-blocking
  int stop = -1;                         // an eventfd; becomes readable to stop the loop
};

// Returns "what: the error's text".
inline std::string explain(const char* what, int error) {
  return fmt::format("{}: {}", what, std::strerror(error));
}

class Connection {
 public:
  Connection(const LoopOptions& options, TlsScratch& scratch);

  // Returns false if the connection has failed.
  bool receive(std::string_view bytes);
  // Appends what to send now. Appends nothing while the client must send first.
  void fill(Output& output);
  // Returns true if fill() has produced the last output.
  [[nodiscard]] bool finished() const noexcept { return session_.finished(); }

  std::unique_ptr<Output> output;  // what the kernel has not taken; may be null
  bool ended = false;              // the client will send no more

 private:
  Session session_;
  std::unique_ptr<TlsChannel> tls_;
};

}  // namespace h2server::lab::floor
