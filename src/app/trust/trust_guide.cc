#include "app/trust/trust_guide.h"

#include <fmt/format.h>

#include "app/system/run_program.h"
#include "app/trust/trust_stores.h"

namespace h2server::app {

namespace {

// {file} and {name} are words of a shell; {stored} needs no quotes.
constexpr const char* guide = R"(Debian, Ubuntu, Alpine:
  sudo install -m 0644 {file} /usr/local/share/ca-certificates/{stored}
  sudo update-ca-certificates

Fedora, RHEL:
  sudo install -m 0644 {file} /etc/pki/ca-trust/source/anchors/{stored}
  sudo update-ca-trust

openSUSE:
  sudo install -m 0644 {file} /etc/pki/trust/anchors/{stored}
  sudo update-ca-certificates

Arch:
  sudo trust anchor --store {file}

macOS:
  sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain {file}

Windows, as administrator (a copy of the file; Firefox and Chrome use Windows' certificates):
  certutil -addstore -user Root {stored}

Chromium and Chrome on Linux (certutil is in libnss3-tools, nss-tools or nss; since Chromium 146,
the database of a new user is $HOME/.local/share/pki/nssdb):
  certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n {name} -i {file}

Firefox on Linux, for each profile; or Settings > Privacy & Security > View Certificates >
Authorities > Import:
  certutil -d sql:$HOME/.mozilla/firefox/PROFILE -A -t C,, -n {name} -i {file}

Android: copy the file to the device, then open Settings > Security > Encryption & credentials >
  Install a certificate > CA certificate. Chrome trusts it then; Firefox and other apps only if they
  were told to use the certificates of the user.

iPhone, iPad: send the file to the device (AirDrop, mail), open it, and install the profile in
  Settings > General > VPN & Device Management. Then switch it on in Settings > General > About >
  Certificate Trust Settings.

Only the certificate ca.crt goes to other devices. The key beside it must stay where it is.
)";

}  // namespace

std::string trust_guide(const std::string& name, const std::string& file) {
  return fmt::format(fmt::runtime(guide), fmt::arg("file", command_line({file})),
                     fmt::arg("name", command_line({name})),
                     fmt::arg("stored", name_in_system(name)));
}

}  // namespace h2server::app
