// The files of ACME below the state directory: the key of the account, and a certificate and a key
// for each site. All have mode 0600, in folders that only this user can enter; each is on the disk
// before it gets its name.
//
// Any thread; processes exclude each other by the lock of the folder. All functions block on the
// disk. Errors are lines for the operator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "h2server/result.h"
#include "net/certs/tls_request.h"

namespace h2server::app {

// Returns the name of an authority in folders and stores: the host of its URL, with "_PORT" if that
// has a port.
std::string acme_name(std::string_view directory_url);

// Returns the folder for what an authority has to do with: STATE/acme/NAME.
std::string acme_folder(const std::string& state_directory, std::string_view directory_url);

struct AcmeFiles {
  std::string certificate;  // the chain
  std::string key;
};

// The files of a site, by the first of its hosts.
AcmeFiles acme_files(const std::string& folder, const std::string& first_host);

// Makes sure that there is a pair to serve. Without one that fits together, makes a self-signed
// one, which find_issued() does not count; files that do not fit are NAME.damaged then. Fails if a
// file can't be read.
Result<void, std::string> prepare_acme_files(const AcmeFiles& files);

// Reads the account's key, or makes it. Returns PEM.
Result<std::string, std::string> open_account_key(const std::string& folder);

struct IssuedCertificate {
  std::int64_t begin_s = 0;  // validity, in seconds since 1970
  std::int64_t end_s = 0;
  std::optional<net::CertificateId> id = {};
};

// Returns nullopt unless the files hold a pair that an authority has issued, for all hosts. It may
// have expired.
std::optional<IssuedCertificate> find_issued(const AcmeFiles& files,
                                             std::span<const std::string> hosts);

// Replaces both files, if a server can load the new ones. If it fails, or the machine stops, the
// pair of before or the new one is there at the next prepare_acme_files().
Result<void, std::string> keep_issued(const AcmeFiles& files, std::string_view chain,
                                      std::string_view key);

}  // namespace h2server::app
