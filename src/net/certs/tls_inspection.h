// Reads a certificate file and a key file to describe them to the operator; serves nothing.
//
// Pure functions of the files, any thread. They wait for the disk. What is no regular file can't be
// read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "h2server/result.h"

namespace h2server::net {

struct CertificateFacts {
  std::vector<std::string> names;  // DNS names and addresses of subjectAltName (RFC 5280, 4.2.1.6)
  std::int64_t begin_s = 0;        // validity, in seconds since 1970
  std::int64_t end_s = 0;
  std::string fingerprint;  // its SHA-256 as browsers show it, "3A:1F:…"
  bool self_signed = false;
  unsigned others = 0;  // certificates that follow in the file: the chain
};

// Describes the first certificate of the file. The error is a part of a line for the operator.
Result<CertificateFacts, std::string> inspect_certificate(const std::string& certificate_file);

enum class KeyFit : std::uint8_t {
  fits,
  differs,    // it belongs to another certificate
  encrypted,  // not known without its passphrase
  unknown,    // the certificate can't be read
};

// Compares the key with the first certificate. Asks nobody for a passphrase. The error says why the
// file holds no key; it is a part of a line for the operator.
Result<KeyFit, std::string> inspect_key(const std::string& certificate_file,
                                        const std::string& key_file);

}  // namespace h2server::net
