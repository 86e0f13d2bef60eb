// The program h2server: its commands, and the server.
#include <string>

#include "app/certificates/credentials.h"
#include "app/config_commands.h"
#include "app/doctor/doctor.h"
#include "app/options/options.h"
#include "app/options/program_text.h"
#include "app/put/put_command.h"
#include "app/service.h"
#include "app/tools/completion.h"
#include "app/tools/link_command.h"
#include "app/tools/man_page.h"
#include "app/top/top.h"
#include "app/trust/trust.h"
#include "app/upgrade.h"

namespace h2server::app {

namespace {

// h2server doctor OPTIONS: the options are those of the server to be. Looks at its first site and
// its first listener.
int run_doctor(int argc, char** argv) {
  const Result<config::Configuration, Stop> configuration =
      parse_options(argc, argv, Places::as_given);
  if (!configuration) return report(configuration.error());
  const ServerOptions& server = configuration->server;
  const config::Site& site = configuration->sites.front();
  const config::Listener& listener = configuration->listeners.front();
  CertificatePair pair{site.certificate_file, site.key_file};
  if (site.certificate == config::CertificateSource::own) pair = own_pair();
  return doctor({.root = site.root,
                 .upload_directory = site.upload_directory,
                 .reserve_bytes = site.uploads.reserve_bytes,
                 .certificate_file = pair.certificate_file,
                 .key_file = pair.key_file,
                 .self_signed = site.certificate != config::CertificateSource::files,
                 .cleartext = listener.cleartext,
                 .host = listener.host,
                 .port = listener.port,
                 .threads = server.threads,
                 .scheme = server.scheme,
                 .io = server.io});
}

int print_completion(int argc, char** argv) {
  const auto script = completion_script(program_text(), argc == 2 ? argv[1] : "");
  return report(script ? Stop{0, *script} : Stop{exit_wrong_use, script.error()});
}

int print_man_page(int argc) {
  return report(argc == 1 ? Stop{0, man_page(program_text())}
                          : Stop{exit_wrong_use, "h2server man takes no options"});
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
    case CommandKind::check:
      return run_check(argc, argv);
    case CommandKind::config:
      return run_config(argc, argv);
    case CommandKind::top:
      return top(argc, argv);
    case CommandKind::put:
      return run_put(argc, argv);
    case CommandKind::link:
      return run_link(argc, argv);
    case CommandKind::upgrade:
      return run_upgrade(argc, argv);
    case CommandKind::man:
      break;
  }
  return print_man_page(argc);
}

int run(int argc, char** argv) {
  const Command* const command = argc > 1 ? find_command(argv[1]) : nullptr;
  if (command != nullptr) return run_command(command->kind, argc - 1, argv + 1);
  return Service(argc, argv).run();
}

}  // namespace

}  // namespace h2server::app

int main(int argc, char** argv) { return h2server::app::run(argc, argv); }
