#include "content/s3/location.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace h2server::content::s3 {
namespace location_test {

TEST(S3Location, OfOptions) {
  struct Row {
    LocationOptions options;
    std::string base_url;  // "-": refused
    std::string prefix = {};
    std::string region = "us-east-1";
  };
  const std::vector<Row> rows = {
      {{.place = "s3://pub"}, "https://pub.s3.us-east-1.amazonaws.com/"},
      {{.place = "s3://pub/"}, "https://pub.s3.us-east-1.amazonaws.com/"},
      {{.place = "s3://pub/a/b"}, "https://pub.s3.us-east-1.amazonaws.com/", "a/b/"},
      {{.place = "s3://pub/a/b/"}, "https://pub.s3.us-east-1.amazonaws.com/", "a/b/"},
      {{.place = "s3://pub", .region = "eu-central-1"},
       "https://pub.s3.eu-central-1.amazonaws.com/",
       "",
       "eu-central-1"},
      {{.place = "s3://pub", .region = "cn-north-1"},
       "https://pub.s3.cn-north-1.amazonaws.com.cn/",
       "",
       "cn-north-1"},
      // Certificates of AWS have one label in front, and hosts no capital letters.
      {{.place = "s3://my.pub"}, "https://s3.us-east-1.amazonaws.com/my.pub/"},
      {{.place = "s3://Pub_1"}, "https://s3.us-east-1.amazonaws.com/Pub_1/"},
      {{.place = "s3://pub", .style = Style::path}, "https://s3.us-east-1.amazonaws.com/pub/"},
      {{.place = "s3://pub", .endpoint = "http://127.0.0.1:9000"}, "http://127.0.0.1:9000/pub/"},
      {{.place = "s3://pub", .endpoint = "http://[::1]:9000/"}, "http://[::1]:9000/pub/"},
      {{.place = "s3://pub", .endpoint = "https://minio:9000", .region = "RegionOne"},
       "https://minio:9000/pub/",
       "",
       "RegionOne"},
      {{.place = "s3://pub", .endpoint = "https://minio:9000", .style = Style::host},
       "https://pub.minio:9000/"},
      {{.place = "s3://pub", .endpoint = "http://127.0.0.1:9000", .style = Style::host}, "-"},
      {{.place = "s3://pub", .endpoint = "http://[::1]:9000", .style = Style::host}, "-"},
      {{.place = "s3://Pub", .endpoint = "http://minio", .style = Style::host}, "-"},
      {{.place = ""}, "-"},
      {{.place = "pub"}, "-"},
      {{.place = "S3://pub"}, "-"},
      {{.place = "s3://"}, "-"},
      {{.place = "s3:///a"}, "-"},
      {{.place = "s3://a@b"}, "-"},
      {{.place = "s3://a..b"}, "-"},
      {{.place = "s3://-a"}, "-"},
      {{.place = "s3://pub//"}, "-"},
      {{.place = "s3://pub/a//b"}, "-"},
      {{.place = "s3://pub/../b"}, "-"},
      {{.place = "s3://pub/\xff"}, "-"},
      {{.place = "s3://pub", .endpoint = "minio:9000"}, "-"},
      {{.place = "s3://pub", .endpoint = "ftp://minio"}, "-"},
      {{.place = "s3://pub", .endpoint = "http://"}, "-"},
      {{.place = "s3://pub", .endpoint = "http://user:secret@minio"}, "-"},
      {{.place = "s3://pub", .endpoint = "http://minio/path"}, "-"},
      {{.place = "s3://pub", .endpoint = "http://minio?x"}, "-"},
      {{.place = "s3://pub", .endpoint = "http://minio:99999"}, "-"},
      {{.place = "s3://pub", .region = "eu/central"}, "-"},
      {{.place = "s3://pub", .region = "eu central"}, "-"},
  };
  for (const Row& row : rows) {
    const Result<Location, std::string> location = make_location(row.options);
    ASSERT_EQ(location ? location->base_url : "-", row.base_url)
        << row.options.place << ' ' << row.options.endpoint;
    if (!location) {
      EXPECT_EQ(location.error().find("secret"), std::string::npos);
      continue;
    }
    EXPECT_EQ(location->prefix, row.prefix);
    EXPECT_EQ(location->region, row.region);
    EXPECT_EQ(location->encrypted, row.base_url.starts_with("https:"));
  }
}

Location local(const std::string& place = "s3://pub/site") {
  return make_location({.place = place, .endpoint = "http://h:1"}).value();
}

TEST(S3Location, UrlsOfObjects) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a.txt", "http://h:1/pub/site/a.txt"},
      {"a/b c/\xc3\xbc", "http://h:1/pub/site/a/b%20c/%C3%BC"},
      {"%2F", "http://h:1/pub/site/%252F"},
      {".a", "http://h:1/pub/site/.a"},
      {"...", "http://h:1/pub/site/..."},
      {"", "-"},
      {"/a", "-"},
      {"a/", "-"},
      {"a//b", "-"},
      {".", "-"},
      {"..", "-"},
      {"a/../b", "-"},
      {"a/./b", "-"},
      {"a/..", "-"},
      {"\xff", "-"},
      {"a\xc3", "-"},
      {"\xed\xa0\x80", "-"},
  };
  for (const auto& [key, url] : rows) {
    EXPECT_EQ(object_url(local(), key).value_or("-"), url) << key;
  }
}

// As the signature's canonical path has them: all bytes but the unreserved ones and "/" escaped.
TEST(S3Location, EscapesEveryByte) {
  const std::string unreserved =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  for (unsigned code = 0; code < 0x80; ++code) {
    const std::string key = {'a', static_cast<char>(code), 'b'};
    char escape[4];
    std::snprintf(escape, sizeof escape, "%%%02X", code);
    const bool kept = code == '/' || (code != 0 && unreserved.contains(key[1]));
    EXPECT_EQ(object_url(local("s3://pub"), key),
              "http://h:1/pub/a" + (kept ? std::string(1, key[1]) : escape) + "b");
  }
}

TEST(S3Location, KeysAreBounded) {
  EXPECT_TRUE(object_url(local("s3://pub"), std::string(1024, 'a')));
  EXPECT_FALSE(object_url(local("s3://pub"), std::string(1025, 'a')));
  EXPECT_TRUE(object_url(local(), std::string(1019, 'a')));  // with "site/"
  EXPECT_FALSE(object_url(local(), std::string(1020, 'a')));
  EXPECT_FALSE(make_location({.place = "s3://pub/" + std::string(1023, 'a')}));
}

TEST(S3Location, UrlsOfLists) {
  struct Row {
    ListOptions options;
    std::string query;
  };
  const std::vector<Row> rows = {
      {{}, "delimiter=%2F&encoding-type=url&list-type=2&max-keys=1000&prefix=site%2F"},
      {{.prefix = "a b/", .entries_max = 1},
       "delimiter=%2F&encoding-type=url&list-type=2&max-keys=1&prefix=site%2Fa%20b%2F"},
      {{.prefix = "a/", .after = "x+/="},
       "continuation-token=x%2B%2F%3D&delimiter=%2F&encoding-type=url&list-type=2&max-keys=1000"
       "&prefix=site%2Fa%2F"},
      {{.prefix = "a"}, "-"},
      {{.prefix = "/"}, "-"},
      {{.prefix = "a//"}, "-"},
      {{.prefix = "../"}, "-"},
      {{.prefix = std::string(1024, 'a') + "/"}, "-"},
  };
  for (const Row& row : rows) {
    const std::optional<std::string> url = list_url(local(), row.options);
    EXPECT_EQ(url.value_or("-"), row.query == "-" ? "-" : "http://h:1/pub/?" + row.query);
  }
  EXPECT_TRUE(list_url(local("s3://pub"), {})->ends_with("&prefix="));
}

}  // namespace location_test
}  // namespace h2server::content::s3
