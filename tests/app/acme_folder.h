// A folder for the files of ACME that goes with its test, and certificates to put there.
#pragma once

#include <gtest/gtest.h>
#include <openssl/x509v3.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "net/certs/tls_issue.h"

namespace h2server::tests {

inline std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class AcmeFolder {
 public:
  AcmeFolder() : path_(testing::TempDir() + "h2server-acme-XXXXXX") {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  AcmeFolder(const AcmeFolder&) = delete;
  AcmeFolder& operator=(const AcmeFolder&) = delete;
  ~AcmeFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A certificate as an authority would issue it, and its key, in PEM. Its validity began `age_days`
// ago.
struct IssuedPair {
  explicit IssuedPair(const std::vector<std::string>& hosts, long valid_days = 90,
                      long age_days = 0) {
    const net::Key ca_key = net::make_key();
    const net::Certificate ca = net::issue({.name = "authority of a test",
                                            .valid_days = 365,
                                            .extensions = {{NID_subject_key_identifier, "hash"}}},
                                           ca_key.get(), nullptr, ca_key.get());
    const net::Key own = net::make_key();
    std::string names;
    for (const std::string& host : hosts) names += (names.empty() ? "DNS:" : ",DNS:") + host;
    const net::Certificate issued =
        net::issue({.name = "a site",
                    .valid_days = valid_days,
                    .extensions = {{NID_subject_alt_name, names},
                                   {NID_authority_key_identifier, "keyid:always"}}},
                   own.get(), ca.get(), ca_key.get());
    X509_gmtime_adj(X509_getm_notBefore(issued.get()), -age_days * 24 * 3600);
    EXPECT_GT(X509_sign(issued.get(), ca_key.get(), EVP_sha256()), 0);
    chain = net::pem_of(issued.get());
    key = net::pem_of(own.get());
  }

  std::string chain;
  std::string key;
};

}  // namespace h2server::tests
