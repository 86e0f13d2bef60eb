#include "app/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <filesystem>
#include <vector>

#include "server/scheme.h"

namespace h2server::app {

namespace {

constexpr const char* footer =
    "Routes: GET /... the root; with --upload-dir also GET /files (a page with a form),\n"
    "GET /files/NAME and POST /files (multipart/form-data).\n"
    "A configuration file holds the long names: threads = 4";

constexpr const char* threads_option = "--threads";
constexpr const char* connections_option = "--connections-max";
constexpr const char* queue_option = "--queue-size";
constexpr const char* when_full_option = "--when-full";

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
  app.add_option(connections_option, server.connections_max,
                 "With a thread or a process for each connection: how many at once")
      ->type_name("NUM")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
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
      ->capture_default_str();
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
  app.add_option("-c,--cert", server.certificate_file, "TLS certificate chain, PEM")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("-k,--key", server.key_file, "TLS private key, PEM")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_flag("--self-signed", options.self_signed,
               "Make a self-signed certificate when --cert and --key do not exist");
  app.add_flag("--h2c", server.cleartext,
               "No TLS: HTTP/1.1 and HTTP/2 with prior knowledge on one port");
  app.add_option("--upload-dir", options.upload_directory,
                 "Take uploads into this directory, which is made when missing")
      ->type_name("DIR");
  app.add_flag("--upload-overwrite", options.upload_overwrite,
               "An upload replaces an existing file instead of failing with 409");
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

// That the scheme has the engine, and a use for the options that were given.
Result<void, Stop> check_scheme(const CLI::App& app, const ServerOptions& server) {
  if (server.scheme == "help") return std::unexpected(Stop{0, server::scheme_table()});
  const server::SchemeKind& kind = *server::find_scheme(server.scheme);
  const Result<void, std::string> possible = server::check_engine(kind, server.io);
  if (!possible) return std::unexpected(wrong(possible.error() + "; see h2server --scheme help"));
  const auto given = [&app](const char* option) { return app.get_option(option)->count() > 0; };
  if (given(connections_option) && !kind.per_connection) {
    return std::unexpected(
        wrong(fmt::format("{} is for thread-per-connection and process-per-connection, not for {}",
                          connections_option, kind.name)));
  }
  for (const char* const option : {queue_option, when_full_option}) {
    if (!given(option) || kind.queues) continue;
    return std::unexpected(
        wrong(fmt::format("{} is for buffered-pool, not for {}", option, kind.name)));
  }
  return {};
}

Result<void, Stop> check(const Options& options) {
  const ServerOptions& server = options.server;
  if (!std::filesystem::is_directory(server.root)) {
    return std::unexpected(
        wrong("the root " + server.root + " is no directory; name the one to serve with --root"));
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
  if (options.upload_overwrite && options.upload_directory.empty()) {
    return std::unexpected(wrong("--upload-overwrite needs --upload-dir"));
  }
  return {};
}

}  // namespace

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
  const Result<void, Stop> checked = check(options);
  if (!checked) return std::unexpected(checked.error());
  return options;
}

}  // namespace h2server::app
