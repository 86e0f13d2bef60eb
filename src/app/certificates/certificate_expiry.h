// CertificateExpiry: warns of certificates that expire, once at 30, 7 and 1 days before the end and
// once it has come.
//
// What comes to more than half of the time that a certificate is valid is left out: one that is
// valid for a week is not to be renewed a month before. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "h2server/options.h"

namespace h2server::app {

struct CertificateInUse {
  std::string file;
  std::vector<std::string> names;  // those in the certificate
  std::int64_t begin_s = 0;        // seconds since 1970
  std::int64_t end_s = 0;
  std::string fingerprint;
  bool renews_itself = false;  // this program renews it
};

// Reads the certificates of files that are in use now; those that can't be read are left out.
std::vector<CertificateInUse> certificates_in_use(const std::vector<CertificateFiles>& files);

class CertificateExpiry {
 public:
  struct Line {
    base::Severity severity;
    std::string text;
  };

  // Replaces the certificates. One that stays the same is not warned of anew, and one that has
  // expired already is not warned of at all: that is said when it is loaded.
  void set(const std::vector<CertificateInUse>& certificates, std::int64_t now_s);
  // Returns the lines that are due. The nearest step counts: a program that starts three days
  // before the end warns once.
  std::vector<Line> due(std::int64_t now_s);

 private:
  struct Watched {
    CertificateInUse certificate;
    std::size_t steps_done = 0;
  };

  std::vector<Watched> watched_;
};

}  // namespace h2server::app
