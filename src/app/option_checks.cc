#include "app/option_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "app/state_directory.h"
#include "content/static_files.h"
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
  const bool named = given(certificate_option) || given(key_option) || given(self_signed_option);
  if (given(local_authority_option) && named) {
    return std::unexpected(
        wrong("--local-ca makes its own certificate; leave out --cert, --key and "
              "--self-signed"));
  }
  if (!options.server.cleartext) {
    if (!given(sendfile_option)) return {};
    return std::unexpected(wrong("--sendfile has no effect without --h2c, since TLS encrypts what "
                                 "it sends; leave it out"));
  }
  const char* idle = nullptr;
  if (given(certificate_option)) idle = certificate_option;
  if (given(key_option)) idle = key_option;
  for (const char* const option : {self_signed_option, local_authority_option, hsts_option}) {
    if (given(option)) idle = option;
  }
  if (idle == nullptr) return {};
  return std::unexpected(wrong(
      fmt::format("{} has no effect beside --h2c, which serves without TLS; leave one out", idle)));
}

// Returns true if the server answers with files of that path, below the root or as uploads.
bool is_served(const std::string& file, const Options& options) {
  if (!options.upload_directory.empty() && lies_below(file, options.upload_directory)) return true;
  if (!lies_below(file, options.server.root)) return false;
  std::error_code failure;
  const auto full = std::filesystem::weakly_canonical(std::filesystem::absolute(file), failure);
  const auto root =
      std::filesystem::weakly_canonical(std::filesystem::absolute(options.server.root), failure);
  return options.files.hidden || !content::is_hidden(full.lexically_relative(root).string());
}

// Refuses to serve what must stay secret.
Result<void, Stop> check_secrets(const Options& options) {
  std::vector<std::pair<std::string_view, std::string>> secrets;
  for (const ProtectedPath& area : options.site.protected_paths) {
    secrets.emplace_back("the users of --auth in", area.user_file);
  }
  if (!options.server.cleartext) {
    // The usual key is worth a look even if it is not the one in use.
    secrets.emplace_back("the private key", options.server.key_file);
    if (const auto state = state_directory_name()) {
      secrets.emplace_back("the private key", *state + "/self-signed/server.key");
      secrets.emplace_back("the private key", *state + "/ca/server.key");
      secrets.emplace_back("the private key", *state + "/ca/ca.key");
    }
  }
  const bool makes = options.certificate == CertificateSource::self_signed;
  for (const auto& [what, file] : secrets) {
    const bool in_use = file == options.server.key_file &&
                        (makes || options.certificate == CertificateSource::files);
    const bool own =
        options.certificate == CertificateSource::own && file.ends_with("ned/server.key");
    const bool issued = options.certificate == CertificateSource::local_authority;
    std::error_code failure;
    const bool exists = in_use || own || issued || std::filesystem::exists(file, failure);
    if (!exists || !is_served(file, options)) continue;
    const bool upload =
        !options.upload_directory.empty() && lies_below(file, options.upload_directory);
    return std::unexpected(wrong(fmt::format(
        "{} {} lies below the {} {} and would be served; move it, or name another with --key", what,
        file, upload ? "upload directory" : "root",
        upload ? options.upload_directory : options.server.root)));
  }
  return {};
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
  if (Result<void, Stop> secrets = check_secrets(options); !secrets) return secrets;
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
  if (options.certificate != CertificateSource::own) return;
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
