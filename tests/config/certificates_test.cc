// Several certificates of a site: pairs by their order, and what is wrong with them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/configuration.h"
#include "config/effective.h"
#include "config/support.h"

namespace h2server::config {
namespace certificates_test {

using Lines = std::vector<std::string>;

class CertificatesTest : public ConfigTest {};

TEST_F(CertificatesTest, ArePairsByTheirOrder) {
  const Parsed parsed = parse(R"(
cert = ["a.crt", "b.crt", "c.crt"]
key = ["a.key", "b.key", "c.key"]
ocsp = ["a.ocsp", "b.ocsp"]
)");
  EXPECT_EQ(parsed.problems, Lines{});
  const Site& site = parsed.configuration.sites.at(0);
  EXPECT_EQ(site.certificate, CertificateSource::files);
  EXPECT_EQ(site.certificate_file, "a.crt");
  EXPECT_EQ(site.key_file, "a.key");
  EXPECT_EQ(site.ocsp_file, "a.ocsp");
  EXPECT_EQ(site.more_certificates,
            (std::vector<CertificateFiles>{{"b.crt", "b.key", "b.ocsp"}, {"c.crt", "c.key", ""}}));
  EXPECT_EQ(site.places.at("ocsp").line, 4U);
  const std::string effective = effective_toml(parsed.configuration);
  EXPECT_TRUE(effective.contains("cert = [\n  \"a.crt\",\n  \"b.crt\",\n  \"c.crt\",\n]\n"))
      << effective;
  EXPECT_TRUE(effective.contains("ocsp = [\n  \"a.ocsp\",\n  \"b.ocsp\",\n]\n")) << effective;
}

TEST_F(CertificatesTest, OneNeedsNoList) {
  const Parsed parsed = parse("cert = \"a.crt\"\nkey = \"a.key\"\nocsp = \"a.ocsp\"");
  EXPECT_EQ(parsed.problems, Lines{});
  const Site& site = parsed.configuration.sites.at(0);
  EXPECT_EQ(site.certificate_file + site.key_file + site.ocsp_file, "a.crta.keya.ocsp");
  EXPECT_TRUE(site.more_certificates.empty());
}

TEST_F(CertificatesTest, OfASiteReplaceThoseAbove) {
  const Parsed parsed = parse(R"(
cert = ["a.crt", "b.crt"]
key = ["a.key", "b.key"]
[[site]]
root = "www"
cert = "c.crt"
key = "c.key"
[[site]]
host = "d.example"
root = "www"
)");
  EXPECT_EQ(parsed.problems, Lines{});
  EXPECT_EQ(parsed.configuration.sites.at(0).certificate_file, "c.crt");
  EXPECT_TRUE(parsed.configuration.sites.at(0).more_certificates.empty());
  EXPECT_EQ(parsed.configuration.sites.at(1).certificate_file, "a.crt");
  EXPECT_EQ(parsed.configuration.sites.at(1).more_certificates.size(), 1U);
}

TEST_F(CertificatesTest, ThatDoNotMatchAreRefused) {
  struct Row {
    const char* text;
    const char* problem;
  };
  const std::vector<Row> rows = {
      {"cert = [\"a\", \"b\"]\nkey = \"c\"",
       "site.toml:1: there are 2 --cert and 1 --key; name one key for each certificate, in their "
       "order"},
      {"cert = [\"a\", \"b\"]",
       "site.toml:1: there are 2 --cert and 0 --key; name one key for each certificate, in their "
       "order"},
      {"cert = \"a\"\nkey = [\"c\", \"d\"]",
       "site.toml:2: there are 1 --cert and 2 --key; name one key for each certificate, in their "
       "order"},
      {"cert = \"a\"\nkey = \"b\"\nocsp = [\"c\", \"d\"]",
       "site.toml:3: there are more --ocsp than --cert; name one for each certificate"},
      {"ocsp = \"c\"",
       "site.toml:1: --ocsp is for certificates of --cert that an authority has signed"},
      {"cert = \"a\"\nself-signed = true\nocsp = \"c\"",
       "site.toml:3: --ocsp is for certificates of --cert that an authority has signed"},
      {"cert = [\"a\", \"b\"]\nkey = [\"c\", \"d\"]\nself-signed = true",
       "site.toml:3: --self-signed makes one certificate; name one --cert and --key"},
      {"cert = [\"a\", \"\"]\nkey = [\"c\", \"d\"]",
       "site.toml:1: cert = \"\": empty; leave it out"},
      {"cert = \"a\"\nkey = \"b\"\nh2c = true\nocsp = \"c\"",
       "site.toml:1: --cert has no effect beside --h2c, which serves without TLS; leave one out"},
  };
  for (const Row& row : rows) EXPECT_EQ(parse(row.text).problems, Lines{row.problem}) << row.text;
}

}  // namespace certificates_test
}  // namespace h2server::config
