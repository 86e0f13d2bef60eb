// Reads a server's certificates and keys from PEM files.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "h2server/options.h"
#include "h2server/result.h"
#include "net/certs/file_stamp.h"
#include "net/certs/tls_ocsp.h"
#include "net/certs/tls_passphrase.h"
#include "net/crypto/tls_objects.h"

namespace h2server::net {

struct Credentials {
  Certificate certificate;
  Chain chain;  // behind the certificate, up to the authority
  Key key;      // the certificate's
  OcspResponse ocsp;
  // Of the certificate's, the key's and the response's file, before they were read. Empty: they may
  // have changed since without a trace.
  std::vector<FileStamp> stamps;
};

// The certificates of a host: each has a key of another type.
using CredentialsSet = std::vector<std::shared_ptr<const Credentials>>;

// What was read from files, by their names. Files that are named several times are read once, and
// those that have not changed since a table before are not read again: each pair takes
// milliseconds.
class CredentialsTable {
 public:
  using Clock = std::int64_t (*)() noexcept;  // microseconds since 1970

  explicit CredentialsTable(Clock clock = base::unix_us) : clock_(clock) {}
  CredentialsTable(const CredentialsTable&) = delete;
  CredentialsTable& operator=(const CredentialsTable&) = delete;

  // `previous` may be null. Calls `passphrase` at most once for a file, if its key is encrypted. If
  // that is empty, the key is taken from `previous`, provided that it belongs to the certificate.
  // The error is a line for the operator that names the file.
  Result<CredentialsSet, std::string> read(const std::vector<CertificateFiles>& files,
                                           const Passphrase& passphrase,
                                           const CredentialsTable* previous);

  // Hands over the responses.
  void give_responses(OcspResponses& responses) const;
  // Returns lines for the operator on what clients will not accept.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  using Shared = std::shared_ptr<const Credentials>;

  Result<Shared, std::string> read_once(const CertificateFiles& files, const Passphrase& passphrase,
                                        const CredentialsTable* previous);
  // Returns null if there are none, or they have changed.
  [[nodiscard]] Shared find_same(const CertificateFiles& files, const std::vector<FileStamp>& now,
                                 std::int64_t now_s) const;
  static Result<Credentials, std::string> read_pair(const CertificateFiles& files,
                                                    const Passphrase& passphrase,
                                                    const CredentialsTable* previous);
  // Returns the key that was read from a file, or null.
  [[nodiscard]] Key find_key(const std::string& file) const;

  const Clock clock_;
  std::map<CertificateFiles, Shared> known_;
};

// Returns a line for the operator if the certificate, read from `certificate_file`, is not valid
// now; else an empty string.
std::string validity_warning(const X509* certificate, const std::string& certificate_file);

}  // namespace h2server::net
