// A certificate authority of one user on one machine, and the certificate that it issues for this
// machine's server.
//
// Devices that trust it accept the server without a warning. It may sign only for names and
// addresses of local networks (RFC 5280, 4.2.1.10), so a stolen key can't impersonate sites of the
// internet to clients that check these constraints; the current browsers and OpenSSL do.
//
// All functions read and write files and may wait for the disk. Any thread may call them; processes
// that share the directory exclude each other by its lock (net/certs/folder_lock.h).
#pragma once

#include <optional>
#include <string>

#include "h2server/result.h"
#include "net/certs/machine.h"

namespace h2server::net {

struct LocalAuthority {
  std::string ca_file;           // the certificate of the authority, for the devices
  std::string certificate_file;  // the server's certificate, then that of the authority
  std::string key_file;          // the server's key
  bool made_now = false;         // the authority is new: no device trusts it yet
};

// Opens the authority in `directory`. Makes what is missing: the directory (0700), the authority
// (10 years) and the server's certificate (396 days), whose keys have mode 0600. Makes another
// authority if it expires within 30 days, and another certificate if that does, or if it lacks a
// name or an address of the machine that the authority may sign for. The server's key stays, so a
// process that reads key and certificate while another one renews still gets a pair. Replaces
// neither an authority that it can't use, since devices may trust it, nor a file it can't write.
// The error is a line for the operator.
Result<LocalAuthority, std::string> open_local_authority(const std::string& directory,
                                                         const Machine& machine);
Result<LocalAuthority, std::string> open_local_authority(const std::string& directory);

// The files of the authority in `directory`, whether or not they exist.
LocalAuthority local_authority_files(const std::string& directory);

// What is said of an authority to those who are to trust it.
struct AuthorityCertificate {
  std::string name;         // its common name
  std::string fingerprint;  // SHA-256: "AB:CD:…"
  std::string pem;
};
// Returns nullopt if the file can't be read or holds no certificate.
std::optional<AuthorityCertificate> read_authority(const std::string& ca_file);

}  // namespace h2server::net
