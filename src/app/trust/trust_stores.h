// Where a Linux system and its browsers keep the authorities that they trust.
//
// Each function reports every step and, for a step that fails, why and what to do. None calls sudo:
// without root, the system's store is left as it is and the commands are reported.
#pragma once

#include <string>
#include <vector>

#include "app/trust/trust_report.h"

namespace h2server::app {

struct TrustedFile {
  std::string name;  // the authority's common name, which is its name in the browsers' databases
  std::string file;
  std::string pem;  // the content of `file`; empty if there is none
};

// Returns the name of the authority's file in a system's store: letters, digits, '.', '_' and '-'.
std::string name_in_system(const std::string& name);

// `root` is the directory of the system whose store it is, empty for the running one.
void install_in_system(const TrustedFile& ca, const std::string& root, TrustReport& report);
void remove_from_system(const TrustedFile& ca, const std::string& root, TrustReport& report);

// Returns the folders below `home` that hold a database of NSS, the library of Chromium and
// Firefox.
std::vector<std::string> nss_databases(const std::string& home);

void install_in_browsers(const TrustedFile& ca, const std::string& home, TrustReport& report);
void remove_from_browsers(const TrustedFile& ca, const std::string& home, TrustReport& report);

}  // namespace h2server::app
