// The table's rows on the program and its listeners.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "config/option_makers.h"
#include "config/rules.h"
#include "content/s3/location.h"
#include "server/schemes/scheme.h"
#include "server/system_limits.h"

namespace h2server::config {

namespace {

constexpr std::uint64_t threads_max = 1024;
constexpr std::uint64_t connections_max = 1'000'000;
constexpr std::uint64_t requests_max = 1'000'000'000;  // more is as good as no limit
// The last 4 MiB of a file are not sent by sendfile(), so smaller files gain little.
constexpr std::uint64_t send_file_bytes_min = 16 * 1024 * 1024;

template <class T>
using Names = std::vector<std::pair<std::string_view, T>>;

Names<ServerScheme> scheme_names() {
  Names<ServerScheme> names;
  for (const server::SchemeKind& kind : server::scheme_kinds()) {
    names.emplace_back(kind.name, kind.scheme);
  }
  return names;
}

Names<IoEngine> engine_names() {
  Names<IoEngine> names;
  for (const IoEngine engine :
       {IoEngine::automatic, IoEngine::epoll, IoEngine::io_uring, IoEngine::blocking}) {
    names.emplace_back(server::name_of(engine), engine);
  }
  return names;
}

// "auto" stands for the number of processors.
Option make_threads() {
  Option row = number({.key = "threads",
                       .letter = 'n',
                       .range = {1, threads_max},
                       .usual = "1, or 64 in a pool",
                       .help = "Worker threads; auto: one per processor"},
                      [](const Target& t) -> auto& { return t.program.server.threads; });
  row.set = [set = row.set](const Target& t, const std::string& text) -> Read<void> {
    if (text == "auto") {
      const auto processors = std::min<std::uint64_t>(processors_allowed(), threads_max);
      t.program.server.threads = static_cast<unsigned>(processors);
      return {};
    }
    Read<void> done = set(t, text);
    if (!done) done.error() += ", or auto";
    return done;
  };
  return row;
}

// Has no effect, and is refused, with another scheme.
bool queues(const Target& t) { return server::kind_of(t.program.server.scheme).queues; }

Option make_queue_size() {
  Option row = number({.key = "queue-size",
                       .range = {1, 65536},
                       .usual = "128",
                       .help = "buffered-pool: connections that may wait for a thread"},
                      [](const Target& t) -> auto& { return t.program.server.queue_size; });
  row.get = [get = row.get](const Target& t) { return queues(t) ? get(t) : Values{}; };
  return row;
}

Option make_when_full() {
  Option row = choice(
      {.key = "when-full",
       .usual = "wait",
       .help = "buffered-pool: wait or refuse when the queue is full"},
      [](const Target& t) -> auto& { return t.program.server.refuse_when_full; },
      Names<bool>{{"wait", false}, {"refuse", true}});
  row.get = [get = row.get](const Target& t) { return queues(t) ? get(t) : Values{}; };
  return row;
}

Option make_sendfile() {
  Option row{.key = "sendfile",
             .type = ValueType::flag,
             .help = "Send large files by sendfile over plain HTTP/1.1; they must not change"};
  row.set = setter(read_switch, [](const Target& t, bool on) {
    t.program.server.limits.send_file_bytes_min = on ? send_file_bytes_min : 0;
  });
  row.get = [](const Target& t) {
    return Values{t.program.server.limits.send_file_bytes_min != 0 ? "true" : "false"};
  };
  return row;
}

Option make_log_rotate() {
  return size({.key = "log-rotate",
               .usual = "0",
               .help = "Rename a log to FILE.1 when it has that size; 0: never"},
              [](const Target& t) -> auto& { return t.program.log.rotate_bytes; });
}

Option make_log_keep() {
  Option row = number({.key = "log-keep",
                       .range = {1, 1000},
                       .usual = "5",
                       .help = "How many files of --log-rotate to keep"},
                      [](const Target& t) -> auto& { return t.program.log.keep; });
  row.get = [get = row.get](const Target& t) {
    return t.program.log.rotate_bytes == 0 ? Values{} : get(t);
  };
  return row;
}

// 0 stands for a quarter of the memory that the process may use.
Option make_memory() {
  Option row = size({.key = "memory",
                     .usual = "a quarter of all",
                     .help = "What clients may make it hold; at least 16MiB"},
                    [](const Target& t) -> auto& { return t.program.server.memory_max; });
  row.set = [set = row.set](const Target& t, const std::string& text) -> Read<void> {
    Read<void> done = set(t, text);
    if (done && t.program.server.memory_max < server::memory_max_least) {
      return std::unexpected("too little; at least 16MiB");
    }
    return done;
  };
  row.get = [get = row.get](const Target& t) {
    return t.program.server.memory_max == 0 ? Values{} : get(t);
  };
  return row;
}

// "off" is none, so that a site may do without a log that the others have.
Option make_access_log() {
  Option row{.key = "access-log",
             .scope = Scope::site,
             .type = ValueType::file,
             .value = "FILE",
             .help = "Log requests to a file, - for standard output, or syslog; off"};
  row.set = [](const Target& t, const std::string& text) -> Read<void> {
    if (text.empty()) return std::unexpected("empty; allowed: a file, -, syslog or off");
    t.site.access_log = text == "off" ? "" : text;
    return {};
  };
  row.get = [](const Target& t) {
    return t.site.access_log.empty() ? Values{} : Values{t.site.access_log};
  };
  return row;
}

Option make_admin() {
  Option row{.key = "admin",
             .value = "ADDRESS",
             .help = "Metrics and status at 127.0.0.1:9000, [::1]:9000 or unix:PATH"};
  row.set = [](const Target& t, const std::string& text) -> Read<void> {
    Read<void> checked = read_admin_address(text);
    if (checked) t.program.admin.address = text;
    return checked;
  };
  row.get = [](const Target& t) {
    return t.program.admin.address.empty() ? Values{} : Values{t.program.admin.address};
  };
  return row;
}

Option make_trace_endpoint() {
  Option row{.key = "trace-endpoint",
             .value = "URL",
             .help = "Send traces (OTLP) to http://127.0.0.1:4318/v1/traces",
             .is_url = true};
  row.set = [](const Target& t, const std::string& text) -> Read<void> {
    constexpr std::string_view scheme = "http://";
    if (!text.starts_with(scheme) || text.size() == scheme.size()) {
      return std::unexpected("not a URL; allowed: such as http://127.0.0.1:4318/v1/traces");
    }
    t.program.trace.endpoint = text;
    return {};
  };
  row.get = [](const Target& t) {
    return t.program.trace.endpoint.empty() ? Values{} : Values{t.program.trace.endpoint};
  };
  return row;
}

Option make_trace_sample() {
  Option row{.key = "trace-sample",
             .type = ValueType::ratio,
             .value = "RATIO",
             .usual = "0.01",
             .help = "Part of the requests that are traced, from 0 to 1"};
  row.set = setter([](const std::string& text) { return read_ratio(text); },
                   [](const Target& t, double ratio) { t.program.trace.sample = ratio; });
  row.get = [](const Target& t) {
    return t.program.trace.endpoint.empty() ? Values{}
                                            : Values{fmt::format("{}", t.program.trace.sample)};
  };
  return row;
}

Option make_trusted_proxy() {
  Option row{.key = "trusted-proxy",
             .value = "NETWORK",
             .help = "Believe what proxies there say of their clients: 10.0.0.0/8",
             .repeatable = true};
  row.set = [](const Target& t, const std::string& text) -> Read<void> {
    Read<void> checked = read_network(text);
    if (checked) t.program.trusted_proxies.push_back(text);
    return checked;
  };
  row.get = [](const Target& t) { return t.program.trusted_proxies; };
  return row;
}

Option make_ticket_key() {
  Option row = list(
      {.key = "ticket-key",
       .type = ValueType::file,
       .value = "FILE",
       .help = "Secret of servers that resume each other's TLS sessions"},
      [](const std::string& file) -> Read<std::string> {
        if (file.empty()) return std::unexpected("empty; leave it out");
        return file;
      },
      [](const Target& t) -> auto& { return t.program.server.ticket_key_files; },
      [](const std::string& file) { return file; });
  return row;
}

Option make_unix_mode() {
  Option row{.key = "unix-mode",
             .value = "MODE",
             .usual = "as the umask allows",
             .help = "Permissions of the socket: \"0660\"",
             .on_command_line = false,
             .at_top = false};
  row.set = setter([](const std::string& text) { return read_mode(text); },
                   [](const Target& t, unsigned mode) { t.listener.unix_mode = mode; });
  row.get = [](const Target& t) {
    return t.listener.unix_mode == 0 ? Values{}
                                     : Values{fmt::format("{:04o}", t.listener.unix_mode)};
  };
  return row;
}

// An option that has no effect without a site with ACME says nothing then.
Option of_acme(Option row) {
  row.on_command_line = false;
  row.get = [get = row.get](const Target& t) {
    return std::ranges::any_of(t.program.sites, &Site::acme) ? get(t) : Values{};
  };
  return row;
}

Option make_acme_directory() {
  Option row = text({.key = "acme-directory",
                     .value = "URL",
                     .usual = "Let's Encrypt",
                     .help = "Directory of the authority for sites with acme",
                     .is_url = true},
                    [](const Target& t) -> auto& { return t.program.acme.directory; });
  row.set = [](const Target& t, const std::string& text) -> Read<void> {
    constexpr std::string_view scheme = "https://";  // RFC 8555, 6.1
    const bool secret = text.substr(0, text.find('/', scheme.size())).contains('@');
    if (!text.starts_with(scheme) || text.size() == scheme.size() || secret) {
      return std::unexpected("not a URL; allowed: such as https://ca.example/directory");
    }
    t.program.acme.directory = text;
    return {};
  };
  return row;
}

Option make_acme_email() {
  Option row =
      text({.key = "acme-email", .value = "ADDRESS", .help = "Where the authority may reach you"},
           [](const Target& t) -> auto& { return t.program.acme.email; });
  row.set = [](const Target& t, const std::string& text) -> Read<void> {
    const std::size_t at = text.find('@');
    const bool has_both = at != std::string::npos && at > 0 && at + 1 < text.size();
    if (!has_both || text.find_first_of(" \t,;<>") != std::string::npos) {
      return std::unexpected("not an address; allowed: such as admin@example.com");
    }
    t.program.acme.email = text;
    return {};
  };
  return row;
}

Option make_acme_store() {
  Option row = text({.key = "acme-store",
                     .value = "s3://BUCKET/PREFIX",
                     .help = "Where several servers share certificates and their keys"},
                    [](const Target& t) -> auto& { return t.program.acme.store; });
  row.set = [](const Target& t, const std::string& text) -> Read<void> {
    const auto location =
        content::s3::make_location({.place = text, .endpoint = "http://localhost"});
    if (!location) return std::unexpected(location.error());
    t.program.acme.store = text;
    return {};
  };
  return row;
}

void add_acme_options(std::vector<Option>& all) {
  all.push_back(of_acme(make_acme_directory()));
  all.push_back(of_acme(make_acme_email()));
  all.push_back(of_acme(file({.key = "acme-ca",
                              .usual = "those that the system trusts",
                              .help = "Authorities of the directory's own certificate, PEM"},
                             [](const Target& t) -> auto& { return t.program.acme.ca_file; })));
  all.push_back(of_acme(choice(
      {.key = "acme-challenge",
       .usual = "tls-alpn-01",
       .help = "How to prove that hosts are yours: tls-alpn-01 (port 443) or http-01 (80)"},
      [](const Target& t) -> auto& { return t.program.acme.http_challenge; },
      Names<bool>{{"tls-alpn-01", false}, {"http-01", true}})));
  all.push_back(of_acme(make_acme_store()));
}

// The option's values are read by the configuration's reader, which opens the files.
Option make_file_option(std::string_view key, std::string_view help) {
  return {.key = key,
          .type = ValueType::file,
          .value = "FILE",
          .help = help,
          .set = [](const Target& /*t*/, const std::string& /*text*/) { return Read<void>(); },
          .get = [](const Target& /*t*/) { return Values{}; }};
}

}  // namespace

void add_listener_options(std::vector<Option>& all) {
  Option port = number({.key = "port",
                        .letter = 'p',
                        .range = {0, 65535},
                        .usual = "8443 or 8080, or the next",
                        .help = "Port to listen on; 0: any free one"},
                       [](const Target& t) -> auto& { return t.listener.port; });
  port.get = [get = port.get](const Target& t) {
    return t.listener.unix_path.empty() ? get(t) : Values{};
  };
  all.push_back(std::move(port));
  all.push_back(text({.key = "host",
                      .value = "HOST",
                      .usual = "all addresses",
                      .help = "Name or address to listen on"},
                     [](const Target& t) -> auto& { return t.listener.host; }));
  all.push_back(
      flag({.key = "h2c", .help = "No TLS: HTTP/1.1 and HTTP/2 with prior knowledge on one port"},
           [](const Target& t) -> auto& { return t.listener.cleartext; }));
  all.push_back(file({.key = "unix",
                      .help = "Unix socket to listen on, instead of a host and a port",
                      .on_command_line = false,
                      .at_top = false},
                     [](const Target& t) -> auto& { return t.listener.unix_path; }));
  all.push_back(make_unix_mode());
  all.push_back(flag({.key = "redirect",
                      .help = "Without TLS: answer every request with a redirect to https",
                      .on_command_line = false,
                      .at_top = false},
                     [](const Target& t) -> auto& { return t.listener.redirect; }));
  all.push_back(flag({.key = "proxy-protocol",
                      .help = "Each connection begins with a header of PROXY protocol v1 or v2",
                      .on_command_line = false,
                      .at_top = false},
                     [](const Target& t) -> auto& { return t.listener.proxy_protocol; }));
}

void add_scheme_options(std::vector<Option>& all) {
  all.push_back(make_threads());
  all.push_back(choice(
      {.key = "scheme",
       .usual = "reuseport",
       .help = "How connections are accepted and served; help lists all"},
      [](const Target& t) -> auto& { return t.program.server.scheme; }, scheme_names()));
  all.push_back(choice(
      {.key = "io", .usual = "auto", .help = "I/O engine: auto, epoll, io_uring or blocking"},
      [](const Target& t) -> auto& { return t.program.server.io; }, engine_names()));
  all.push_back(number({.key = "connections-max",
                        .range = {1, connections_max},
                        .usual = "by descriptors; 512 with a thread each",
                        .help = "Maximum open connections"},
                       [](const Target& t) -> auto& { return t.program.server.connections_max; }));
  all.push_back(number(
      {.key = "connections-per-address",
       .range = {1, connections_max},
       .usual = "half of all",
       .help = "Maximum open connections from one address"},
      [](const Target& t) -> auto& { return t.program.server.connections_per_address_max; }));
  all.push_back(make_queue_size());
  all.push_back(make_when_full());
  all.push_back(make_sendfile());
  all.push_back(choice(
      {.key = "h2",
       .usual = "native",
       .help = "HTTP/2 implementation: native or nghttp2 (libnghttp2)"},
      [](const Target& t) -> auto& { return t.program.server.http2; },
      Names<Http2Implementation>{{"native", Http2Implementation::native},
                                 {"nghttp2", Http2Implementation::nghttp2}}));
  all.push_back(choice(
      {.key = "tls-records",
       .usual = "own",
       .help = "Records of TLS 1.3 after the handshake: own or openssl"},
      [](const Target& t) -> auto& { return t.program.server.tls_record_layer; },
      Names<TlsRecordLayer>{{"own", TlsRecordLayer::own}, {"openssl", TlsRecordLayer::openssl}}));
  all.push_back(make_ticket_key());
}

void add_limit_options(std::vector<Option>& all) {
  all.push_back(make_memory());
  all.push_back(number(
      {.key = "requests-per-connection",
       .range = {0, requests_max},
       .usual = "0",
       .help = "Close a connection after this many requests; 0: never"},
      [](const Target& t) -> auto& { return t.program.server.limits.requests_per_connection; }));
  all.push_back(
      duration_ms({.key = "idle-timeout",
                   .usual = "1m",
                   .help = "How long a connection may wait for a request"},
                  [](const Target& t) -> auto& { return t.program.server.limits.idle_ms_max; }));
  all.push_back(duration_ms(
      {.key = "head-timeout", .usual = "15s", .help = "How long the head of a request may take"},
      [](const Target& t) -> auto& { return t.program.server.limits.head_ms_max; }));
  all.push_back(duration_ms(
      {.key = "body-timeout",
       .usual = "1m",
       .help = "How long a client may pause while it sends a body"},
      [](const Target& t) -> auto& { return t.program.server.limits.body_idle_ms_max; }));
  all.push_back(duration_ms(
      {.key = "send-timeout",
       .usual = "1m",
       .help = "How long a client may pause while it reads a response"},
      [](const Target& t) -> auto& { return t.program.server.limits.send_idle_ms_max; }));
  all.push_back(duration({.key = "drain-timeout",
                          .usual = "10s",
                          .help = "How long requests may take once the server stops"},
                         [](const Target& t) -> auto& { return t.program.server.drain_limit; }));
}

void add_log_options(std::vector<Option>& all) {
  all.push_back(make_access_log());
  all.push_back(choice(
      {.key = "log-format",
       .usual = "text",
       .help = "Lines of the access log: text (combined format) or json"},
      [](const Target& t) -> auto& { return t.program.log.format; },
      Names<LogFormat>{{"text", LogFormat::text}, {"json", LogFormat::json}}));
  all.push_back(
      toggle({.key = "log-queries", .usual = "on", .help = "Log the queries of requests, too"},
             [](const Target& t) -> auto& { return t.program.log.queries; }));
  all.push_back(make_log_rotate());
  all.push_back(make_log_keep());
  all.push_back(
      file({.key = "error-log", .usual = "standard error", .help = "Log errors to a file"},
           [](const Target& t) -> auto& { return t.program.log.error_log; }));
}

void add_operation_options(std::vector<Option>& all) {
  all.push_back(make_admin());
  all.push_back(text({.key = "admin-token",
                      .value = "TEXT",
                      .help = "Token that --admin asks for; needed unless it is local",
                      .secret = true},
                     [](const Target& t) -> auto& { return t.program.admin.token; }));
  all.push_back(make_trace_endpoint());
  all.push_back(make_trace_sample());
  all.push_back(make_trusted_proxy());
  add_acme_options(all);
  all.push_back(
      file({.key = "pid-file", .help = "Keep the process id in a file, for h2server upgrade"},
           [](const Target& t) -> auto& { return t.program.pid_file; }));
  all.push_back(duration({.key = "shutdown-delay",
                          .usual = "0s",
                          .help = "Go on for so long when told to stop, for load balancers"},
                         [](const Target& t) -> auto& { return t.program.shutdown_delay; }));
  all.push_back(flag({.key = "yes", .help = "Serve / or your home directory without asking back"},
                     [](const Target& t) -> auto& { return t.program.serve_all; }));
  Option config = make_file_option("config", "Read options from a TOML file");
  config.in_file = false;
  all.push_back(std::move(config));
  Option include = make_file_option("include", "Other files to read, or patterns such as *.toml");
  include.repeatable = true;
  include.on_command_line = false;
  all.push_back(std::move(include));
}

}  // namespace h2server::config
