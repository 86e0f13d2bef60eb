// relay: simulates a long or narrow line between a client and a server on this machine.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "relay/relay.h"
#include "server/system_limits.h"

namespace h2server::lab::relay {

namespace {

constexpr int failed = 1;  // exit status

// Returns a descriptor that becomes readable on SIGTERM or SIGINT.
base::Fd watch_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return base::Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

int fail(const std::string& reason) {
  fmt::print(stderr, "relay: {}\n", reason);
  return failed;
}

int run(int argc, char** argv) {
  RelayOptions options;
  double round_trip_ms = 50;
  double mbit_per_second = 0;
  CLI::App app("Passes bytes to a server on 127.0.0.1 as a long or narrow line would.", "relay");
  app.add_option("--port", options.port, "to listen on; 0: any free one")->capture_default_str();
  app.add_option("--to", options.target_port, "the server's port")
      ->required()
      ->check(CLI::Range(1, 65535));
  app.add_option("--rtt-ms", round_trip_ms, "round-trip time")
      ->check(CLI::Range(0.0, 60'000.0))
      ->capture_default_str();
  app.add_option("--mbit-s", mbit_per_second, "bandwidth in each direction; 0: no limit")
      ->check(CLI::Range(0.0, 100'000.0))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  options.round_trip_ns = static_cast<std::int64_t>(round_trip_ms * 1e6);
  options.bytes_per_second = mbit_per_second * 1e6 / 8;

  server::raise_descriptor_limit();
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // 1 ns instead of 50 µs
  const base::Fd stop = watch_signals();
  const auto relay = Relay::open(options, stop.get());
  if (!relay) return fail(relay.error());
  fmt::print("relay: listening on 127.0.0.1:{}\n", (*relay)->port());
  std::fflush(stdout);
  const Result<void, std::string> done = (*relay)->run();
  return done ? 0 : fail(done.error());
}

}  // namespace

}  // namespace h2server::lab::relay

int main(int argc, char** argv) { return h2server::lab::relay::run(argc, argv); }
