// Sites whose certificates come by ACME.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "config/configuration.h"
#include "config/effective.h"
#include "config/support.h"

namespace h2server::config {
namespace acme_test {

using Texts = std::vector<std::string>;

class AcmeConfigTest : public ConfigTest {};

constexpr std::string_view whole = R"(
acme-directory = "https://ca.test/directory"
acme-email = "me@a.test"
acme-ca = "ca.pem"
acme-challenge = "http-01"
acme-store = "s3://certificates/all"
[[listener]]
port = 443
[[listener]]
port = 80
redirect = true
[[site]]
host = ["a.test", "www.a.test"]
root = "www"
acme = true
[[site]]
root = "others"
)";

TEST_F(AcmeConfigTest, Defaults) {
  const Parsed parsed = parse("[[site]]\nhost = \"a.test\"\nroot = \"www\"\nacme = true\n");
  EXPECT_EQ(parsed.problems, Texts{});
  EXPECT_TRUE(parsed.configuration.sites.at(0).acme);
  EXPECT_EQ(parsed.configuration.acme.directory, "https://acme-v02.api.letsencrypt.org/directory");
  EXPECT_FALSE(parsed.configuration.acme.http_challenge);
}

TEST_F(AcmeConfigTest, Whole) {
  const Parsed parsed = parse(whole);
  EXPECT_EQ(parsed.problems, Texts{});
  const AcmeSettings& acme = parsed.configuration.acme;
  EXPECT_EQ(acme.directory, "https://ca.test/directory");
  EXPECT_EQ(acme.email, "me@a.test");
  EXPECT_EQ(acme.ca_file, "ca.pem");
  EXPECT_TRUE(acme.http_challenge);
  EXPECT_EQ(acme.store, "s3://certificates/all");
  EXPECT_TRUE(parsed.configuration.sites.at(0).acme);
  EXPECT_FALSE(parsed.configuration.sites.at(1).acme);
}

TEST_F(AcmeConfigTest, EffectiveConfigurationMeansTheSame) {
  for (const std::string_view text : {whole, std::string_view("[[site]]\nroot = \"www\"\n")}) {
    const std::string first = effective_toml(parse(text).configuration);
    const Parsed again = parse(first);
    EXPECT_EQ(again.problems, Texts{}) << first;
    EXPECT_EQ(effective_toml(again.configuration), first);
  }
}

TEST_F(AcmeConfigTest, Refuses) {
  const std::pair<std::string, const char*> rows[] = {
      {"[[site]]\nroot = \"www\"\nacme = true",
       "site.toml:3: acme needs host, the names to get a certificate for"},
      {"[[site]]\nhost = \"*.a.test\"\nroot = \"www\"\nacme = true",
       "site.toml:4: acme gets certificates for single names, not for *.a.test"},
      {"[[site]]\nhost = \"192.0.2.1\"\nroot = \"www\"\nacme = true",
       "site.toml:4: acme gets certificates for single names, not for 192.0.2.1"},
      {"[[site]]\nhost = \"[::1]\"\nroot = \"www\"\nacme = true",
       "site.toml:4: acme gets certificates for single names, not for [::1]"},
      {"[[site]]\nhost = \"a.test\"\nroot = \"www\"\nacme = true\ncert = \"a.crt\"",
       "site.toml:4: acme gets its own certificate; leave out cert"},
      {"[[site]]\nhost = \"a.test\"\nroot = \"www\"\nacme = true\nlocal-ca = true",
       "site.toml:4: acme gets its own certificate; leave out local-ca"},
      {"h2c = true\n[[site]]\nhost = \"a.test\"\nroot = \"www\"\nacme = true",
       "site.toml:5: acme has no effect without TLS; add a [[listener]] without h2c"},
      {"acme-challenge = \"http-01\"\n[[site]]\nhost = \"a.test\"\nroot = \"www\"\nacme = true",
       "site.toml:5: acme-challenge = \"http-01\" needs a [[listener]] with h2c or redirect, to "
       "which port 80 of the hosts leads"},
      {"scheme = \"process-per-connection\"\n[[site]]\nhost = \"a.test\"\nroot = \"www\"\nacme = "
       "true",
       "site.toml:5: acme does not work with --scheme process-per-connection"},
      {"acme-email = \"me@a.test\"\n[[site]]\nroot = \"www\"",
       "site.toml:1: acme-email has no effect: no [[site]] has acme = true"},
      {"acme-store = \"s3://certificates\"\n[[site]]\nroot = \"www\"",
       "site.toml:1: acme-store has no effect: no [[site]] has acme = true"},
      {"acme-challenge = \"dns-01\"\n[[site]]\nhost = \"a.test\"\nroot = \"www\"\nacme = true",
       "site.toml:1: acme-challenge = \"dns-01\": unknown; allowed: tls-alpn-01, http-01"},
      {"acme-directory = \"http://ca.test/\"\n[[site]]\nhost = \"a.test\"\nroot = \"www\"\nacme = "
       "true",
       "site.toml:1: acme-directory = \"http://ca.test/\": not a URL; allowed: such as "
       "https://ca.example/directory"},
  };
  for (const auto& [text, problem] : rows) EXPECT_EQ(parse(text).problems, Texts{problem}) << text;
}

TEST_F(AcmeConfigTest, DirectoryHasNoUser) {
  const Parsed parsed =
      parse("acme-directory = \"https://me:secret@ca.test/\"\n[[site]]\nhost = \"a.test\"\n"
            "root = \"www\"\nacme = true");
  ASSERT_EQ(parsed.problems.size(), 1u);
  EXPECT_EQ(parsed.problems[0].find("secret"), std::string::npos) << parsed.problems[0];
}

}  // namespace acme_test
}  // namespace h2server::config
