// load: parses the options, runs one mode, prints the report.
//
// Exit status: 0 if every request was answered as expected, 1 otherwise, 2 for an invalid option.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <fstream>

#include "load/clock.h"
#include "load/mode.h"
#include "server/system_limits.h"

namespace h2server::lab::load {

namespace {

constexpr int failed = 1;  // exit statuses
constexpr int wrong_use = 2;
constexpr std::uint32_t connections_per_source = 25'000;  // of 28 232 ephemeral ports

RequestSpec make_spec(const Options& options) {
  RequestSpec spec;
  spec.method = options.method;
  spec.path = options.path;
  spec.authority = options.host + ":" + std::to_string(options.port);
  spec.scheme = options.tls ? "https" : "http";
  // RFC 9110, 8.6: POST and PUT send Content-Length, even if it is 0.
  spec.has_upload = options.method == "POST" || options.method == "PUT";
  spec.upload_bytes = options.upload_bytes.value_or(0);
  spec.multipart = options.multipart;
  spec.closes = options.closes;
  if (options.mode == ModeName::exchange) spec.message_bytes = options.message_bytes;
  spec.status = options.status;
  spec.body_bytes = options.body_bytes;
  return spec;
}

std::unique_ptr<Mode> make_mode(const Options& options, SessionSetting& setting) {
  switch (options.mode) {
    case ModeName::closed:
      return make_closed(options, setting);
    case ModeName::open:
      return make_open(options, setting);
    case ModeName::exchange:
      return make_exchange(options, setting);
    case ModeName::churn:
      return make_churn(options, setting);
    case ModeName::idle:
      return make_idle(options, setting);
  }
  return nullptr;
}

int fail(int status, std::string_view text) {
  fmt::print(stderr, "load: {}\n", text);
  return status;
}

int report(const Options& options, const Tally& tally, const std::vector<ReportField>& fields) {
  std::printf("%s\n", to_json(tally, fields).c_str());
  if (std::fflush(stdout) != 0) return fail(failed, "can't write the result");
  if (!options.hgrm_file.empty()) {
    std::ofstream file(options.hgrm_file);
    file << tally.latency.hgrm() << std::flush;
    if (!file) return fail(failed, "can't write " + options.hgrm_file);
  }
  if (tally.errors.total() == 0) return 0;
  return fail(failed, fmt::format("{} answered as expected, errors {}", tally.answered,
                                  to_json(tally.errors)));
}

int run_with(const Options& options) {
  Result<Loop> loop = Loop::open();
  if (!loop) return fail(failed, loop.error().message());
  Result<Target, std::string> target = Target::find(options.host, options.port);
  if (!target) return fail(failed, target.error());
  if (options.connections > connections_per_source) {
    target->set_connections_per_source(connections_per_source);
  }
  Result<RequestPlan, std::string> plan = RequestPlan::make(make_spec(options));
  if (!plan) return fail(wrong_use, plan.error());

  Tally tally;
  SessionSetting setting{
      .loop = *loop,
      .target = std::move(*target),
      .plan = std::move(*plan),
      .protocol = options.protocol,
      .streams = {options.streams, options.window_bits},
      .awaits_close = options.closes,
      .resets = options.resets,
      .timeout_ns = static_cast<std::int64_t>(options.timeout_s * static_cast<double>(ns_per_s)),
      .tally = tally};
  if (options.tls) {
    Result<TlsContext, std::string> tls = TlsContext::open(alpn_of(options.protocol));
    if (!tls) return fail(failed, tls.error());
    setting.tls = std::move(*tls);
  }

  const std::unique_ptr<Mode> mode = make_mode(options, setting);
  run(*mode, *loop, setting.timeout_ns);
  tally.stop();
  const std::vector<ReportField> fields = mode->fields();
  mode->close_all();
  return report(options, tally, fields);
}

}  // namespace

int main(int argc, char** argv) {
  const Result<Options, Stop> options = parse_options(argc, argv);
  if (!options) {
    if (options.error().status != 0) return fail(options.error().status, options.error().text);
    std::fputs(options.error().text.c_str(), stdout);
    return 0;
  }
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
  server::raise_descriptor_limit();
  return run_with(*options);
}

}  // namespace h2server::lab::load

int main(int argc, char** argv) { return h2server::lab::load::main(argc, argv); }
