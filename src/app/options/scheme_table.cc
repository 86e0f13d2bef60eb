#include "app/options/scheme_table.h"

#include <fmt/format.h>

#include <string_view>

#include "server/schemes/scheme.h"

namespace h2server::app {

namespace {

struct Wording {
  std::string_view accepts;   // which thread or process accepts
  std::string_view hand_off;  // how a connection gets to its worker
  std::string_view sentence;
};

Wording wording_of(ServerScheme scheme) {
  switch (scheme) {
    case ServerScheme::reuseport:
      return {"every worker", "none: the kernel spreads",
              "A worker serves many connections, from a listener of its own."};
    case ServerScheme::acceptor:
      return {"one thread", "a balancer and a queue for each worker",
              "A worker serves many connections, which the balancer gives it."};
    case ServerScheme::thread_pool:
      return {"every thread in turn", "none",
              "A thread accepts a connection, serves it to its end, and accepts the next."};
    case ServerScheme::buffered_pool:
      return {"one thread", "a circular buffer for all threads",
              "A thread takes a connection from the buffer and serves it to its end."};
    case ServerScheme::thread_per_connection:
      return {"one thread", "a new thread",
              "A thread is started for a connection and ends with it."};
    case ServerScheme::process_per_connection:
      break;
  }
  return {"one process", "fork",
          "A process is forked for each connection; if it crashes, the others go on."};
}

}  // namespace

std::string scheme_table() {
  std::string table = fmt::format("{:24}{:17}{:21}{}\n", "--scheme", "--io", "who accepts",
                                  "how a connection is handed over");
  for (const server::SchemeKind& kind : server::scheme_kinds()) {
    const Wording words = wording_of(kind.scheme);
    table += fmt::format("{:24}{:17}{:21}{}\n    {}\n", kind.name,
                         kind.blocking ? "blocking" : "epoll, io_uring", words.accepts,
                         words.hand_off, words.sentence);
  }
  return table;
}

}  // namespace h2server::app
