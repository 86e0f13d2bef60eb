// The program h2server: options, certificate, routes, server.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "app/options.h"
#include "app/passphrase.h"
#include "app/start_screen.h"
#include "base/log.h"
#include "content/overlap.h"
#include "content/upload_routes.h"
#include "file/folder.h"
#include "h2server/files.h"
#include "http/file_head.h"
#include "net/tls_certificate.h"
#include "net/tls_credentials.h"
#include "net/tls_memory.h"
#include "server/system_limits.h"

namespace h2server::app {

namespace {

constexpr int wrong_use = 2;  // exit statuses
constexpr int failed = 1;

int stop(const Stop& reason) {
  if (reason.status != 0) {
    base::log_error("{}", reason.text);
  } else {
    std::fputs(reason.text.c_str(), stdout);
  }
  return reason.status;
}

Result<void, std::string> prepare_self_signed(const ServerOptions& server) {
  const std::string& certificate = server.certificate_file;
  const bool has_certificate = ::access(certificate.c_str(), F_OK) == 0;
  const bool has_key = ::access(server.key_file.c_str(), F_OK) == 0;
  if (!has_certificate && !has_key) return net::make_self_signed(certificate, server.key_file);
  if (!has_certificate) net::finish_self_signed(certificate, server.key_file);
  if (has_certificate && net::has_expired(certificate)) {
    base::log_warning("--self-signed makes a new certificate when both {} and {} are deleted",
                      certificate, server.key_file);
  }
  return {};
}

Result<void, Stop> prepare_certificate(const Options& options) {
  const ServerOptions& server = options.server;
  if (server.cleartext) return {};
  if (options.self_signed) {
    Result<void, std::string> made = prepare_self_signed(server);
    if (!made) return std::unexpected(Stop{failed, std::move(made.error())});
  }
  for (const auto& [file, what, option] :
       {std::tuple(server.certificate_file, "certificate", "--cert"),
        std::tuple(server.key_file, "private key", "--key")}) {
    if (::access(file.c_str(), R_OK) == 0) continue;
    return std::unexpected(
        Stop{wrong_use, fmt::format("can't read the {} {} ({}); name it with {}, make both with "
                                    "--self-signed, or serve without TLS with --h2c",
                                    what, file, std::strerror(errno), option)});
  }
  return {};
}

// Each request checks uploaded files again, so that a new upload is visible at once.
constexpr file::FolderOptions upload_folder{.make_file = http::make_file, .fresh_ms = 0};

Result<void, Stop> add_routes(const Options& options, Server& server) {
  const auto root = file::Folder::open(options.server.root, {.make_file = http::make_file});
  if (!root || ::access(options.server.root.c_str(), X_OK) != 0) {
    return std::unexpected(Stop{
        wrong_use, fmt::format("can't open the root {}: {}; name another with --root",
                               options.server.root, std::strerror(root ? errno : root.error()))});
  }
  server.add_handler(GET, "/{path...}", Files(*root));
  if (options.upload_directory.empty()) return {};
  std::error_code failure;
  std::filesystem::create_directories(options.upload_directory, failure);
  const auto uploads = file::Folder::open(options.upload_directory, upload_folder);
  if (!uploads || ::access(options.upload_directory.c_str(), W_OK | X_OK) != 0) {
    return std::unexpected(Stop{
        wrong_use,
        fmt::format("can't write to the upload directory {}: {}; name another with "
                    "--upload-dir",
                    options.upload_directory, std::strerror(uploads ? errno : uploads.error()))});
  }
  if (content::overlap((*root)->fd(), (*uploads)->fd())) {
    return std::unexpected(overlapping(options));
  }
  const auto directory = content::UploadDirectory::open((*uploads)->fd());
  if (!directory) {
    return std::unexpected(
        Stop{failed, fmt::format("can't open the upload directory {}: {}", options.upload_directory,
                                 std::strerror(directory.error()))});
  }
  server.add_handler(GET, "/files", content::upload_listing(*uploads, "/files"));
  server.add_handler(GET, "/files/{file_name}", content::upload_download(*uploads));
  server.add_handler(POST, "/files", content::upload_receiver(*directory, options.uploads));
  return {};
}

int run(int argc, char** argv) {
  const Result<Options, Stop> options = parse_options(argc, argv);
  if (!options) return stop(options.error());
  server::raise_descriptor_limit();
  net::keep_tls_record_buffers();
  ::signal(SIGPIPE, SIG_IGN);  // a closed pipe behind standard output must not end the server
  ::signal(SIGXFSZ, SIG_IGN);  // nor an upload beyond RLIMIT_FSIZE: write() returns EFBIG
  const Result<void, Stop> prepared = prepare_certificate(*options);
  if (!prepared) return stop(prepared.error());
  ServerOptions settings = options->server;
  settings.key_passphrase = ask_passphrase;
  Server server(std::move(settings));
  const Result<void, Stop> routed = add_routes(*options, server);
  if (!routed) return stop(routed.error());
  // Another signal after the server has ended must not change the exit status.
  sigset_t stopping;
  sigemptyset(&stopping);
  sigaddset(&stopping, SIGINT);
  sigaddset(&stopping, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &stopping, nullptr);
  const Result<void, std::string> done = server.run([&] {
    std::fputs(start_screen(*options, server).c_str(), stdout);
    std::fflush(stdout);
  });
  if (done) return 0;
  // Threads that were left behind may still run, so nothing that they use is destroyed.
  std::_Exit(stop({failed, done.error()}));
}

}  // namespace

}  // namespace h2server::app

int main(int argc, char** argv) { return h2server::app::run(argc, argv); }
