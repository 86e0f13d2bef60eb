#include "app/option_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "app/state_directory.h"
#include "server/scheme.h"

namespace h2server::app {

namespace {

// Checks that upload options are given only with --upload-dir.
Result<void, Stop> check_uploads(const IsGiven& given, const Options& options) {
  if (!options.upload_directory.empty()) return {};
  for (const char* const option :
       {overwrite_option, file_size_option, total_size_option, reserve_option}) {
    if (!given(option)) continue;
    return std::unexpected(wrong(fmt::format("{} needs --upload-dir", option)));
  }
  return {};
}

// Checks that the scheme supports the engine and the given options.
Result<void, Stop> check_scheme(const IsGiven& given, const ServerOptions& server) {
  const server::SchemeKind& kind = server::kind_of(server.scheme);
  if (!server::runs_on(kind, server.io)) {
    return std::unexpected(
        wrong(fmt::format("{} {} does not run on {} {}; see h2server --scheme help", scheme_option,
                          kind.name, engine_option, server::name_of(server.io))));
  }
  if (given(threads_option) && kind.per_connection) {
    return std::unexpected(wrong(fmt::format("{} has no effect beside --scheme {}, where "
                                             "--connections-max limits the connections; leave it "
                                             "out",
                                             threads_option, kind.name)));
  }
  for (const char* const option : {queue_option, when_full_option}) {
    if (!given(option) || kind.queues) continue;
    return std::unexpected(
        wrong(fmt::format("{} is for buffered-pool, not for {}", option, kind.name)));
  }
  return {};
}

// Checks that the given options have an effect with, or without, TLS.
Result<void, Stop> check_tls(const IsGiven& given, const Options& options) {
  if (!options.server.cleartext) {
    if (!given(sendfile_option)) return {};
    return std::unexpected(wrong("--sendfile has no effect without --h2c, since TLS encrypts what "
                                 "it sends; leave it out"));
  }
  const char* idle = nullptr;
  if (given(certificate_option)) idle = certificate_option;
  if (given(key_option)) idle = key_option;
  if (given(self_signed_option)) idle = self_signed_option;
  if (idle == nullptr) return {};
  return std::unexpected(wrong(
      fmt::format("{} has no effect beside --h2c, which serves without TLS; leave one out", idle)));
}

// Returns true if the server answers with files of that path below the root.
bool is_served(const std::string& file, const Options& options) {
  if (!lies_below(file, options.server.root)) return false;
  if (options.files.hidden) return true;
  const auto relative = std::filesystem::relative(file, options.server.root);
  const auto is_hidden = [](const std::filesystem::path& part) {
    return part.string().starts_with('.');
  };
  return std::ranges::none_of(relative, is_hidden);
}

// Names the folder whose files nobody wants to serve by mistake; empty: it is another one.
std::string precious(const std::string& root) {
  std::error_code failure;
  if (std::filesystem::equivalent(root, "/", failure)) return "the whole machine";
  const std::string home = home_directory();
  const bool is_home = !home.empty() && std::filesystem::equivalent(root, home, failure);
  return is_home ? "all files of " + home : std::string();
}

Result<void, Stop> check_root(const Options& options) {
  const ServerOptions& server = options.server;
  std::error_code failure;
  if (!std::filesystem::is_directory(server.root, failure)) {
    const bool missing = !failure || failure == std::errc::no_such_file_or_directory;
    const std::string reason = missing ? "it is not a directory" : failure.message();
    return std::unexpected(wrong(
        fmt::format("can't serve the root {}: {}; name another with --root", server.root, reason)));
  }
  if (const std::string all = precious(server.root); !all.empty() && !options.serve_all) {
    return std::unexpected(wrong(fmt::format(
        "the root {} would offer {} to everyone who reaches this port; name a folder in it, or add "
        "{} if that is what you want",
        server.root, all, all_option)));
  }
  // The usual key is worth a look even if it is not the one in use.
  const bool files = options.certificate != CertificateSource::own ||
                     std::filesystem::exists(server.key_file, failure);
  if (!server.cleartext && files && is_served(server.key_file, options)) {
    return std::unexpected(wrong("the private key " + server.key_file + " lies below the root " +
                                 server.root +
                                 " and would be served; move it, or name another "
                                 "with --key"));
  }
  if (!server.cleartext && files && !options.upload_directory.empty() &&
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

bool lies_below(const std::string& file, const std::string& directory) {
  std::error_code failure;
  // Made absolute first: a relative path whose first part does not exist would stay relative.
  const auto inner = std::filesystem::weakly_canonical(std::filesystem::absolute(file), failure);
  const auto outer =
      std::filesystem::weakly_canonical(std::filesystem::absolute(directory), failure);
  const auto relative = inner.lexically_relative(outer);
  return !failure && !relative.empty() && *relative.begin() != "..";
}

Stop wrong(std::string text) { return {2, std::move(text)}; }

void settle(Options& options, const IsGiven& given) {
  ServerOptions& server = options.server;
  options.port_given = given("--port");
  if (!options.port_given) server.port = server.cleartext ? 8080 : 8443;
  if (options.certificate == CertificateSource::self_signed) return;
  if (given(certificate_option) || given(key_option))
    options.certificate = CertificateSource::files;
}

Result<void, Stop> check(const Options& options, const IsGiven& given, Places places) {
  Result<void, Stop> checked = check_scheme(given, options.server);
  if (checked) checked = check_tls(given, options);
  if (checked) checked = check_uploads(given, options);
  if (checked && places == Places::must_fit) checked = check_root(options);
  return checked;
}

Stop overlapping(const Options& options) {
  return wrong(fmt::format("the root {} and the upload directory {} overlap, so that "
                           "uploads would be served as pages of the site; name another with "
                           "--upload-dir",
                           options.server.root, options.upload_directory));
}

}  // namespace h2server::app
