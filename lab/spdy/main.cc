// spdy: serves a directory over SPDY/3.1 with the workers, connections, router and file cache of
// h2server. Only the session is another one.
//
//   spdy --port PORT --root DIR (--h2c | --cert FILE --key FILE) [--host HOST] [--threads N]
//
// Answers POST with the body that it got. Prints the address on which it listens.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "file/cache.h"
#include "h2server/files.h"
#include "server/accept/listeners.h"
#include "server/context.h"
#include "server/schemes/scheme.h"
#include "server/system_limits.h"
#include "spdy/session.h"

namespace h2server::lab::spdy {

namespace {

constexpr int failed = 1;  // exit status

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::string root;
  bool cleartext = false;
  std::string certificate_file;
  std::string key_file;
  unsigned threads = 1;
};

void describe(CLI::App& app, Options& options) {
  app.add_option("--host", options.host, "address to listen on")->capture_default_str();
  app.add_option("--port", options.port, "0: any free one")->capture_default_str();
  app.add_option("--root", options.root, "directory to serve")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--threads", options.threads, "workers of the scheme acceptor")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  CLI::Option* const certificate = app.add_option("--cert", options.certificate_file, "PEM");
  CLI::Option* const key = app.add_option("--key", options.key_file, "PEM");
  CLI::Option* const cleartext = app.add_flag("--h2c", options.cleartext, "SPDY without TLS");
  certificate->needs(key)->excludes(cleartext);
  key->needs(certificate);
}

Task<Response> echo(Request& request) {
  constexpr std::size_t bytes_max = 64 * 1024 * 1024;
  Result<std::string> body = co_await request.read_all(bytes_max);
  if (!body) co_return Response(413);
  co_return Response(200, *std::move(body), "application/octet-stream");
}

Result<void, std::string> set_up(server::SharedContext& shared, const Options& options) {
  shared.multiplexed = {.alpn = "spdy/3.1", .preface = {}, .make_session = make_spdy_session};
  file::Cache::of_process().limit_snapshots(server::memory_allowed() / 8);  // as Server::start()
  shared.windows.reset(shared.limits.windows_gain_bytes_max);
  const Result<void, std::string> served =
      shared.router.add(Method::GET, "/{path...}", Files(options.root));
  if (!served) return served;
  const Result<void, std::string> echoed = shared.router.add(Method::POST, "/{path...}", echo);
  if (!echoed || options.cleartext) return echoed;
  auto tls = net::TlsContext::open({.certificates = {{options.certificate_file, options.key_file}},
                                    .protocols = "\x08spdy/3.1"});
  if (!tls) return std::unexpected(tls.error());
  shared.tls.set(*std::move(tls));
  return {};
}

// Runs until SIGTERM or SIGINT. Both are blocked; the threads inherit the signal mask.
int serve(const Options& options) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  server::SharedContext shared;
  const ListenerOptions listener{
      .host = options.host, .port = options.port, .cleartext = options.cleartext};
  shared.usual_listener = server::kind_of(listener, 0);
  const server::SchemeKind& kind = server::kind_of(ServerScheme::acceptor);
  const auto engine = server::take_engine(kind, IoEngine::automatic);
  Result<void, std::string> begun = set_up(shared, options);
  if (!engine) begun = std::unexpected(engine.error());
  std::unique_ptr<server::Scheme> scheme;
  if (begun) {
    shared.engine = engine->wanted;
    scheme = kind.make(shared, {.listeners = {listener}, .workers = options.threads});
    begun = scheme->start();
  }
  if (!begun) {
    fmt::print(stderr, "spdy: {}\n", begun.error());
    return failed;
  }
  fmt::print("spdy: listening on {}:{}\n", scheme->addresses().front().host,
             scheme->addresses().front().port);
  std::fflush(stdout);
  int signal = 0;
  ::sigwait(&signals, &signal);
  shared.give_up.at(server::GiveUp::Clock::now() + std::chrono::milliseconds(shared.drain_ms_max) +
                    server::GiveUp::unwinding);
  scheme->stop();
  if (scheme->join()) return 0;
  std::_Exit(failed);  // threads that were left behind use what is here
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Serves a directory over SPDY/3.1, for the lab.", "spdy");
  describe(app, options);
  CLI11_PARSE(app, argc, argv);
  if (!options.cleartext && options.certificate_file.empty()) {
    fmt::print(stderr, "spdy: --h2c, or --cert and --key\n");
    return failed;
  }
  server::raise_descriptor_limit();
  std::signal(SIGPIPE, SIG_IGN);
  return serve(options);
}

}  // namespace

}  // namespace h2server::lab::spdy

int main(int argc, char** argv) { return h2server::lab::spdy::run(argc, argv); }
