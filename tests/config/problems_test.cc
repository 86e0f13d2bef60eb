// Which errors a configuration gives: each case with its exact lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "config/problems.h"
#include "config/support.h"

namespace h2server::config {
namespace problems_test {

using Lines = std::vector<std::string>;

struct WrongFile {
  const char* name;
  const char* text;
  Lines lines;
};

class WrongFiles : public ConfigTest, public testing::WithParamInterface<WrongFile> {};

TEST_P(WrongFiles, AreExplained) {
  const Parsed parsed = parse(GetParam().text);
  EXPECT_EQ(parsed.problems, GetParam().lines);
}

std::string name_of_case(const testing::TestParamInfo<WrongFile>& one) { return one.param.name; }

// What stands in the file, its type and its range.
const WrongFile values[] = {
    {"a_word",
     "\n\nport = eighty\n",
     {"site.toml:3: port = eighty: not a number; allowed: 0 to 65535"}},
    {"a_text",
     "port = \"http\"",
     {"site.toml:1: port = \"http\": not a number; allowed: 0 to 65535"}},
    {"too_large", "port = 70000", {"site.toml:1: port = 70000: too large; allowed: 0 to 65535"}},
    {"negative", "port = -1", {"site.toml:1: port = -1: too small; allowed: 0 to 65535"}},
    {"decimal", "port = 1.5", {"site.toml:1: port = 1.5: not a number; allowed: 0 to 65535"}},
    {"switch_for_number",
     "port = true",
     {"site.toml:1: port = true: not a number; allowed: 0 to 65535"}},
    {"threads",
     "threads = 0",
     {"site.toml:1: threads = 0: too small; allowed: 1 to 1024, or auto"}},
    {"number_for_text",
     "root = 5",
     {"site.toml:1: root = 5: not a text; write it between \" and \""}},
    {"text_without_quotes",
     "root = www",
     {"site.toml:1: root = www: a text without quotes; write it between \" and \""}},
    {"no_value", "threads =", {"site.toml:1: threads has no value"}},
    {"list", "port = [1, 2]", {"site.toml:1: port takes one value, not a list"}},
    {"date", "root = 2020-01-01", {"site.toml:1: root: a value of a type that no option has"}},
    {"choice",
     "io = \"tea\"",
     {"site.toml:1: io = \"tea\": unknown; allowed: auto, epoll, io_uring, blocking"}},
    {"flag", "hsts = 3", {"site.toml:1: hsts = 3: neither true nor false; allowed: true, false"}},
    {"opposite",
     "listing = 3",
     {"site.toml:1: listing = 3: neither true nor false; allowed: true, false"}},
    {"size",
     "upload-dir = \"u\"\nupload-max = \"5 apples\"",
     {"site.toml:2: upload-max = \"5 apples\": not a size; allowed: bytes, such as 500, 500k, 2G "
      "or 2GiB"}},
    {"duration",
     "idle-timeout = 60",
     {"site.toml:1: idle-timeout = 60: no unit; allowed: such as 60s or 60ms"}},
    {"no_duration",
     "idle-timeout = \"0s\"",
     {"site.toml:1: idle-timeout = \"0s\": out of range; allowed: 1ms to 7d"}},
    {"ratio",
     "trace-endpoint = \"http://a/\"\ntrace-sample = 1.5",
     {"site.toml:2: trace-sample = 1.5: too large; allowed: 0 to 1"}},
    {"one_of_a_list", "cors = [\"a\", \"\"]", {"site.toml:1: cors = \"\": empty; leave it out"}},
    {"secret",
     "admin = \"[::1]:1\"\nadmin-token = 5",
     {"site.toml:2: admin-token: not a text; write it between \" and \""}},
};
INSTANTIATE_TEST_SUITE_P(Values, WrongFiles, testing::ValuesIn(values), name_of_case);

const WrongFile keys[] = {
    {"unknown", "threds = 4", {"site.toml:1: unknown key \"threds\"; did you mean \"threads\"?"}},
    {"swapped", "prot = 4", {"site.toml:1: unknown key \"prot\"; did you mean \"port\"?"}},
    {"of_the_section",
     "[[listener]]\nprot = 4",
     {"site.toml:2: unknown key \"prot\"; did you mean \"port\"?"}},
    {"far_from_all", "gubernaculum = 4", {"site.toml:1: unknown key \"gubernaculum\""}},
    {"command_line_only", "config = \"a\"", {"site.toml:1: unknown key \"config\""}},
    {"of_a_site",
     "[[listener]]\nroot = \"a\"",
     {"site.toml:2: \"root\" belongs in [[site]], not in [[listener]]"}},
    {"of_a_listener",
     "[[site]]\nport = 1\nroot = \".\"",
     {"site.toml:2: \"port\" belongs in [[listener]], not in [[site]]"}},
    {"of_the_program",
     "[[site]]\nthreads = 1\nroot = \".\"",
     {"site.toml:2: \"threads\" belongs at the top, before all tables, not in [[site]]"}},
    {"only_of_a_listener",
     "unix = \"a\"",
     {"site.toml:1: \"unix\" belongs in [[listener]], not at the top"}},
    {"table",
     "[tea]\nport = 1",
     {"site.toml:1: [tea] is no table; allowed: [[site]] and [[listener]]"}},
    {"table_of_an_option", "[port]\na = 1", {"site.toml:1: [port] is an option, not a table"}},
    {"single_brackets",
     "[site]\nroot = \".\"",
     {"site.toml:1: [site]: write [[site]], since there may be several"}},
    {"twice",
     "listing = true\nno-listing = true",
     {"site.toml:2: no-listing is set already, at site.toml:1"}},
    {"twice_in_toml",
     "port = 1\nport = 2",
     {"site.toml:2: Error while parsing key-value pair: cannot redefine existing integer 'port'"}},
};
INSTANTIATE_TEST_SUITE_P(Keys, WrongFiles, testing::ValuesIn(keys), name_of_case);

const WrongFile rules[] = {
    {"header",
     "header = \"/a\"",
     {"site.toml:1: header = \"/a\": not a rule; allowed: a pattern and a field, such as "
      "\"/**.css Cache-Control: max-age=3600\", or no value to remove the field"}},
    {"field",
     "header = \"/ a b: c\"",
     {"site.toml:1: header = \"/ a b: c\": \"a b\" is not the name of a field"}},
    {"cache",
     "cache = \"/a 1x\"",
     {"site.toml:1: cache = \"/a 1x\": \"1x\" is not a duration; allowed: such as 500ms, 10s, 5m, "
      "1h or 1d"}},
    {"redirect",
     "redirect = \"/a\"",
     {"site.toml:1: redirect = \"/a\": not a redirect; allowed: a pattern, a path or URL, and a "
      "status, such as \"/old/** /new/$1 301\""}},
    {"status",
     "redirect = \"/a /b 200\"",
     {"site.toml:1: redirect = \"/a /b 200\": a redirect makes no sense: 200 is not the status of "
      "a "
      "redirect: 301, 302, 303, 307 or 308"}},
    {"reference",
     "redirect = \"/a/* /b/$2\"",
     {"site.toml:1: redirect = \"/a/* /b/$2\": a redirect makes no sense: \"/b/$2\": the pattern "
      "has 1 wildcard, so there is no $2"}},
    {"rewrite",
     "rewrite = \"/a https://b.example/\"",
     {"site.toml:1: rewrite = \"/a https://b.example/\": a rewrite makes no sense: "
      "\"https://b.example/\" does not begin with '/'"}},
    {"auth",
     "auth = \"/a*=users\"",
     {"site.toml:1: auth = \"/a*=users\": /a* would protect nothing: PATH is taken as it is, "
      "without *, ? and percent-encoding, and with all below it"}},
    {"type",
     "type = \"gcode\"",
     {"site.toml:1: type = \"gcode\": there is no '='; allowed: EXT=TYPE, such as "
      "gcode=text/plain"}},
    {"index",
     "index = [\"a/b\"]",
     {"site.toml:1: index = \"a/b\": \"a/b\" is not the name of a file"}},
    {"rate",
     "rate-limit = 10",
     {"site.toml:1: rate-limit = 10: not a text; write it between \" and \""}},
    {"rate_form",
     "rate-limit = \"10\"",
     {"site.toml:1: rate-limit = 10: not a rate; allowed: requests per second and how many at "
      "once, such as 10/s or \"10/s 50\""}},
    {"host",
     "[[site]]\nhost = \"a:80\"\nroot = \".\"",
     {"site.toml:2: host = \"a:80\": not a host; allowed: a name without a port, such as "
      "example.com, *.example.com or 192.0.2.1"}},
    {"network",
     "trusted-proxy = \"10.0.0.0/33\"",
     {"site.toml:1: trusted-proxy = \"10.0.0.0/33\": not an address or a network, whose bits "
      "behind its prefix are 0; allowed: such as 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32"}},
    {"admin",
     "admin = \"9000\"",
     {"site.toml:1: admin = 9000: not an address; allowed: such as 127.0.0.1:9000, [::1]:9000 or "
      "unix:PATH"}},
    {"endpoint",
     "trace-endpoint = \"https://ada:geheim@a.example/\"",
     {"site.toml:1: trace-endpoint = \"https://***@a.example/\": not a URL; allowed: such as "
      "http://127.0.0.1:4318/v1/traces"}},
    {"endpoint_without_quotes",
     "trace-endpoint = http://ada:geheim@a.example/",
     {"site.toml:1: trace-endpoint = http://***@a.example/: a text without quotes; write it "
      "between \" and \""}},
    {"mode",
     "[[listener]]\nunix = \"a\"\nunix-mode = \"0999\"",
     {"site.toml:3: unix-mode = 0999: not permissions; allowed: octal digits, such as \"0660\""}},
};
INSTANTIATE_TEST_SUITE_P(Rules, WrongFiles, testing::ValuesIn(rules), name_of_case);

const WrongFile relations[] = {
    {"key_without_tls",
     "h2c = true\nkey = \"a.key\"",
     {"site.toml:2: --key has no effect beside --h2c, which serves without TLS; leave one out"}},
    {"certificate_of_a_site_without_tls",
     "[[listener]]\nh2c = true\n[[site]]\nroot = \".\"\ncert = \"a\"",
     {"site.toml:5: --cert has no effect beside --h2c, which serves without TLS; leave one out"}},
    {"ticket_key_without_tls",
     "h2c = true\nticket-key = \"a\"",
     {"site.toml:2: --ticket-key has no effect beside --h2c, which serves without TLS; leave one "
      "out"}},
    {"two_makers",
     "local-ca = true\nself-signed = true",
     {"site.toml:1: --local-ca makes its own certificate; leave out --cert, --key and "
      "--self-signed"}},
    {"sendfile",
     "sendfile = true",
     {"site.toml:1: --sendfile has no effect without --h2c, since TLS encrypts what it sends; "
      "leave it out"}},
    {"uploads", "upload-max = \"1G\"", {"site.toml:1: --upload-max needs --upload-dir"}},
    {"uploads_of_a_site",
     "[[site]]\nroot = \".\"\nupload-overwrite = true",
     {"site.toml:3: --upload-overwrite needs --upload-dir"}},
    {"threads",
     "scheme = \"thread-per-connection\"\nthreads = 4",
     {"site.toml:2: --threads has no effect beside --scheme thread-per-connection, where "
      "--connections-max limits the connections; leave it out"}},
    {"engine",
     "io = \"epoll\"\nscheme = \"thread-pool\"",
     {"site.toml:1: --scheme thread-pool does not run on --io epoll; see h2server --scheme help"}},
    {"queue",
     "queue-size = 3",
     {"site.toml:1: --queue-size is for buffered-pool, not for reuseport"}},
    {"processes",
     "scheme = \"process-per-connection\"\nrate-limit = \"1/s\"\nadmin = \"[::1]:1\"",
     {"site.toml:2: --rate-limit does not work with --scheme process-per-connection, where each "
      "process knows of its own connection only",
      "site.toml:3: --admin does not work with --scheme process-per-connection, where each process "
      "knows of its own connection only"}},
    {"one_log_of_processes",
     "scheme = \"process-per-connection\"\naccess-log = \"a\"\n[[site]]\nroot = \".\"\n"
     "access-log = \"off\"\n[[site]]\nhost = \"a\"\nroot = \".\"",
     {"site.toml:2: --access-log does not work with --scheme process-per-connection, where each "
      "process knows of its own connection only"}},
    {"log_keep", "log-keep = 3", {"site.toml:1: --log-keep needs --log-rotate"}},
    {"admin_for_others",
     "admin = \"0.0.0.0:9000\"",
     {"site.toml:1: --admin 0.0.0.0:9000 can be reached by others, so it needs --admin-token; or "
      "use 127.0.0.1, [::1] or unix:PATH"}},
    {"token_of_nothing", "admin-token = \"a\"", {"site.toml:1: --admin-token needs --admin"}},
    {"sample_of_nothing",
     "trace-sample = 1",
     {"site.toml:1: --trace-sample needs --trace-endpoint"}},
    {"unix_and_port",
     "[[listener]]\nunix = \"a\"\nport = 1",
     {"site.toml:3: port has no effect beside unix; leave one out"}},
    {"mode_of_nothing",
     "[[listener]]\nunix-mode = \"0600\"",
     {"site.toml:1: unix-mode needs unix"}},
    {"redirect_to_nothing",
     "[[listener]]\nredirect = true",
     {"site.toml:1: redirect leads to https, but no listener has TLS; add a [[listener]]"}},
    {"redirect_to_any_port",
     "[[listener]]\nport = 80\nredirect = true\n[[listener]]\nport = 0",
     {"site.toml:1: redirect leads to the port of the listener at site.toml:4, which has port = 0, "
      "any free one; give that a port"}},
    {"proxy_protocol_of_anyone",
     "[[listener]]\nproxy-protocol = true",
     {"site.toml:1: proxy-protocol needs --trusted-proxy, or anyone could claim any address"}},
    {"one_port_twice",
     "[[listener]]\nport = 1\n[[listener]]\nport = 1",
     {"site.toml:3: a second listener at port 1; the first one is at site.toml:1"}},
    {"one_socket_twice",
     "[[listener]]\nunix = \"a\"\n[[listener]]\nunix = \"a\"",
     {"site.toml:3: a second listener at unix:a; the first one is at site.toml:1"}},
    {"host_twice",
     "[[site]]\nhost = \"a\"\nroot = \".\"\n[[site]]\nhost = [\"b\", \"A.\"]\nroot = \".\"",
     {"site.toml:5: host = \"a\": it has a site already, at site.toml:2"}},
    {"two_without_host",
     "[[site]]\nroot = \".\"\n[[site]]\nroot = \".\"",
     {"site.toml:3: a second [[site]] without host; the first one is at site.toml:1"}},
    {"without_root",
     "[[site]]\nhost = \"a\"",
     {"site.toml:1: a [[site]] needs root, the directory to serve, or store, or redirect"}},
};
INSTANTIATE_TEST_SUITE_P(Relations, WrongFiles, testing::ValuesIn(relations), name_of_case);

using ConfigFiles = ConfigTest;

TEST_F(ConfigFiles, HaveAllErrorsReported) {
  const Parsed parsed =
      parse("port = eighty\nthreds = 1\nroot = www\n[[site]]\nhots = 1\nroot = 1\n");
  EXPECT_EQ(parsed.problems,
            (Lines{"site.toml:1: port = eighty: not a number; allowed: 0 to 65535",
                   "site.toml:2: unknown key \"threds\"; did you mean \"threads\"?",
                   "site.toml:3: root = www: a text without quotes; write it between \" and \"",
                   "site.toml:5: unknown key \"hots\"; did you mean \"host\"?",
                   "site.toml:6: root = 1: not a text; write it between \" and \""}));
}

TEST_F(ConfigFiles, HaveABoundedNumberOfErrors) {
  std::string text;
  for (int i = 0; i < 25; ++i) text += "unknown" + std::to_string(i) + " = 1\n";
  const Parsed parsed = parse(text);
  ASSERT_EQ(parsed.problems.size(), Problems::lines_max + 1);
  EXPECT_EQ(parsed.problems.back(), "and 5 more");
}

TEST_F(ConfigFiles, ShowNeitherControlCharactersNorLongValues) {
  const Parsed parsed = parse("io = \"a\\nb\\u001b" + std::string(200, 'x') + "\"");
  ASSERT_EQ(parsed.problems.size(), 1U);
  EXPECT_NE(parsed.problems[0].find("\"a\\x0ab\\x1b"), std::string::npos);
  EXPECT_LT(parsed.problems[0].size(), 200U);
}

TEST_F(ConfigFiles, MustExist) {
  EXPECT_EQ(parse_files().problems,
            (Lines{"can't read the configuration site.toml: No such file or directory"}));
}

TEST_F(ConfigFiles, AreNoDirectories) {
  write("site.toml/a", "");
  EXPECT_EQ(parse_files().problems,
            (Lines{"can't read the configuration site.toml: Is a directory"}));
}

using Arguments = ConfigTest;

TEST_F(Arguments, AreNamedAsOptions) {
  EXPECT_EQ(parse_command_line({{"port", {"70000"}}}).problems,
            (Lines{"--port 70000: too large; allowed: 0 to 65535"}));
  EXPECT_EQ(parse_command_line({{"type", {""}}}).problems,
            (Lines{"--type \"\": there is no '='; allowed: EXT=TYPE, such as gcode=text/plain"}));
  EXPECT_EQ(parse_command_line({{"h2c", {"true"}}, {"hsts", {"true"}}}).problems,
            (Lines{"--hsts has no effect beside --h2c, which serves without TLS; leave one out"}));
  EXPECT_EQ(parse_command_line({{"admin", {"127.0.0.1:1"}}, {"admin-token", {""}}}).problems,
            (Lines{"--admin-token: empty; leave it out"}));
}

TEST_F(Arguments, HaveAnEffectBesideTables) {
  const std::string text = "[[site]]\nroot = \".\"\n[[listener]]\nport = 1\n";
  EXPECT_EQ(parse(text, {{"root", {"www"}}, {"port", {"2"}}}).problems,
            (Lines{"--port has no effect: each [[listener]] of site.toml has its own",
                   "--root has no effect: each [[site]] of site.toml has its own"}));
}

}  // namespace problems_test
}  // namespace h2server::config
