// What the start would read of the disk, read without the start: sites with their roots, files of
// users and error pages, certificates and keys.
#pragma once

#include <string>
#include <vector>

#include "config/configuration.h"
#include "config/problems.h"
#include "h2server/options.h"

namespace h2server::app {

// Adds a problem for each that the start could not use. Writes a warning for a certificate that
// clients will not accept, as the start does. Makes nothing and asks for no passphrase: of an
// encrypted key, only the certificate is read.
void check_start(const config::Configuration& configuration, config::Problems& problems);

// Returns an error of the library with the option in front whose file it names, if it names one.
std::string with_option(const std::vector<CertificateFiles>& pairs, const std::string& error);

}  // namespace h2server::app
