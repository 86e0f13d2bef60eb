// Makes and reads the keys and certificates of trials and of the local authority: ECDSA P-256.
//
// The functions return null or an empty value if OpenSSL fails or a file can't be read as what it
// should be, and leave no error in OpenSSL's queue.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "net/crypto/tls_objects.h"

namespace h2server::net {

Key make_key();

struct CertificateContent {
  std::string name;  // common name; printable ASCII, at most 64 characters (RFC 5280, appendix A.1)
  long valid_days = 0;
  // The kind (NID_…) and the value as in a configuration file of OpenSSL, in this order.
  std::vector<std::pair<int, std::string>> extensions;
};

// Makes a certificate for `key`, valid from an hour ago, because clocks differ. `issuer` is null
// for a certificate that is signed by its own key.
Certificate issue(const CertificateContent& content, EVP_PKEY* key, X509* issuer,
                  EVP_PKEY* issuer_key);

// Returns the PEM form, or an empty string for null.
std::string pem_of(EVP_PKEY* key);
std::string pem_of(X509* certificate);

// Returns the SHA-256 of a certificate as browsers show it, "3A:1F:…".
std::string fingerprint_of(const X509* certificate);

// Reads a key that is not encrypted.
Key read_key(const std::string& file);
// Returns the certificates of a file in their order, none if one of them is damaged.
std::vector<Certificate> read_certificates(const std::string& file);
// Returns true if both exist and the key is that of the certificate.
bool belongs_to(X509* certificate, EVP_PKEY* key);

// Returns the name that this machine calls itself, or "localhost".
std::string machine_name();
// Returns true if `name` may be in a certificate as a name of the DNS (RFC 5280, 4.2.1.6). Only
// such a name goes into a list of names, because OpenSSL splits the list at commas.
bool is_dns_name(const std::string& name);

}  // namespace h2server::net
