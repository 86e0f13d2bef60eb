// What the command line and files mean: texts and the values that they give.
#include "config/configuration.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "config/effective.h"
#include "config/support.h"

namespace h2server::config {
namespace configuration_test {

using Texts = std::vector<std::string>;

class ConfigurationTest : public ConfigTest {
 protected:
  // Returns the configuration of a text without errors.
  Configuration valid(std::string_view text, const CommandLine& command_line = {}) const {
    Parsed parsed = parse(text, command_line);
    EXPECT_EQ(parsed.problems, Texts{}) << text;
    return std::move(parsed.configuration);
  }
};

TEST_F(ConfigurationTest, HasDefaults) {
  const Parsed parsed = parse_command_line({});
  EXPECT_EQ(parsed.problems, Texts{});
  const Configuration& configuration = parsed.configuration;
  ASSERT_EQ(configuration.sites.size(), 1U);
  EXPECT_EQ(configuration.sites[0].root, ".");
  EXPECT_TRUE(configuration.sites[0].hosts.empty());
  EXPECT_TRUE(configuration.sites[0].files.listing);
  EXPECT_EQ(configuration.sites[0].certificate, CertificateSource::own);
  EXPECT_EQ(configuration.sites[0].key_file, "");
  ASSERT_EQ(configuration.listeners.size(), 1U);
  EXPECT_EQ(configuration.listeners[0].port, 8443);
  EXPECT_FALSE(configuration.port_given);
  EXPECT_TRUE(configuration.server.listeners.empty());
  EXPECT_EQ(configuration.server.threads, 0U);
  EXPECT_EQ(configuration.file, "");
}

TEST_F(ConfigurationTest, TakesKeysOfAllTypes) {
  const Configuration configuration = valid(R"(
root = "www"
port = 0
host = "127.0.0.1"
threads = 3
h2c = true
hidden = true
listing = false
spa = true
compress = "off"
index = ["a.html", "b.html"]
upload-dir = "up"
upload-max = "2GiB"
upload-total = 5000
upload-reserve = "0"
upload-overwrite = true
scheme = "acceptor"
io = "epoll"
h2 = "nghttp2"
requests-per-connection = 7
idle-timeout = "90s"
drain-timeout = "2m"
shutdown-delay = "15s"
sendfile = true
yes = true
type = ["GCODE=text/plain", "x=text/css"]
cors = "*"
error-pages = "errors"
auth = ["/a=users", "/b=users"]
)");
  const Site& site = configuration.sites.at(0);
  EXPECT_EQ(site.root, "www");
  EXPECT_TRUE(site.files.hidden);
  EXPECT_FALSE(site.files.listing);
  EXPECT_FALSE(site.files.compress);
  EXPECT_EQ(site.files.fallback, "index.html");
  EXPECT_EQ(site.files.index, (Texts{"a.html", "b.html"}));
  EXPECT_EQ(site.files.types.at("gcode"), "text/plain");
  EXPECT_EQ(site.files.types.size(), 2U);
  EXPECT_EQ(site.upload_directory, "up");
  EXPECT_EQ(site.uploads.file_bytes_max, 2ULL << 30);
  EXPECT_EQ(site.uploads.directory_bytes_max, 5000U);
  EXPECT_EQ(site.uploads.reserve_bytes, 0U);
  EXPECT_TRUE(site.uploads.overwrite);
  EXPECT_EQ(site.cors_origins, Texts{"*"});
  EXPECT_EQ(site.error_pages, "errors");
  ASSERT_EQ(site.protected_paths.size(), 2U);
  EXPECT_EQ(site.protected_paths[1].path, "/b");
  EXPECT_EQ(site.protected_paths[1].user_file, "users");
  const Listener& listener = configuration.listeners.at(0);
  EXPECT_EQ(listener.host, "127.0.0.1");
  EXPECT_EQ(listener.port, 0);
  EXPECT_TRUE(listener.cleartext);
  EXPECT_TRUE(configuration.port_given);
  const ServerOptions& server = configuration.server;
  EXPECT_EQ(server.threads, 3U);
  EXPECT_EQ(server.scheme, ServerScheme::acceptor);
  EXPECT_EQ(server.io, IoEngine::epoll);
  EXPECT_EQ(server.http2, Http2Implementation::nghttp2);
  EXPECT_EQ(server.limits.requests_per_connection, 7U);
  EXPECT_EQ(server.limits.idle_ms_max, 90'000U);
  EXPECT_EQ(server.drain_limit, std::chrono::minutes(2));
  EXPECT_EQ(configuration.shutdown_delay, std::chrono::seconds(15));
  EXPECT_NE(server.limits.send_file_bytes_min, 0U);
  EXPECT_TRUE(configuration.serve_all);
  EXPECT_EQ(configuration.file, path("site.toml"));
}

TEST_F(ConfigurationTest, TakesKeysOfOperation) {
  const Configuration configuration = valid(R"(
access-log = "access.log"
log-format = "json"
log-queries = false
log-rotate = "10MiB"
log-keep = 9
error-log = "error.log"
admin = "0.0.0.0:9000"
admin-token = "geheim"
trace-endpoint = "http://127.0.0.1:4318/v1/traces"
trace-sample = 0.5
trusted-proxy = ["10.0.0.0/8", "::1"]
rate-limit = "10/s 50"
)");
  EXPECT_EQ(configuration.sites.at(0).access_log, "access.log");
  EXPECT_EQ(configuration.sites.at(0).requests_per_s, 10);
  EXPECT_EQ(configuration.sites.at(0).request_burst, 50U);
  EXPECT_EQ(configuration.log.format, LogFormat::json);
  EXPECT_FALSE(configuration.log.queries);
  EXPECT_EQ(configuration.log.rotate_bytes, 10U << 20);
  EXPECT_EQ(configuration.log.keep, 9U);
  EXPECT_EQ(configuration.log.error_log, "error.log");
  EXPECT_EQ(configuration.admin.address, "0.0.0.0:9000");
  EXPECT_EQ(configuration.admin.token, "geheim");
  EXPECT_EQ(configuration.trace.endpoint, "http://127.0.0.1:4318/v1/traces");
  EXPECT_EQ(configuration.trace.sample, 0.5);
  EXPECT_EQ(configuration.trusted_proxies, (Texts{"10.0.0.0/8", "::1"}));
}

TEST_F(ConfigurationTest, HasSitesAndListeners) {
  const Configuration configuration = valid(R"(
cert = "a.crt"
trusted-proxy = "::1"
[[listener]]
port = 80
redirect = true
[[listener]]
host = "::1"
port = 443
proxy-protocol = true
[[listener]]
unix = "/run/x.sock"
unix-mode = "0660"
h2c = true
[[site]]
host = ["Example.com", "*.example.com."]
root = "a"
key = "a.key"
[[site]]
host = "old.example"
redirect = ["/** https://example.com/$1 301"]
local-ca = false
[[site]]
root = "b"
)");
  ASSERT_EQ(configuration.listeners.size(), 3U);
  EXPECT_TRUE(configuration.listeners[0].redirect);
  EXPECT_TRUE(configuration.listeners[0].cleartext);
  EXPECT_EQ(configuration.listeners[1].host, "::1");
  EXPECT_FALSE(configuration.listeners[1].cleartext);
  EXPECT_TRUE(configuration.listeners[1].proxy_protocol);
  EXPECT_EQ(configuration.listeners[1].place.line, 7U);
  EXPECT_EQ(configuration.listeners[2].unix_path, "/run/x.sock");
  EXPECT_EQ(configuration.listeners[2].unix_mode, 0660U);
  EXPECT_EQ(configuration.listeners[2].port, 0);
  EXPECT_TRUE(configuration.port_given);
  ASSERT_EQ(configuration.sites.size(), 3U);
  EXPECT_EQ(configuration.sites[0].hosts, (Texts{"example.com", "*.example.com"}));
  EXPECT_EQ(configuration.sites[0].certificate, CertificateSource::files);
  EXPECT_EQ(configuration.sites[0].certificate_file, "a.crt");
  EXPECT_EQ(configuration.sites[0].key_file, "a.key");
  EXPECT_EQ(configuration.sites[0].place.line, 15U);
  EXPECT_EQ(configuration.sites[1].root, "") << "it serves no files";
  ASSERT_EQ(configuration.sites[1].redirects.size(), 1U);
  EXPECT_EQ(configuration.sites[1].redirects[0].status, 301);
  EXPECT_TRUE(configuration.sites[2].hosts.empty());
  EXPECT_EQ(configuration.sites[2].key_file, "./cert/server.key");
}

TEST_F(ConfigurationTest, RedirectsToAKnownPort) {
  const std::string plain = "[[listener]]\nport = 0\nredirect = true\n";
  EXPECT_EQ(valid(plain + "[[listener]]\nport = 1\n[[listener]]\nport = 0").listeners.size(), 3U);
  EXPECT_EQ(valid(plain + "[[listener]]\nunix = \"a\"").listeners.size(), 2U)
      << "a proxy has that of https";
}

TEST_F(ConfigurationTest, KnowsWhereValuesStand) {
  const Configuration configuration =
      valid("cert = \"a\"\nerror-pages = \"e\"\n[[site]]\nhost = \"a\"\nroot = \".\"\n"
            "auth = [\"/=u\"]\n[[site]]\nroot = \".\"\nkey = \"k\"\n",
            {{"error-pages", {"f"}}});
  const auto line_of = [&](std::size_t site, std::string_view key) {
    const auto& places = configuration.sites.at(site).places;
    const auto found = places.find(key);
    return found != places.end() ? static_cast<int>(found->second.line) : -1;
  };
  EXPECT_EQ(line_of(0, "cert"), 1);
  EXPECT_EQ(line_of(0, "key"), -1);
  EXPECT_EQ(line_of(0, "root"), 5);
  EXPECT_EQ(line_of(0, "auth"), 6);
  EXPECT_EQ(line_of(0, "error-pages"), 0) << "on the command line";
  EXPECT_EQ(line_of(1, "key"), 9);
  EXPECT_EQ(line_of(1, "auth"), -1);
}

TEST_F(ConfigurationTest, HasDefaultsAtTheTop) {
  const Configuration configuration = valid(R"(
hidden = true
spa = true
header = ["/a A: 1", "/b B: 2"]
cache = "/c 1m"
access-log = "all.log"
port = 444
[[listener]]
host = "127.0.0.1"
[[listener]]
host = "127.0.0.1"
port = 445
[[site]]
root = "a"
[[site]]
host = "b"
root = "b"
hidden = false
spa = false
header = "/d D: 4"
access-log = "off"
)");
  const Site& first = configuration.sites.at(0);
  const Site& second = configuration.sites.at(1);
  EXPECT_TRUE(first.files.hidden);
  EXPECT_FALSE(second.files.hidden);
  EXPECT_EQ(first.files.fallback, "index.html");
  EXPECT_EQ(second.files.fallback, "");
  EXPECT_EQ(first.headers.size(), 3U);
  ASSERT_EQ(second.headers.size(), 2U) << "its own list takes the place of the default's";
  EXPECT_EQ(second.headers[0].name, "D");
  EXPECT_EQ(second.headers[1].value, "max-age=60");
  EXPECT_EQ(first.access_log, "all.log");
  EXPECT_EQ(second.access_log, "");
  EXPECT_EQ(configuration.listeners.at(0).port, 444);
  EXPECT_EQ(configuration.listeners.at(1).port, 445);
}

TEST_F(ConfigurationTest, LetsTheCommandLineGoBeforeTheTop) {
  const Configuration configuration =
      valid("port = 1\nthreads = 2\nheader = [\"/a A: 1\", \"/b B: 2\"]\nhidden = true\n",
            {{"port", {"9"}}, {"header", {"/c C: 3"}}, {"h2c", {"true"}}});
  EXPECT_EQ(configuration.listeners.at(0).port, 9);
  EXPECT_TRUE(configuration.listeners.at(0).cleartext);
  EXPECT_EQ(configuration.server.threads, 2U);
  EXPECT_TRUE(configuration.sites.at(0).files.hidden);
  ASSERT_EQ(configuration.sites.at(0).headers.size(), 1U);
  EXPECT_EQ(configuration.sites.at(0).headers[0].name, "C");
}

TEST_F(ConfigurationTest, OrdersRulesForFields) {
  const Configuration configuration =
      valid("immutable = \"/assets/**\"\ncache = \"/** 1h\"\nheader = \"/** Cache-Control: a\"\n");
  const auto& headers = configuration.sites.at(0).headers;
  ASSERT_EQ(headers.size(), 3U);
  EXPECT_EQ(headers[0].value, "a");
  EXPECT_EQ(headers[1].value, "max-age=3600");
  EXPECT_TRUE(headers[2].hashed_names_only) << "the last one counts";
}

TEST_F(ConfigurationTest, ChoosesCertificates) {
  const auto source = [&](const CommandLine& command_line) {
    return parse_command_line(command_line).configuration.sites.at(0).certificate;
  };
  EXPECT_EQ(source({{"cert", {"a"}}}), CertificateSource::files);
  EXPECT_EQ(source({{"key", {"a"}}}), CertificateSource::files);
  EXPECT_EQ(source({{"key", {"a"}}, {"self-signed", {"true"}}}), CertificateSource::self_signed);
  EXPECT_EQ(source({{"local-ca", {"true"}}}), CertificateSource::local_authority);
  EXPECT_EQ(source({{"self-signed", {"false"}}}), CertificateSource::own);
}

TEST_F(ConfigurationTest, ChoosesPorts) {
  EXPECT_EQ(valid("h2c = true").listeners.at(0).port, 8080);
  EXPECT_FALSE(valid("h2c = true").port_given);
  EXPECT_EQ(valid("[[listener]]\nhost = \"::1\"").listeners.at(0).port, 8443);
  EXPECT_TRUE(valid("[[listener]]\nhost = \"::1\"").port_given);
  EXPECT_EQ(valid("[[listener]]\nport = 0\n[[listener]]\nport = 0").listeners.size(), 2U);
}

TEST_F(ConfigurationTest, ReplacesVariables) {
  environment_ = {{"PORT", "81"}, {"H2C", "true"}, {"WWW", "/srv/www"}, {"EXT", "x=text/css"}};
  const Configuration configuration = valid(R"(
port = "${PORT}"
h2c = "${H2C}"
threads = "${THREADS:-3}"
root = "${WWW}/a"
type = ["${EXT}", "y=text/css"]
redirect = "/old/** /new/$1"
)");
  EXPECT_EQ(configuration.listeners.at(0).port, 81);
  EXPECT_TRUE(configuration.listeners.at(0).cleartext);
  EXPECT_EQ(configuration.server.threads, 3U);
  EXPECT_EQ(configuration.sites.at(0).root, "/srv/www/a");
  EXPECT_EQ(configuration.sites.at(0).files.types.size(), 2U);
  EXPECT_EQ(configuration.sites.at(0).redirects.at(0).to, "/new/$1");
  EXPECT_EQ(parse("\nroot = \"${NONE}\"").problems,
            Texts{"site.toml:2: root: the environment has no variable NONE; set it, or write "
                  "${NONE:-DEFAULT}"});
  environment_["PORT"] = "http";
  EXPECT_EQ(parse("port = \"${PORT}\"").problems,
            Texts{"site.toml:1: port = \"http\": not a number; allowed: 0 to 65535"});
  EXPECT_EQ(parse_command_line({{"root", {"${PORT}"}}}).configuration.sites.at(0).root, "${PORT}")
      << "the shell has replaced what it should";
}

// --- included files ----------------------------------------------------------------------------

using Includes = ConfigurationTest;

TEST_F(Includes, AreReadBesideTheirFile) {
  write("sites/b.toml", "[[site]]\nhost = \"b\"\nroot = \"b\"\ninclude = \"x\"\n");
  write("sites/a.toml", "[[site]]\nhost = \"a\"\nroot = \"a\"\n");
  write("sites/c.txt", "wrong");
  write("sites/b.toml", "include = \"more/*.toml\"\n[[site]]\nhost = \"b\"\nroot = \"b\"\n");
  write("sites/more/d.toml", "threads = 3\n[[site]]\nhost = \"d\"\nroot = \"d\"\n");
  const Configuration configuration =
      valid("include = [\"sites/*.toml\", \"none/*.toml\"]\nhidden = true\n");
  EXPECT_EQ(configuration.server.threads, 3U);
  ASSERT_EQ(configuration.sites.size(), 3U);
  EXPECT_EQ(configuration.sites[0].hosts, Texts{"a"});
  EXPECT_EQ(configuration.sites[0].place.file, path("sites/a.toml"));
  EXPECT_TRUE(configuration.sites[2].files.hidden);
}

TEST_F(Includes, MustExistWithoutAPattern) {
  EXPECT_EQ(parse("\ninclude = \"a.toml\"").problems,
            Texts{"site.toml:2: can't read the configuration a.toml: No such file or directory"});
}

TEST_F(Includes, FormNoCycle) {
  write("a.toml", "\ninclude = \"b.toml\"");
  write("b.toml", "include = \"./site.toml\"");
  EXPECT_EQ(parse("include = \"a.toml\"").problems, Texts{"b.toml:1: ./site.toml includes itself"});
}

TEST_F(Includes, AreNotTooDeep) {
  for (int i = 1; i <= 9; ++i) {
    write("f" + std::to_string(i) + ".toml", "include = \"f" + std::to_string(i + 1) + ".toml\"");
  }
  write("f9.toml", "threads = 2");
  EXPECT_EQ(parse("include = \"f2.toml\"").problems, Texts{}) << "eight of them";
  EXPECT_EQ(parse("include = \"f1.toml\"").problems,
            Texts{"f8.toml:1: f9.toml is included by more than 8 files in a row"});
}

TEST_F(Includes, SetKeysOnce) {
  write("a.toml", "threads = 3");
  EXPECT_EQ(parse("include = \"a.toml\"\nthreads = 2").problems,
            Texts{"site.toml:2: threads is set already, at a.toml:1"});
}

TEST_F(Includes, HaveErrorsWithTheirOwnPlaces) {
  write("a.toml", "\nthreds = 3\n[[site]]\nhost = \"x\"\nroot = \".\"\n");
  EXPECT_EQ(parse("include = \"a.toml\"\n[[site]]\nhost = \"x\"\nroot = \".\"\n").problems,
            (Texts{"a.toml:2: unknown key \"threds\"; did you mean \"threads\"?",
                   "site.toml:3: host = \"x\": it has a site already, at a.toml:4"}));
}

TEST_F(Includes, AreNotOnTheCommandLine) {
  EXPECT_EQ(find_option("include", Section::command_line), nullptr);
  EXPECT_EQ(parse("[[site]]\ninclude = \"a\"\nroot = \".\"").problems,
            Texts{"site.toml:2: \"include\" belongs at the top, before all tables, not in "
                  "[[site]]"});
}

// --- the effective configuration ---------------------------------------------------------------

TEST_F(ConfigurationTest, IsTheSameFromItsEffectiveText) {
  environment_["TOKEN"] = "***";
  const char* const texts[] = {
      "",
      "h2c = true\nhost = \"::1\"\nsendfile = true",
      "scheme = \"buffered-pool\"\nqueue-size = 3\nwhen-full = \"refuse\"\nthreads = 3",
      "port = 5\nself-signed = true\ncert = \"a\"\nhsts = true\nticket-key = [\"b\", \"c\"]",
      "local-ca = true\nlog-rotate = \"5M\"\nlog-keep = 2\nlog-queries = false",
      ("admin = \"[::1]:1\"\nadmin-token = \"${TOKEN}\"\ntrace-endpoint = \"http://a/\"\n"
       "trace-sample = 0.123456789\ntrusted-proxy = [\"10.0.0.0/8\", \"::1\"]\nyes = true"),
      R"([[site]]
root = "a \" b \\ c	d ü $${X}"
header = ["/a A: b", "/c D:"]
cache = ["/e 1h"]
immutable = ["/f/**", "/g"]
redirect = "/old/** /new/$1"
rewrite = "/user/* /$1"
auth = "/x=users"
upload-dir = "up"
upload-max = "2G"
upload-reserve = 7
rate-limit = "7/m 3"
type = "a=text/css"
index = ["x", "y"]
spa = true
no-listing = true
access-log = "-"
[[site]]
host = ["a", "*.a"]
redirect = "/** https://b/"
[[listener]]
port = 80
redirect = true
[[listener]]
unix = "s"
unix-mode = "0600"
[[listener]]
port = 443
)"};
  for (const std::string text : texts) {
    const std::string effective = effective_toml(valid(text));
    EXPECT_EQ(effective_toml(valid(effective)), effective) << text;
  }
}

TEST_F(ConfigurationTest, HidesSecretsInItsEffectiveText) {
  const std::string text = effective_toml(valid("admin = \"[::1]:1\"\nadmin-token = \"geheim\""));
  EXPECT_EQ(text.find("geheim"), std::string::npos);
  EXPECT_NE(text.find("admin-token = \"***\"  # hidden\n"), std::string::npos);
}

TEST_F(ConfigurationTest, HidesUserInformationInItsEffectiveText) {
  const std::pair<std::string_view, std::string_view> endpoints[] = {
      {"http://a.example:4318/v1/traces", "http://a.example:4318/v1/traces"},
      {"http://ada:geheim@a.example/v1?b=c@d", "http://***@a.example/v1?b=c@d"},
      {"http://geheim@[::1]:4318/", "http://***@[::1]:4318/"},
      {"http://ada:geh@eim@a.example", "http://***@a.example"},
      {"http://a.example/@b", "http://a.example/@b"},
  };
  for (const auto& [endpoint, shown] : endpoints) {
    const Configuration configuration = valid("trace-endpoint = \"" + std::string(endpoint) + "\"");
    EXPECT_EQ(configuration.trace.endpoint, endpoint);
    const std::string text = effective_toml(configuration);
    EXPECT_NE(text.find("\ntrace-endpoint = \"" + std::string(shown) + "\"\n"), text.npos) << text;
    EXPECT_EQ(effective_toml(valid(text)), text);
  }
}

// --- size --------------------------------------------------------------------------------------

TEST_F(ConfigurationTest, MayHaveManySites) {
  std::string text = "hidden = true\ncache = \"/** 1h\"\n";
  for (int i = 0; i < 1000; ++i) {
    text += "[[site]]\nhost = [\"a" + std::to_string(i) + ".example\", \"*.b" + std::to_string(i) +
            ".example\"]\nroot = \"/srv/" + std::to_string(i) + "\"\ncert = \"/etc/a.crt\"\n";
  }
  const Configuration configuration = valid(text);
  ASSERT_EQ(configuration.sites.size(), 1000U);
  EXPECT_EQ(configuration.sites[999].hosts[1], "*.b999.example");
  EXPECT_LT(sizeof(Site), 1024U) << "a thousand of them are to take 20 MB with all that they hold";
}

}  // namespace configuration_test
}  // namespace h2server::config
