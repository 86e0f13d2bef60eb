// The program h2server: options, certificate, routes, server.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "app/completion.h"
#include "app/console.h"
#include "app/credentials.h"
#include "app/doctor.h"
#include "app/man_page.h"
#include "app/options.h"
#include "app/passphrase.h"
#include "app/program_text.h"
#include "app/site.h"
#include "app/start_screen.h"
#include "app/terminal.h"
#include "app/trust.h"
#include "base/log.h"
#include "net/port_trial.h"
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

// Returns the first free port from `wanted` on, or that one if none of the next is free.
std::uint16_t choose_port(const ServerOptions& server, std::uint16_t wanted) {
  constexpr std::uint16_t tries = 20;
  for (std::uint16_t port = wanted; port < wanted + tries; ++port) {
    if (net::try_port(server.host, port) == 0) return port;
  }
  return wanted;
}

// h2server doctor OPTIONS: the options are those of the server to be.
int run_doctor(int argc, char** argv) {
  Result<Options, Stop> options = parse_options(argc, argv, Places::as_given);
  if (!options) return stop(options.error());
  const ServerOptions& server = options->server;
  if (options->certificate == CertificateSource::own) name_own_credentials(options->server);
  return doctor({.root = server.root,
                 .upload_directory = options->upload_directory,
                 .reserve_bytes = options->uploads.reserve_bytes,
                 .certificate_file = server.certificate_file,
                 .key_file = server.key_file,
                 .self_signed = options->certificate != CertificateSource::files,
                 .cleartext = server.cleartext,
                 .host = server.host,
                 .port = server.port,
                 .threads = server.threads,
                 .scheme = server.scheme,
                 .io = server.io});
}

int print_completion(int argc, char** argv) {
  const auto script = completion_script(program_text(), argc == 2 ? argv[1] : "");
  return stop(script ? Stop{0, *script} : Stop{wrong_use, script.error()});
}

int print_man_page(int argc) {
  return stop(argc == 1 ? Stop{0, man_page(program_text())}
                        : Stop{wrong_use, "h2server man takes no options"});
}

// The arguments begin with the command's name.
int run_command(CommandKind kind, int argc, char** argv) {
  switch (kind) {
    case CommandKind::doctor:
      return run_doctor(argc, argv);
    case CommandKind::trust:
      return trust(argc, argv);
    case CommandKind::completion:
      return print_completion(argc, argv);
    case CommandKind::man:
      break;
  }
  return print_man_page(argc);
}

void remove_temporary(const Credentials& credentials) {
  std::error_code ignored;
  if (credentials.temporary_directory.empty()) return;
  std::filesystem::remove_all(credentials.temporary_directory, ignored);
}

// Serves until a signal. Sets `listened` once the server listens.
Result<void, Stop> serve(const Options& options, const Credentials& credentials,
                         std::uint16_t wanted_port, bool& listened) {
  // The processes of this scheme could neither tell of their requests nor be told of keys.
  const bool one_process = options.server.scheme != ServerScheme::process_per_connection;
  const std::unique_ptr<Console> console =
      one_process
          ? Console::open({.colour = shows_colour(), .uploads = !options.upload_directory.empty()})
          : nullptr;
  ServerOptions settings = options.server;
  settings.key_passphrase = ask_passphrase;
  Server server(std::move(settings));
  const Result<void, Stop> routed = add_site(options, console.get(), server);
  if (!routed) return routed;
  const Result<void, std::string> done = server.run([&] {
    listened = true;
    remove_temporary(credentials);
    const StartScreen screen =
        start_screen({options, credentials, wanted_port, console != nullptr}, server);
    std::fputs(screen.text.c_str(), stdout);
    std::fflush(stdout);
    if (console != nullptr) console->start(server, screen.url_for_others);
  });
  if (console != nullptr) console->stop();
  if (done) return {};
  if (!listened) return std::unexpected(Stop{failed, done.error()});
  // Threads that were left behind may still run, so nothing that they use is destroyed.
  std::_Exit(stop({failed, done.error()}));
}

int run(int argc, char** argv) {
  const Command* const command = argc > 1 ? find_command(argv[1]) : nullptr;
  if (command != nullptr) return run_command(command->kind, argc - 1, argv + 1);
  Result<Options, Stop> options = parse_options(argc, argv);
  if (!options) return stop(options.error());
  server::raise_descriptor_limit();
  net::keep_tls_record_buffers();
  ::signal(SIGPIPE, SIG_IGN);  // a closed pipe behind standard output must not end the server
  ::signal(SIGXFSZ, SIG_IGN);  // nor an upload beyond RLIMIT_FSIZE: write() returns EFBIG
  const Result<Credentials, Stop> credentials = prepare_credentials(*options);
  if (!credentials) return stop(credentials.error());
  // Another signal after the server has ended must not change the exit status.
  sigset_t stopping;
  sigemptyset(&stopping);
  sigaddset(&stopping, SIGINT);
  sigaddset(&stopping, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &stopping, nullptr);
  const std::uint16_t wanted_port = options->server.port;
  for (;;) {
    if (!options->port_given) options->server.port = choose_port(options->server, wanted_port);
    bool listened = false;
    const Result<void, Stop> served = serve(*options, *credentials, wanted_port, listened);
    if (served) return 0;
    // Another program may have taken the port since it was chosen.
    const bool taken = !listened && !options->port_given &&
                       choose_port(options->server, wanted_port) != options->server.port;
    if (taken) continue;
    remove_temporary(*credentials);
    return stop(served.error());
  }
}

}  // namespace

}  // namespace h2server::app

int main(int argc, char** argv) { return h2server::app::run(argc, argv); }
