#include "app/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

#include "server/scheme.h"

namespace h2server::app {

namespace {

constexpr const char* footer =
    "Routes: GET /... the root; with --upload-dir also GET /files (a page with a form),\n"
    "GET /files/NAME and POST /files (multipart/form-data).\n"
    "A configuration file holds the long names: threads = 4";

constexpr const char* threads_option = "--threads";
constexpr const char* queue_option = "--queue-size";
constexpr const char* when_full_option = "--when-full";
constexpr const char* certificate_option = "--cert";
constexpr const char* key_option = "--key";
constexpr std::int64_t requests_max = 1'000'000'000;  // of a connection: more is no limit
constexpr const char* overwrite_option = "--upload-overwrite";
constexpr const char* file_size_option = "--upload-max";
constexpr const char* total_size_option = "--upload-total";
constexpr const char* reserve_option = "--upload-reserve";

std::vector<std::string> scheme_names() {
  std::vector<std::string> names;
  for (const server::SchemeKind& kind : server::scheme_kinds()) names.emplace_back(kind.name);
  names.emplace_back("help");
  return names;
}

std::vector<std::string> engine_names() {
  const auto names = server::engine_names();
  return {names.begin(), names.end()};
}

// Who accepts, who serves, how many at once.
void declare_schemes(CLI::App& app, ServerOptions& server) {
  app.add_option(std::string("-n,") + threads_option, server.threads,
                 "Worker threads [1, or 64 in a pool]")
      ->type_name("NUM")
      ->check(CLI::Range(1, 1024));
  app.add_option("--scheme", server.scheme, "Who accepts and who serves; help prints the table")
      ->type_name("NAME")
      ->check(CLI::IsMember(scheme_names()).description(""))
      ->capture_default_str();
  app.add_option("--io", server.io, "I/O engine: auto, epoll, io_uring or blocking")
      ->type_name("NAME")
      ->check(CLI::IsMember(engine_names()).description(""))
      ->capture_default_str();
  app.add_option("--connections-max", server.connections_max,
                 "Connections at once [by descriptors; with a thread each 512]")
      ->type_name("NUM")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--connections-per-address", server.connections_per_address_max,
                 "Connections at once from one address [half]")
      ->type_name("NUM")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option(queue_option, server.queue_size,
                 "With buffered-pool: connections that wait for a thread")
      ->type_name("NUM")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option_function<std::string>(
         when_full_option,
         [&server](const std::string& choice) { server.refuse_when_full = choice == "refuse"; },
         "With buffered-pool: when full, wait or refuse [wait]")
      ->type_name("NAME")
      ->check(CLI::IsMember({"wait", "refuse"}).description(""));
  app.add_option("--requests-per-connection", server.requests_per_connection,
                 "Close a connection after so many; 0: never")
      ->type_name("NUM")
      ->check(CLI::Range(std::int64_t{0}, requests_max))
      ->capture_default_str();
}

// "500", "500k", "2 GB" are bytes times powers of 1000, "2GiB" and "2Gi" of 1024. Writes the bytes
// in place of `text`; returns what is wrong with it, or nothing.
std::string write_as_bytes(std::string& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  std::uint64_t bytes = 0;
  const bool counted = std::from_chars(text.data(), text.data() + end, bytes).ec == std::errc();
  std::string unit = text.substr(std::min(text.find_first_not_of(' ', end), text.size()));
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  if (unit.ends_with('b')) unit.pop_back();
  const bool binary = unit.size() == 2 && unit.ends_with('i');
  if (binary) unit.pop_back();
  constexpr std::string_view prefixes = "kmgt";
  const std::size_t power = unit.empty() ? 0 : prefixes.find(unit) + 1;
  if (!counted || unit.size() > 1 || (!unit.empty() && power == 0) || (binary && unit.empty())) {
    return fmt::format("{} is no size: 500, 500k, 2G and 2GiB are", text);
  }
  for (std::size_t i = 0; i < power; ++i) {
    if (__builtin_mul_overflow(bytes, binary ? 1024U : 1000U, &bytes)) {
      return fmt::format("{} is more than can be counted", text);
    }
  }
  text = std::to_string(bytes);
  return {};
}

// Where files go that clients send, and how much of them. A size has a unit or none: 500k, 2GiB.
void declare_uploads(CLI::App& app, Options& options) {
  app.add_option("--upload-dir", options.upload_directory,
                 "Take uploads into this directory, which is made when missing")
      ->type_name("DIR");
  app.add_flag(overwrite_option, options.uploads.overwrite,
               "An upload replaces an existing file instead of failing with 409");
  const CLI::Validator size(write_as_bytes, "");
  const auto add_size = [&](const char* name, auto& value, const char* description) {
    app.add_option(name, value, description)->type_name("SIZE")->transform(size);
  };
  add_size(file_size_option, options.uploads.file_bytes_max,
           "Largest file that is taken: 500k, 2GiB; 0: any [0]");
  add_size(total_size_option, options.uploads.directory_bytes_max,
           "Most that all uploaded files may have together; 0: any [0]");
  add_size(reserve_option, options.uploads.reserve_bytes,
           "Space on the disk that stays free [1GiB, at most a twentieth]");
}

void declare(CLI::App& app, Options& options) {
  ServerOptions& server = options.server;
  app.add_option("root,-r,--root", server.root, "Directory to serve")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("-p,--port", server.port, "Port to listen on; 0 takes any free one")
      ->type_name("NUM")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--host", server.host, "Name or address to listen on; all when not given")
      ->type_name("HOST");
  app.add_option(std::string("-c,") + certificate_option, server.certificate_file,
                 "TLS certificate chain, PEM")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option(std::string("-k,") + key_option, server.key_file, "TLS private key, PEM")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_flag("--self-signed", options.self_signed,
               "Make a self-signed certificate when --cert and --key do not exist");
  app.add_flag("--h2c", server.cleartext,
               "No TLS: HTTP/1.1 and HTTP/2 with prior knowledge on one port");
  declare_uploads(app, options);
  declare_schemes(app, server);
  app.add_flag("--sendfile", server.send_files,
               "Large files by sendfile over plain HTTP/1.1, if nobody changes them");
  app.add_option("--h2", server.h2, "HTTP/2 by our own engine (native) or by libnghttp2 (nghttp2)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"native", "nghttp2"}).description(""))
      ->capture_default_str();
  app.set_config("--config", "", "Read options from a TOML file")->type_name("FILE");
  app.allow_config_extras(false);
  app.set_version_flag("--version", "h2server " H2SERVER_VERSION);
  app.footer(footer);
}

Stop wrong(std::string text) { return {2, std::move(text)}; }

// Whether `file` lies below `directory`, so that serving the one would give the other away.
bool lies_below(const std::string& file, const std::string& directory) {
  std::error_code failure;
  const auto inner = std::filesystem::weakly_canonical(file, failure);
  const auto outer = std::filesystem::weakly_canonical(directory, failure);
  const auto relative = inner.lexically_relative(outer);
  return !failure && !relative.empty() && *relative.begin() != "..";
}

bool given(const CLI::App& app, const char* option) { return app.get_option(option)->count() > 0; }

// An option about uploads has a use only where there are any.
Result<void, Stop> check_uploads(const CLI::App& app, const Options& options) {
  if (!options.upload_directory.empty()) return {};
  for (const char* const option :
       {overwrite_option, file_size_option, total_size_option, reserve_option}) {
    if (!given(app, option)) continue;
    return std::unexpected(wrong(fmt::format("{} needs --upload-dir", option)));
  }
  return {};
}

// That the scheme has the engine, and a use for the options that were given.
Result<void, Stop> check_scheme(const CLI::App& app, const ServerOptions& server) {
  if (server.scheme == "help") return std::unexpected(Stop{0, server::scheme_table()});
  const server::SchemeKind& kind = *server::find_scheme(server.scheme);
  const Result<void, std::string> possible = server::check_engine(kind, server.io);
  if (!possible) return std::unexpected(wrong(possible.error() + "; see h2server --scheme help"));
  if (given(app, threads_option) && kind.per_connection) {
    return std::unexpected(wrong(fmt::format("{} has no effect beside --scheme {}, where "
                                             "--connections-max limits the connections; leave it "
                                             "out",
                                             threads_option, kind.name)));
  }
  for (const char* const option : {queue_option, when_full_option}) {
    if (!given(app, option) || kind.queues) continue;
    return std::unexpected(
        wrong(fmt::format("{} is for buffered-pool, not for {}", option, kind.name)));
  }
  return {};
}

// That those options have an effect that depend on whether there is TLS.
Result<void, Stop> check_tls(const CLI::App& app, const Options& options) {
  if (!options.server.cleartext) {
    if (!options.server.send_files) return {};
    return std::unexpected(wrong("--sendfile has no effect without --h2c, since TLS encrypts what "
                                 "it sends; leave it out"));
  }
  const char* idle = nullptr;
  if (given(app, certificate_option)) idle = certificate_option;
  if (given(app, key_option)) idle = key_option;
  if (options.self_signed) idle = "--self-signed";
  if (idle == nullptr) return {};
  return std::unexpected(wrong(
      fmt::format("{} has no effect beside --h2c, which serves without TLS; leave one out", idle)));
}

Result<void, Stop> check(const Options& options) {
  const ServerOptions& server = options.server;
  std::error_code failure;
  if (!std::filesystem::is_directory(server.root, failure)) {
    const bool missing = !failure || failure == std::errc::no_such_file_or_directory;
    const std::string reason = missing ? "it is no directory" : failure.message();
    return std::unexpected(wrong(
        fmt::format("can't serve the root {}: {}; name another with --root", server.root, reason)));
  }
  if (!server.cleartext && lies_below(server.key_file, server.root)) {
    return std::unexpected(wrong("the private key " + server.key_file + " lies below the root " +
                                 server.root +
                                 " and would be served; move it, or name another "
                                 "with --key"));
  }
  if (!server.cleartext && !options.upload_directory.empty() &&
      lies_below(server.key_file, options.upload_directory)) {
    return std::unexpected(wrong("the private key " + server.key_file +
                                 " lies below the upload directory " + options.upload_directory +
                                 " and would be served; move it, or name another with --key"));
  }
  if (options.upload_directory.empty()) return {};
  if (lies_below(options.upload_directory, server.root) ||
      lies_below(server.root, options.upload_directory)) {
    return std::unexpected(overlapping(options));
  }
  return {};
}

}  // namespace

Stop overlapping(const Options& options) {
  return wrong(fmt::format("the root {} and the upload directory {} lie one in the other, so that "
                           "uploads would be served as pages of the site; name another with "
                           "--upload-dir",
                           options.server.root, options.upload_directory));
}

Result<Options, Stop> parse_options(int argc, char** argv) {
  CLI::App app("Serves a directory and takes uploads over HTTP/1.1 and HTTP/2.", "h2server");
  Options options;
  options.server.root = "./www";
  declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return std::unexpected(Stop{0, app.help()});
  } catch (const CLI::CallForVersion& version) {
    return std::unexpected(Stop{0, std::string(version.what()) + "\n"});
  } catch (const CLI::ConfigError& error) {
    // CLI11 calls every configuration file INI.
    std::string text = error.what();
    constexpr std::string_view known = "INI was not able to parse ";
    if (text.starts_with(known)) {
      text = "the configuration file names no option: " + text.substr(known.size());
    }
    return std::unexpected(wrong(text + "; see h2server --help"));
  } catch (const CLI::Error& error) {
    return std::unexpected(wrong(std::string(error.what()) + "; see h2server --help"));
  }
  const Result<void, Stop> fitting = check_scheme(app, options.server);
  if (!fitting) return std::unexpected(fitting.error());
  const Result<void, Stop> effective = check_tls(app, options);
  if (!effective) return std::unexpected(effective.error());
  const Result<void, Stop> used = check_uploads(app, options);
  if (!used) return std::unexpected(used.error());
  const Result<void, Stop> checked = check(options);
  if (!checked) return std::unexpected(checked.error());
  return options;
}

}  // namespace h2server::app
