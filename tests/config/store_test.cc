// Sites whose files are in an object store.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "config/configuration.h"
#include "config/effective.h"
#include "config/support.h"

namespace h2server::config {
namespace store_test {

using content::s3::Style;
using Texts = std::vector<std::string>;

class StoreConfigTest : public ConfigTest {};

constexpr std::string_view whole = R"(
[[site]]
host = "a.test"
s3-region = "eu-1"
store = "s3://bucket/prefix"
s3-endpoint = "http://127.0.0.1:9000"
s3-style = "host"
store-hedge = "200ms"
store-cache = "/var/cache/a"
store-cache-size = "3GiB"
[[site]]
root = "www"
)";

TEST_F(StoreConfigTest, Whole) {
  const Parsed parsed = parse(whole);
  EXPECT_EQ(parsed.problems, Texts{});
  const Site& site = parsed.configuration.sites.at(0);
  EXPECT_EQ(site.store.place, "s3://bucket/prefix");
  EXPECT_EQ(site.store.endpoint, "http://127.0.0.1:9000");
  EXPECT_EQ(site.store.region, "eu-1");
  EXPECT_EQ(site.store.style, Style::host);
  EXPECT_EQ(site.store.hedge, std::chrono::milliseconds(200));
  EXPECT_EQ(site.store.cache_directory, "/var/cache/a");
  EXPECT_EQ(site.store.cache_bytes, std::uint64_t{3} << 30);
  EXPECT_EQ(site.root, "");
  EXPECT_FALSE(site.files.compress);
  EXPECT_EQ(parsed.configuration.sites.at(1).store.place, "");
  EXPECT_EQ(parsed.configuration.sites.at(1).root, "www");
}

TEST_F(StoreConfigTest, TakesThePlaceOfTheDefaultRoot) {
  const Parsed parsed = parse_command_line({{"store", {"s3://bucket"}}});
  EXPECT_EQ(parsed.problems, Texts{});
  const Site& site = parsed.configuration.sites.at(0);
  EXPECT_EQ(site.store.place, "s3://bucket");
  EXPECT_EQ(site.root, "");
  EXPECT_FALSE(site.store.style);
  EXPECT_EQ(site.store.hedge, std::chrono::milliseconds(0));
}

TEST_F(StoreConfigTest, EffectiveConfigurationMeansTheSame) {
  for (const std::string_view text : {whole, std::string_view("store = \"s3://bucket\"\n")}) {
    const std::string first = effective_toml(parse(text).configuration);
    const Parsed again = parse(first);
    EXPECT_EQ(again.problems, Texts{}) << first;
    EXPECT_EQ(effective_toml(again.configuration), first);
  }
}

TEST_F(StoreConfigTest, Problems) {
  struct Row {
    std::string_view text;
    std::string_view problem;
  };
  const Row rows[] = {
      {"store = \"s3://b\"\nroot = \"www\"\n", "root has no effect beside"},
      {"store = \"s3://b\"\ncompress = true\n", "has no effect with"},
      {"s3-endpoint = \"http://a\"\n", "needs"},
      {"s3-region = \"a\"\n", "needs"},
      {"s3-style = \"path\"\n", "needs"},
      {"store-hedge = \"1s\"\n", "needs"},
      {"store-cache = \"c\"\n", "--store-cache needs --store"},
      {"store = \"s3://b\"\nstore-cache-size = \"1G\"\n", "needs --store-cache"},
      {"store = \"s3://b\"\nstore-cache = \"\"\n", "empty; leave it out"},
      {"store = \"s3://b\"\ns3-style = \"other\"\n", "unknown; allowed: path, host"},
      {"store = \"\"\n", "empty; leave it out"},
      {"store = \"https://b\"\n", "s3://BUCKET"},
      {"store = \"s3://b\"\ns3-region = \"a b\"\n", "\"a b\" is not a region"},
      {"store = \"s3://b\"\ns3-endpoint = \"b\"\n", "the endpoint must be http://HOST:PORT"},
      {"store = \"s3://b\"\nscheme = \"process-per-connection\"\n", "does not work with"},
      {"[[site]]\nhost = \"a\"\n", "needs root, the directory to serve, or store, or redirect"},
  };
  for (const Row& row : rows) {
    const Parsed parsed = parse(row.text);
    ASSERT_EQ(parsed.problems.size(), 1u) << row.text;
    EXPECT_NE(parsed.problems[0].find(row.problem), std::string::npos) << parsed.problems[0];
  }
}

}  // namespace store_test
}  // namespace h2server::config
