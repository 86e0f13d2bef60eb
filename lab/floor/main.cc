// floor: answers every request with the same response at the least possible cost. It measures what
// this machine allows.
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "floor/epoll_loop.h"
#include "floor/uring_loop.h"
#include "net/listener.h"
#include "server/system_limits.h"

namespace h2server::lab::floor {

namespace {

constexpr int failed = 1;  // exit status

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::string io = "epoll";
  unsigned threads = 1;
  std::string certificate_file;
  std::string key_file;
  std::size_t body_bytes = 158;
  std::string body_file;
  AnswerOptions answers;
};

void describe(CLI::App& app, Options& options) {
  app.add_option("--host", options.host, "address to listen on")->capture_default_str();
  app.add_option("--port", options.port, "0: any free one")->capture_default_str();
  app.add_option("--io", options.io, "how it waits for the kernel")
      ->check(CLI::IsMember({"epoll", "io_uring"}))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "each with a listener and a loop of its own")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  CLI::Option* const certificate =
      app.add_option("--cert", options.certificate_file, "PEM; with it TLS is spoken");
  CLI::Option* const key = app.add_option("--key", options.key_file, "PEM");
  certificate->needs(key);
  key->needs(certificate);
  CLI::Option* const bytes =
      app.add_option("--body-bytes", options.body_bytes, "a body of this size")
          ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 30))
          ->capture_default_str();
  CLI::Option* const file =
      app.add_option("--body-file", options.body_file, "or this file as the body")
          ->check(CLI::ExistingFile)
          ->excludes(bytes);
  app.add_flag("--close", options.answers.close, "HTTP/1.1: one response a connection");
  app.add_flag("--uploads", options.answers.uploads,
               "HTTP/1.1: requests may have a body, by Content-Length (HTTP/2's always may)");
  const auto not_found = [&options] { options.answers.found = false; };
  app.add_flag_callback("--not-found", not_found, "404 instead of 200, with no body")
      ->excludes(bytes)
      ->excludes(file);
}

std::string read_body(const Options& options) {
  if (!options.answers.found) return {};
  if (options.body_file.empty()) {
    std::string body;
    constexpr std::string_view line = "The floor answers without reading.\n";
    while (body.size() < options.body_bytes) body += line;
    body.resize(options.body_bytes);
    return body;
  }
  std::ifstream file(options.body_file, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Opens one listener per thread, all on the same port.
Result<std::vector<net::Listener>, std::string> listen(const Options& options) {
  net::ListenOptions where{.host = options.host, .port = options.port, .reuse_port = true};
  std::vector<net::Listener> listeners;
  for (unsigned i = 0; i < options.threads; ++i) {
    auto opened = net::open_listeners(where);
    if (!opened) return std::unexpected(opened.error());
    net::Listener& listener = opened->front();
    where.port = listener.address.port;
    net::set_no_delay(listener.socket.get());  // accepted sockets inherit it
    // Accept short connections only when their request has arrived, so that recv() need not wait.
    const int seconds = options.answers.close ? 1 : 0;
    ::setsockopt(listener.socket.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
    listeners.push_back(std::move(listener));
  }
  return listeners;
}

// The loops' threads and their state, shared with the main thread.
struct Crew {
  explicit Crew(unsigned count) : opened(count) {}
  std::latch opened;  // each loop is open, or has failed
  std::atomic<bool> broken{false};
  std::vector<std::jthread> threads;
};

template <class Loop>
void work(const LoopOptions& options, Crew& crew) {
  auto loop = Loop::open(options);
  if (!loop) crew.broken = true;
  crew.opened.count_down();
  Result<void, std::string> done;
  if (loop) {
    done = (*loop)->run();
  } else {
    done = std::unexpected(loop.error());
  }
  if (done) return;
  fmt::print(stderr, "floor: {}\n", done.error());
  crew.broken = true;
  ::kill(::getpid(), SIGTERM);  // wakes the main thread, which stops the others
}

// Runs until SIGTERM or SIGINT. Both are blocked; the threads inherit the signal mask.
int serve(const Options& options, const Answers& answers, const net::TlsContext* tls) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const base::Fd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const auto listeners = listen(options);
  if (!listeners || !stop.valid()) {
    fmt::print(stderr, "floor: {}\n", listeners ? "no descriptor left" : listeners.error());
    return failed;
  }
  Crew crew(options.threads);
  for (const net::Listener& listener : *listeners) {
    const LoopOptions loop{answers, tls, listener.socket.get(), stop.get()};
    const auto run = options.io == "epoll" ? work<EpollLoop> : work<UringLoop>;
    crew.threads.emplace_back(run, loop, std::ref(crew));
  }
  crew.opened.wait();
  if (!crew.broken) {
    fmt::print("floor: listening on {}:{}\n", listeners->front().address.host,
               listeners->front().address.port);
    std::fflush(stdout);
  }
  int signal = 0;
  ::sigwait(&signals, &signal);
  ::eventfd_write(stop.get(), 1);  // never read, so that all threads see it
  crew.threads.clear();            // joins
  return crew.broken ? failed : 0;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Answers every request with the same response, without reading it.", "floor");
  describe(app, options);
  CLI11_PARSE(app, argc, argv);
  server::raise_descriptor_limit();
  std::signal(SIGPIPE, SIG_IGN);
  const Answers answers(read_body(options), options.answers);
  if (options.certificate_file.empty()) return serve(options, answers, nullptr);
  const auto tls = net::TlsContext::open(options.certificate_file, options.key_file);
  if (!tls) {
    fmt::print(stderr, "floor: {}\n", tls.error());
    return failed;
  }
  return serve(options, answers, tls->get());
}

}  // namespace

}  // namespace h2server::lab::floor

int main(int argc, char** argv) { return h2server::lab::floor::run(argc, argv); }
