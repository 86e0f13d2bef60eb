#include "app/trust/trust.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "app/system/state_directory.h"
#include "app/system/stop.h"
#include "app/trust/trust_guide.h"
#include "app/trust/trust_report.h"
#include "app/trust/trust_stores.h"
#include "base/log.h"
#include "net/certs/tls_authority.h"

namespace h2server::app {

namespace {

constexpr const char* usage = R"(h2server trust [--print | --remove]

Makes this system, Chromium and Firefox trust the local CA of h2server, so that they accept its
server without a warning. Makes the CA if there is none.

  --print   Say how, for each system, and change nothing
  --remove  Undo it; the CA itself stays
  --help    Print this
)";

int refuse(const std::string& reason, int status) {
  base::log_error("{}", reason);
  return status;
}

void describe_ca(const TrustedFile& ca, const std::string& fingerprint, TrustReport& report) {
  report.say("{}", ca.name);
  report.say("  certificate  {}", ca.file);
  report.say("  SHA-256      {}", fingerprint);
}

int install() {
  const Result<std::string, std::string> directory = prepare_authority_directory();
  if (!directory) return refuse(directory.error(), exit_failed);
  const auto authority = net::open_local_authority(*directory);
  if (!authority) {
    return refuse(authority.error() + "; before, run `h2server trust --remove`", exit_failed);
  }
  const auto certificate = net::read_authority(authority->ca_file);
  if (!certificate) return refuse("can't read " + authority->ca_file, exit_failed);
  const TrustedFile ca{certificate->name, authority->ca_file, certificate->pem};
  TrustReport report;
  describe_ca(ca, certificate->fingerprint, report);
  if (authority->made_now) report.say("  made now");
  if (::geteuid() == 0 && std::getenv("SUDO_USER") != nullptr) {
    report.say("This is the CA of root, as used by a server that root starts. For your own, run "
               "h2server trust without sudo: it prints the commands that need root.");
  }
  install_in_system(ca, "", report);
  const std::string home = home_directory();
  if (!home.empty()) install_in_browsers(ca, home, report);
  report.say("Other systems and devices: h2server trust --print");
  return report.failed() ? exit_failed : 0;
}

// Returns the CA's file and name. Without the file, the name is that of one which is made now.
Result<TrustedFile, std::string> known_authority() {
  const Result<std::string, std::string> directory = authority_directory();
  if (!directory) return std::unexpected(directory.error());
  const std::string file = net::local_authority_files(*directory).ca_file;
  const auto certificate = net::read_authority(file);
  if (!certificate) return TrustedFile{net::authority_name(net::this_machine()), file, ""};
  return TrustedFile{certificate->name, file, certificate->pem};
}

int print() {
  const Result<TrustedFile, std::string> ca = known_authority();
  if (!ca) return refuse(ca.error(), exit_failed);
  if (ca->pem.empty()) {
    fmt::print("There is no local CA yet. `h2server trust` makes {}.\n\n", ca->file);
  }
  fmt::print("{}", trust_guide(ca->name, ca->file));
  return 0;
}

int remove() {
  const Result<TrustedFile, std::string> ca = known_authority();
  if (!ca) return refuse(ca.error(), exit_failed);
  TrustReport report;
  report.say("{}", ca->name);
  remove_from_system(*ca, "", report);
  const std::string home = home_directory();
  if (!home.empty()) remove_from_browsers(*ca, home, report);
  if (!ca->pem.empty()) report.say("The CA itself is still in {}", ca->file);
  return report.failed() ? exit_failed : 0;
}

}  // namespace

Result<std::string, std::string> authority_directory() {
  Result<std::string, std::string> directory = state_directory_name();
  if (directory) *directory += "/ca";
  return directory;
}

Result<std::string, std::string> prepare_authority_directory() {
  const Result<std::string, std::string> made = state_directory();
  return made ? authority_directory() : made;
}

int trust(int argc, char** argv) {
  if (argc == 1) return install();
  const std::string_view option = argv[1];
  if (argc == 2 && option == "--print") return print();
  if (argc == 2 && option == "--remove") return remove();
  if (argc == 2 && (option == "--help" || option == "-h")) {
    fmt::print("{}", usage);
    return 0;
  }
  return refuse("h2server trust takes one of --print, --remove and --help", exit_wrong_use);
}

}  // namespace h2server::app
