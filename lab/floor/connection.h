// A client's connection as both loops have it: the session, TLS before it or not, and what is being
// sent. The loop owns it, its socket and all system calls on it.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "floor/output.h"
#include "floor/session.h"
#include "floor/tls.h"

namespace h2server::lab::floor {

// What a loop works with; all of it outlives the loop.
struct LoopOptions {
  const Answers& answers;
  const net::TlsContext* tls = nullptr;  // null: cleartext
  int listener = -1;                     // non-blocking
  int stop = -1;                         // an eventfd: readable when it is time to end
};

class Connection {
 public:
  Connection(const LoopOptions& options, TlsScratch& scratch);

  // False: the connection is of no use any more.
  bool receive(std::string_view bytes);
  // Adds what is to be sent now. Nothing added: the client is to speak.
  void fill(Output& output);
  // What fill() gave was the last.
  [[nodiscard]] bool finished() const noexcept { return session_.finished(); }

  std::unique_ptr<Output> output;  // what the kernel did not take yet; null: nothing
  bool ended = false;              // the client will say no more

 private:
  Session session_;
  std::unique_ptr<TlsChannel> tls_;
};

}  // namespace h2server::lab::floor
