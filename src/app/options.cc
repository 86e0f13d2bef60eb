#include "app/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "app/option_checks.h"
#include "app/scheme_table.h"
#include "base/text.h"
#include "http/media_type.h"
#include "server/scheme.h"

namespace h2server::app {

namespace {

constexpr const char* purpose = "Serves a directory and takes uploads over HTTP/1.1 and HTTP/2.";
constexpr const char* footer =
    "Routes: GET /... serves the root. With --upload-dir also GET /files (a page with a form),\n"
    "GET /files/NAME and POST /files (multipart/form-data).\n"
    "A configuration file uses the long option names: threads = 4";

constexpr const char* port_option = "-p,--port";
constexpr unsigned threads_max = 1024;
constexpr std::int64_t requests_max = 1'000'000'000;  // more is as good as no limit
// The last 4 MiB of a file are not sent by sendfile(), so smaller files gain little.
constexpr std::uint64_t send_file_bytes_min = 16 * 1024 * 1024;

// Declares an option whose values have names. Its default is the present value.
template <class T>
CLI::Option* add_choice(CLI::App& app, const char* option, T& value,
                        const std::map<std::string, T>& names, const char* description) {
  std::vector<std::string> all;
  std::string present;
  for (const auto& [name, one] : names) {
    all.push_back(name);
    if (one == value) present = name;
  }
  return app
      .add_option_function<std::string>(
          option, [&value, names](const std::string& name) { value = names.at(name); }, description)
      ->type_name("NAME")
      ->check(CLI::IsMember(std::move(all)).description(""))
      ->default_str(present);
}

std::string check_file_name(const std::string& name) {
  const bool valid = !name.empty() && name.find('/') == name.npos && name != "." && name != "..";
  return valid ? std::string() : fmt::format("\"{}\" is not the name of a file", name);
}

// Writes the number of processors in place of "auto".
std::string count_processors(std::string& text) {
  if (text == "auto") text = std::to_string(std::min(processors_allowed(), threads_max));
  return {};
}

// Who accepts, who serves, how many at once. `scheme` becomes empty for "help".
void declare_schemes(CLI::App& app, ServerOptions& server, std::optional<ServerScheme>& scheme) {
  app.add_option(std::string("-n,") + threads_option, server.threads,
                 "Worker threads; auto: one per processor [1, or 64 in a pool]")
      ->type_name("NUM")
      ->transform(CLI::Validator(count_processors, ""))
      ->check(CLI::Range(1U, threads_max));
  std::map<std::string, std::optional<ServerScheme>> schemes{{"help", std::nullopt}};
  for (const auto& [name, one] : scheme_names()) schemes.emplace(name, one);
  add_choice(app, scheme_option, scheme, schemes,
             "How connections are accepted and served; help lists all");
  add_choice(app, engine_option, server.io, engine_names(),
             "I/O engine: auto, epoll, io_uring or blocking");
  app.add_option("--connections-max", server.connections_max,
                 "Maximum open connections [by descriptors; 512 with a thread each]")
      ->type_name("NUM")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--connections-per-address", server.connections_per_address_max,
                 "Maximum open connections from one address [half of all]")
      ->type_name("NUM")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option(queue_option, server.queue_size,
                 "buffered-pool: connections that may wait for a thread")
      ->type_name("NUM")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option_function<std::string>(
         when_full_option,
         [&server](const std::string& choice) { server.refuse_when_full = choice == "refuse"; },
         "buffered-pool: wait or refuse when the queue is full [wait]")
      ->type_name("NAME")
      ->check(CLI::IsMember({"wait", "refuse"}).description(""));
  app.add_option("--requests-per-connection", server.limits.requests_per_connection,
                 "Close a connection after this many requests; 0: never")
      ->type_name("NUM")
      ->check(CLI::Range(std::int64_t{0}, requests_max))
      ->capture_default_str();
}

// Replaces `text` by its value in bytes. "500", "500k" and "2 GB" use powers of 1000, "2GiB" and
// "2Gi" powers of 1024. Returns an error text, or an empty string.
std::string write_as_bytes(std::string& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  std::uint64_t bytes = 0;
  const bool counted = std::from_chars(text.data(), text.data() + end, bytes).ec == std::errc();
  std::string unit = text.substr(std::min(text.find_first_not_of(' ', end), text.size()));
  std::ranges::transform(unit, unit.begin(), base::to_lower);
  if (unit.ends_with('b')) unit.pop_back();
  const bool binary = unit.size() == 2 && unit.ends_with('i');
  if (binary) unit.pop_back();
  constexpr std::string_view prefixes = "kmgt";
  const std::size_t power = unit.empty() ? 0 : prefixes.find(unit) + 1;
  if (!counted || unit.size() > 1 || (!unit.empty() && power == 0) || (binary && unit.empty())) {
    return fmt::format("{} is not a size; use, for example, 500, 500k, 2G or 2GiB", text);
  }
  for (std::size_t i = 0; i < power; ++i) {
    if (__builtin_mul_overflow(bytes, binary ? 1024U : 1000U, &bytes)) {
      return fmt::format("{} is more than can be counted", text);
    }
  }
  text = std::to_string(bytes);
  return {};
}

// Options on uploads. A unit is optional in sizes: 500k, 2GiB.
void declare_uploads(CLI::App& app, Options& options) {
  app.add_option("--upload-dir", options.upload_directory,
                 "Store uploads in this directory; created if missing")
      ->type_name("DIR");
  app.add_flag(overwrite_option, options.uploads.overwrite,
               "Replace existing files instead of failing with 409");
  const CLI::Validator size(write_as_bytes, "");
  const auto add_size = [&](const char* name, auto& value, const char* description) {
    app.add_option(name, value, description)->type_name("SIZE")->transform(size);
  };
  add_size(file_size_option, options.uploads.file_bytes_max,
           "Largest file to accept: 500k, 2GiB; 0: no limit [0]");
  add_size(total_size_option, options.uploads.directory_bytes_max,
           "Maximum total size of uploaded files; 0: no limit [0]");
  add_size(reserve_option, options.uploads.reserve_bytes,
           "Disk space to keep free [1GiB, at most a twentieth]");
}

// "gcode=text/plain". Throws CLI::ValidationError.
std::pair<std::string, std::string> media_type_of(const std::string& text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  std::pair<std::string, std::string> type{text.substr(0, equals),
                                           text.substr(std::min(equals + 1, text.size()))};
  std::ranges::transform(type.first, type.first.begin(), base::to_lower);
  const auto checked = http::MediaTypes::make({type});
  if (checked) return type;
  throw CLI::ValidationError(
      "--type", fmt::format("{} is not EXT=TYPE, such as gcode=text/plain: {}", text,
                            equals == text.size() ? "there is no '='" : checked.error()));
}

// Declares an option that may be given again. `add` gets each value.
template <class Add>
void add_each(CLI::App& app, const char* name, Add add, const char* type, const char* text) {
  app.add_option_function<std::vector<std::string>>(
         name,
         [add](const std::vector<std::string>& values) {
           for (const std::string& value : values) add(value);
         },
         text)
      ->type_name(type)
      ->expected(1)
      ->allow_extra_args(false)  // what follows may be the root
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

// What is served of the root.
void declare_files(CLI::App& app, FilesOptions& files) {
  app.add_flag_callback(
      "--no-listing", [&files] { files.listing = false; },
      "Answer 404 for a directory without index file");
  app.add_flag("--hidden", files.hidden, "Serve and list names that begin with a dot, too");
  app.add_option("--index", files.index,
                 "Files that stand for their directory, the first one first")
      ->type_name("NAME")
      ->delimiter(',')
      ->allow_extra_args(false)  // what follows may be the root
      ->check(CLI::Validator(check_file_name, ""))
      ->capture_default_str();
  app.add_flag_callback(
      "--spa", [&files] { files.fallback = "index.html"; },
      "Send browsers /index.html in place of a missing page");
  add_choice(app, "--compress", files.compress, {{"on", true}, {"off", false}},
             "Compress text that is sent, or send FILE.br, .zst and .gz beside it");
  const auto add_type = [&files](const std::string& text) {
    auto [extension, type] = media_type_of(text);
    files.types.insert_or_assign(std::move(extension), std::move(type));
  };
  add_each(app, "--type", add_type, "EXT=TYPE",
           "Media type of files with that extension: gcode=text/plain");
}

// "/**.css Cache-Control: max-age=3600". Throws CLI::ValidationError.
HeaderRule header_rule_of(const std::string& text) {
  const std::size_t space = text.find(' ');
  const std::size_t colon = text.find(':', space);
  if (!text.starts_with('/') || space == text.npos || colon == text.npos) {
    throw CLI::ValidationError(
        "--header", fmt::format("{} is no rule; use, for example, \"/**.css Cache-Control: "
                                "max-age=3600\", or no value to remove a field",
                                text));
  }
  const std::string_view value = base::trim(std::string_view(text).substr(colon + 1));
  return {text.substr(0, space), text.substr(space + 1, colon - space - 1), std::string(value)};
}

// "/private=users.htpasswd". Throws CLI::ValidationError.
ProtectedPath protected_path_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (!text.starts_with('/') || equals == text.npos || equals + 1 == text.size()) {
    throw CLI::ValidationError(
        "--auth", fmt::format("{} is not PATH=FILE, such as /private=users.htpasswd", text));
  }
  const std::string path = text.substr(0, equals);
  const std::string segments = path + "/";
  const bool is_literal = path.find_first_of("*?%") == path.npos &&
                          segments.find("/./") == segments.npos &&
                          segments.find("/../") == segments.npos;
  if (!is_literal) {
    throw CLI::ValidationError(
        "--auth", fmt::format("{} would protect nothing: PATH is taken as it is, without *, ? and "
                              "percent-encoding, and with all below it",
                              path));
  }
  return {path, text.substr(equals + 1)};
}

// Fields, passwords, other origins, error pages.
void declare_site(CLI::App& app, SiteOptions& site) {
  add_each(
      app, "--header",
      [&site](const std::string& text) { site.headers.push_back(header_rule_of(text)); }, "RULE",
      "Set a field of responses: \"/**.css Cache-Control: max-age=3600\"");
  add_each(
      app, "--immutable",
      [&site](const std::string& pattern) { site.headers.push_back(immutable_files(pattern)); },
      "PATTERN", "Let browsers keep files with a hash in their name: /assets/**");
  add_each(
      app, auth_option,
      [&site](const std::string& text) { site.protected_paths.push_back(protected_path_of(text)); },
      "PATH=FILE", "Ask for a password or a token below PATH; FILE: see htpasswd -B");
  add_each(
      app, "--cors", [&site](const std::string& origin) { site.cors_origins.push_back(origin); },
      "ORIGIN", "Let pages of that origin read the site; \"*\": all pages");
  app.add_flag(hsts_option, site.hsts,
               "Let browsers use nothing but TLS with this host for a year");
  app.add_option("--error-pages", site.error_pages,
                 "Directory of pages for errors, such as 404.html and 5xx.html")
      ->type_name("DIR");
}

void declare(CLI::App& app, Options& options, std::optional<ServerScheme>& scheme) {
  ServerOptions& server = options.server;
  app.add_option("root,-r,--root", server.root, "Directory to serve [the current one]")
      ->type_name("DIR");
  app.add_flag(all_option, options.serve_all, "Serve / or your home directory without asking back");
  declare_files(app, options.files);
  app.add_option(port_option, server.port,
                 "Port to listen on; 0: any free one [8443 or 8080, or the next]")
      ->type_name("NUM")
      ->check(CLI::Range(0, 65535));
  app.add_option("--host", server.host, "Name or address to listen on [all addresses]")
      ->type_name("HOST");
  app.add_option(std::string("-c,") + certificate_option, server.certificate_file,
                 "TLS certificate chain, PEM [made for you, self-signed]")
      ->type_name("FILE");
  app.add_option(std::string("-k,") + key_option, server.key_file,
                 "TLS private key, PEM [./cert/server.key beside --cert]")
      ->type_name("FILE");
  app.add_flag_callback(
      self_signed_option, [&options] { options.certificate = CertificateSource::self_signed; },
      "Make the files of --cert and --key [in ./cert] if neither exists");
  app.add_flag("--h2c", server.cleartext,
               "No TLS: HTTP/1.1 and HTTP/2 with prior knowledge on one port");
  app.add_flag_callback(
      local_authority_option,
      [&options] { options.certificate = CertificateSource::local_authority; },
      "Use a certificate of your local authority, see h2server trust");
  declare_site(app, options.site);
  declare_uploads(app, options);
  declare_schemes(app, server, scheme);
  app.add_flag_callback(
      sendfile_option, [&server] { server.limits.send_file_bytes_min = send_file_bytes_min; },
      "Send large files by sendfile over plain HTTP/1.1; they must not change");
  add_choice(app, "--h2", server.http2, http2_names(),
             "HTTP/2 implementation: native or nghttp2 (libnghttp2)");
  add_choice(app, "--tls-records", server.tls_record_layer, tls_record_layer_names(),
             "Records of TLS 1.3 after the handshake: own or openssl");
  app.set_config("--config", "", "Read options from a TOML file")->type_name("FILE");
  app.allow_config_extras(false);
  app.set_version_flag("--version", "h2server " H2SERVER_VERSION);
  app.footer(footer);
}

Options usual_options() {
  Options options;
  options.server.root = ".";
  return options;
}

}  // namespace

ProgramText program_text() {
  CLI::App app(purpose, "h2server");
  Options options = usual_options();
  std::optional<ServerScheme> scheme = options.server.scheme;
  declare(app, options, scheme);
  return describe(app);
}

Result<Options, Stop> parse_options(int argc, char** argv, Places places) {
  CLI::App app(purpose, "h2server");
  Options options = usual_options();
  std::optional<ServerScheme> scheme = options.server.scheme;
  declare(app, options, scheme);
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
      text = "unknown option in the configuration file: " + text.substr(known.size());
    }
    return std::unexpected(wrong(text + "; see h2server --help"));
  } catch (const CLI::Error& error) {
    return std::unexpected(wrong(std::string(error.what()) + "; see h2server --help"));
  }
  if (!scheme) return std::unexpected(Stop{0, scheme_table()});
  options.server.scheme = *scheme;
  const IsGiven given = [&app](const char* option) { return app.get_option(option)->count() > 0; };
  settle(options, given);
  const Result<void, Stop> checked = check(options, given, places);
  if (!checked) return std::unexpected(checked.error());
  return options;
}

}  // namespace h2server::app
