#include "load/options.h"

#include <CLI/CLI.hpp>
#include <string>

namespace h2server::lab::load {

namespace {

constexpr std::uint32_t connections_max = 1'000'000;
constexpr double rate_max = 10'000'000;

void declare_target(CLI::App& app, Options& options, std::string& protocol) {
  app.add_option("--host", options.host, "Name or address of the server")->capture_default_str();
  app.add_option("--port", options.port, "Its port")->required()->check(CLI::Range(1, 65535));
  app.add_option("--path", options.path, "Target; {n} becomes the request's number")
      ->capture_default_str();
  app.add_option("--protocol", protocol, "h1, h2 or spdy (SPDY/3.1)")
      ->check(CLI::IsMember({"h1", "h2", "spdy"}))
      ->capture_default_str();
  app.add_flag("--tls", options.tls, "Use TLS with ALPN; certificates are not verified");
  app.add_option("--window-bits", options.window_bits, "HTTP/2, SPDY: windows of 2^N - 1 bytes")
      ->check(CLI::Range(16, 31))
      ->capture_default_str();
  app.add_option("--expect-status", options.status, "Expected status; any other is an error")
      ->check(CLI::Range(200, 599))
      ->capture_default_str();
  app.add_option("--expect-bytes", options.body_bytes,
                 "Expected size of the response's body; any other is an error");
  app.add_option("--timeout-s", options.timeout_s, "Fail after this many seconds without a byte")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  app.add_option("--hgrm", options.hgrm_file, "Also write HdrHistogram's percentile distribution");
}

void declare_load(CLI::App& app, Options& options) {
  app.add_option("--connections", options.connections, "Concurrent connections")
      ->check(CLI::Range(1U, connections_max))
      ->capture_default_str();
  app.add_option("--streams", options.streams, "HTTP/2, SPDY: concurrent requests per connection")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--method", options.method, "GET, HEAD, POST or PUT")
      ->check(CLI::IsMember({"GET", "HEAD", "POST", "PUT"}))
      ->capture_default_str();
  app.add_option("--upload-bytes", options.upload_bytes,
                 "Each request has a body: byte i is (i * 131 + (i >> 8)) & 255");
  app.add_flag("--multipart", options.multipart,
               "The body is a form's one part \"file\", with the filename load-{n}");
}

void declare_closed(CLI::App& app, Options& options) {
  declare_load(app, options);
  app.add_option("--requests", options.requests, "Total requests")
      ->required()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  app.add_option("--weights", options.weights,
                 "8,1,1,1: connection i sends a share of the requests by weight i mod n")
      ->delimiter(',')
      ->check(CLI::Range(0, 1'000'000));
}

void declare_open(CLI::App& app, Options& options) {
  declare_load(app, options);
  app.add_option("--rate", options.pace.rate, "Requests per second")
      ->required()
      ->check(CLI::Range(0.001, rate_max));
  app.add_option("--seconds", options.pace.seconds, "Measured time")
      ->required()
      ->check(CLI::Range(0.001, 86400.0));
  app.add_option("--warmup-seconds", options.pace.warmup_seconds, "Time before the measurement")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  app.add_flag("--close", options.closes,
               "HTTP/1.1: a connection for each request, opened when it is due");
}

void declare_exchange(CLI::App& app, Options& options) {
  app.add_option("--clients", options.clients, "Concurrent clients")
      ->required()
      ->check(CLI::Range(1U, connections_max));
  app.add_option("--connections", options.connections_each, "Connections per client, in sequence")
      ->required()
      ->check(CLI::PositiveNumber);
  app.add_option("--messages", options.messages, "Messages per connection, in sequence")
      ->required()
      ->check(CLI::PositiveNumber);
  app.add_option("--message-bytes", options.message_bytes, "Size of a request")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
}

void declare_churn(CLI::App& app, Options& options) {
  app.add_option("--connections", options.requests, "Total connections, with one request each")
      ->required()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  app.add_option("--concurrency", options.concurrency, "Concurrent connections")
      ->check(CLI::Range(1U, connections_max))
      ->capture_default_str();
  app.add_flag("--linger-rst", options.resets, "Close with RST");
}

void declare_idle(CLI::App& app, Options& options) {
  app.add_option("--connections", options.connections, "Connections to hold open")
      ->required()
      ->check(CLI::Range(1U, connections_max));
}

Stop wrong(const std::string& text) { return {2, text + "; see load --help"}; }

// Returns a description of conflicting options, empty if there are none.
std::string find_conflict(const Options& options) {
  if (options.path.empty() || options.path.front() != '/') return "--path begins with /";
  const bool h1_only = options.mode == ModeName::exchange || options.mode == ModeName::churn;
  const bool h1 = options.protocol == ProtocolName::h1;
  if (h1_only && !h1) return "exchange and churn are for --protocol h1";
  if (options.closes && !h1) return "--close is for --protocol h1";
  if (h1 && options.streams > 1) return "--streams is for --protocol h2 and spdy";
  const bool body_method = options.method == "POST" || options.method == "PUT";
  if (options.upload_bytes && !body_method) return "--upload-bytes is for POST and PUT";
  if (options.multipart && !options.upload_bytes) return "--multipart needs --upload-bytes";
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < options.connections && !options.weights.empty(); ++i) {
    sum += options.weights[i % options.weights.size()];
  }
  if (!options.weights.empty() && sum == 0) return "--weights gives no connection a share";
  return {};
}

}  // namespace

Result<Options, Stop> parse_options(int argc, const char* const* argv) {
  CLI::App app(
      "Loads a server over HTTP/1.1, HTTP/2 or SPDY/3.1; prints what it saw as one line of "
      "JSON.",
      "load");
  app.require_subcommand(1);
  Options options;
  std::string protocol = "h1";
  const auto mode = [&](const char* name, const char* what, ModeName value,
                        void (*declare)(CLI::App&, Options&)) {
    CLI::App& made = *app.add_subcommand(name, what);
    declare_target(made, options, protocol);
    declare(made, options);
    made.callback([&options, value] {
      options.mode = value;
      options.closes |= value == ModeName::churn;
    });
  };
  mode("closed", "Each connection sends its next request when one is answered", ModeName::closed,
       declare_closed);
  mode("open", "Requests on a fixed schedule, measured from when they were due", ModeName::open,
       declare_open);
  mode("exchange", "Clients that open connections in turn, with some messages on each",
       ModeName::exchange, declare_exchange);
  mode("churn", "A connection for each request", ModeName::churn, declare_churn);
  mode("idle", "Opens connections, prints \"ready\", holds them to the end of its input",
       ModeName::idle, declare_idle);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return std::unexpected(Stop{0, app.help("", CLI::AppFormatMode::All)});
  } catch (const CLI::Error& error) {
    return std::unexpected(wrong(error.what()));
  }
  if (protocol == "h2") options.protocol = ProtocolName::h2;
  if (protocol == "spdy") options.protocol = ProtocolName::spdy;
  const std::string conflict = find_conflict(options);
  if (!conflict.empty()) return std::unexpected(wrong(conflict));
  return options;
}

}  // namespace h2server::lab::load
