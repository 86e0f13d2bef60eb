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

namespace fs = std::filesystem;

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
  if (given(auth_option) && server.scheme == ServerScheme::process_per_connection) {
    return std::unexpected(wrong(fmt::format(
        "{} does not work with {} {}: each process would count a client's wrong guesses anew",
        auth_option, scheme_option, kind.name)));
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

fs::path full_path(const std::string& path) {
  std::error_code failure;
  // Made absolute first: a relative path whose first part does not exist would stay relative.
  return fs::weakly_canonical(fs::absolute(path, failure), failure);
}

// Both paths are full, or empty if they can't be found out.
bool is_within(const fs::path& inner, const fs::path& outer) {
  const fs::path relative = inner.lexically_relative(outer);
  return !relative.empty() && *relative.begin() != "..";
}

bool exists(const std::string& path) {
  std::error_code failure;
  return fs::exists(path, failure);
}

struct Secret {
  std::string_view what;
  std::string path;         // a file, or a directory with all that is in it
  std::string_view remedy;  // empty: that of where it would be served
};

// Returns what must stay secret and exists, or will exist when the server runs.
std::vector<Secret> secrets_of(const Options& options) {
  std::vector<Secret> secrets;
  for (const ProtectedPath& area : options.site.protected_paths) {
    secrets.push_back({"the file of users", area.user_file, "move it"});
  }
  const bool tls = !options.server.cleartext;
  const bool key_named = options.certificate == CertificateSource::files ||
                         options.certificate == CertificateSource::self_signed;
  // The usual key is worth a look even if it is not the one in use.
  if ((tls && key_named) || exists(options.server.key_file)) {
    secrets.push_back({"the private key", options.server.key_file,
                       tls ? "move it, or name another with --key" : "move it"});
  }
  const auto state = state_directory_name();
  if (!state || (!exists(*state) && (!tls || key_named))) return secrets;
  secrets.push_back({"the private keys in", *state, ""});
  // They may be links to another place.
  for (const char* const key : {"self-signed/server.key", "ca/server.key", "ca/ca.key"}) {
    secrets.push_back({"the private key", fmt::format("{}/{}", *state, key), ""});
  }
  return secrets;
}

struct Served {
  std::string_view what;
  const std::string& directory;
  std::string_view remedy;
  bool (*shows)(const fs::path& file, const fs::path& directory, const Options& options);
};

bool root_shows(const fs::path& file, const fs::path& root, const Options& options) {
  if (!is_within(file, root)) return false;
  return options.files.hidden || !content::is_hidden(file.lexically_relative(root).string());
}

// Only files directly in it are served.
bool uploads_show(const fs::path& file, const fs::path& directory, const Options& /*options*/) {
  return file.parent_path() == directory;
}

// Refuses to serve what must stay secret.
Result<void, Stop> check_secrets(const Options& options) {
  std::vector<Served> all{{"root", options.server.root, "name another root", root_shows}};
  if (!options.upload_directory.empty()) {
    all.push_back({"upload directory", options.upload_directory, "name another with --upload-dir",
                   uploads_show});
  }
  for (const Secret& secret : secrets_of(options)) {
    const fs::path target = full_path(secret.path);
    // A link to it shows it as well.
    const fs::path given = "." / fs::path(secret.path);
    const fs::path name = full_path(given.parent_path().string()) / given.filename();
    for (const Served& served : all) {
      const fs::path directory = full_path(served.directory);
      if (!served.shows(target, directory, options) && !served.shows(name, directory, options) &&
          !is_within(directory, target)) {
        continue;
      }
      return std::unexpected(wrong(
          fmt::format("the {} {} would show {} {}; {}", served.what, served.directory, secret.what,
                      secret.path, secret.remedy.empty() ? served.remedy : secret.remedy)));
    }
  }
  return {};
}

// Returns what the root would offer if nobody shares that much on purpose, else an empty string.
std::string describe_wide_root(const std::string& root) {
  std::error_code failure;
  if (fs::equivalent(root, "/", failure)) return "the whole machine";
  const std::string home = home_directory();
  const bool is_home = !home.empty() && fs::equivalent(root, home, failure);
  return is_home ? "all files of " + home : std::string();
}

Result<void, Stop> check_root(const Options& options) {
  const ServerOptions& server = options.server;
  std::error_code failure;
  if (!fs::is_directory(server.root, failure)) {
    const bool missing = !failure || failure == std::errc::no_such_file_or_directory;
    const std::string reason = missing ? "it is not a directory" : failure.message();
    return std::unexpected(wrong(
        fmt::format("can't serve the root {}: {}; name another with --root", server.root, reason)));
  }
  if (const std::string all = describe_wide_root(server.root); !all.empty() && !options.serve_all) {
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
  return is_within(full_path(file), full_path(directory));
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
