#include "app/put/put_command.h"

#include <gtest/gtest.h>

#include "app/put/put_progress.h"
#include "app/put/put_state.h"
#include "app/put/put_target.h"
#include "content/support.h"

namespace h2server::app {
namespace put_command_test {

TEST(PutTarget, Urls) {
  struct Row {
    std::string url;
    std::vector<std::string> creators;
    std::string file_url;  // of "x y/z"
    std::string prefix;
    std::string token;
  };
  const std::string h = "http://h";
  const std::vector<Row> rows = {
      {h, {h + "/uploads", h + "/"}, h + "/files/x%20y/z", "", ""},
      {h + "/", {h + "/uploads", h + "/"}, h + "/files/x%20y/z", "", ""},
      {h + "/files", {h + "/uploads", h + "/files"}, h + "/files/x%20y/z", "", ""},
      {h + "/files/", {h + "/uploads", h + "/files/"}, h + "/files/x%20y/z", "", ""},
      {h + "/files/a%20b",
       {h + "/uploads", h + "/files/a%20b"},
       h + "/files/a%20b/x%20y/z",
       "a b/",
       ""},
      {h + "/uploads", {h + "/uploads"}, h + "/files/x%20y/z", "", ""},
      {h + "/a/uploads", {h + "/a/uploads"}, h + "/a/files/x%20y/z", "", ""},
      {h + "/dav", {h + "/dav/uploads", h + "/dav"}, h + "/dav/x%20y/z", "", ""},
      {h + "/filesystem",
       {h + "/filesystem/uploads", h + "/filesystem"},
       h + "/filesystem/x%20y/z",
       "",
       ""},
      {h + "/files?token=a%2Bb", {h + "/uploads", h + "/files"}, h + "/files/x%20y/z", "", "a+b"},
      {h + "/files?expires=1&token=t&signature=s#top",
       {h + "/uploads", h + "/files"},
       h + "/files/x%20y/z?expires=1&signature=s",
       "",
       "t"},
      {"https://[::1]:8443/",
       {"https://[::1]:8443/uploads", "https://[::1]:8443/"},
       "https://[::1]:8443/files/x%20y/z",
       "",
       ""},
  };
  for (const Row& row : rows) {
    const auto target = PutTarget::parse(row.url);
    ASSERT_TRUE(target) << row.url;
    EXPECT_EQ(target->creators, row.creators) << row.url;
    EXPECT_EQ(target->file_url("x y/z"), row.file_url) << row.url;
    EXPECT_EQ(target->name_prefix, row.prefix) << row.url;
    EXPECT_EQ(target->token, row.token) << row.url;
  }
}

TEST(PutTarget, WrongUrls) {
  for (const char* const url :
       {"", "/files", "host", "host/files", "ftp://host/", "file:///etc/passwd", "http://",
        "http://user@host/", "https://user:word@host/", "http://a b/"}) {
    EXPECT_FALSE(PutTarget::parse(url)) << url;
  }
}

TEST(PutTarget, SecretsStayWithTheirServer) {
  const auto target = PutTarget::parse("https://host:8443/files?signature=s");
  ASSERT_TRUE(target);
  EXPECT_TRUE(target->is_own("https://host:8443/uploads/1"));
  for (const char* const url : {"https://host:8443.evil.example/", "http://host:8443/",
                                "https://host:844/", "https://other/", "https://host/"}) {
    EXPECT_FALSE(target->is_own(url)) << url;
    EXPECT_EQ(target->with_query(url), url);
  }
  EXPECT_EQ(target->with_query("https://host:8443/a"), "https://host:8443/a?signature=s");
  EXPECT_EQ(target->with_query("https://host:8443/a?b"), "https://host:8443/a?b");
}

TEST(PutOptions, Values) {
  const auto options =
      parse_put_options({"a", "-k", "--token=t", "--name", "n", "--retries", "3", "--retry-delay",
                         "2s", "--cacert=c", "-q", "--", "http://h/"});
  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(options->files, std::vector<std::string>{"a"});
  EXPECT_EQ(options->url, "http://h/");
  EXPECT_EQ(options->name, "n");
  EXPECT_EQ(options->token, "t");
  EXPECT_EQ(options->policy.retries, 3u);
  EXPECT_EQ(options->policy.first_wait, std::chrono::seconds(2));
  EXPECT_EQ(options->client.ca_file, "c");
  EXPECT_TRUE(options->client.insecure && options->quiet);
  EXPECT_EQ(parse_put_options({"--", "-a", "-b", "u"})->files,
            (std::vector<std::string>{"-a", "-b"}));
  EXPECT_TRUE(parse_put_options({"-h"})->help);
}

TEST(PutOptions, WrongValues) {
  const std::vector<std::vector<std::string>> rows = {
      {},
      {"a"},
      {"a", "b", "--name"},
      {"a", "b", "c", "--name=n"},
      {"a", "b", "--unknown"},
      {"a", "b", "--tokens=x"},
      {"a", "b", "--token=x\ny"},
      {"a", "b", "--retries=-1"},
      {"a", "b", "--retry-delay=5"},
      {"", "b"},
      {"a/", "b"},
  };
  for (const auto& row : rows) {
    EXPECT_FALSE(parse_put_options(row)) << (row.empty() ? "" : row.back());
  }
}

TEST(PutTransfer, DigestsOfResponses) {
  const std::string hex = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";
  EXPECT_EQ(sha256_of_field("sha-256=:uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=:"), hex);
  for (const char* const field : {"", "sha-512=:AA==:", "sha-256=:AA==:", "sha-256"}) {
    EXPECT_EQ(sha256_of_field(field), "") << field;
  }
  struct Row {
    std::string json;
    std::string digest;
  };
  const std::vector<Row> rows = {
      {"{\"sha256\":\"" + hex + "\"}", hex},
      {"{\n  \"name\": \"a\",\n  \"sha256\" : \"" + hex + "\"\n}\n", hex},
      {"{\"name\":\"\\\"sha256\\\":\\\"" + std::string(64, 'a') + "\",\"sha256\":\"" + hex + "\"}",
       hex},
      {"{\"sha256\":null}", ""},
      {"{\"sha256\":\"\"}", ""},
      {"{\"sha256\":\"" + hex, ""},
      {"{\"sha256\":\"" + hex.substr(1) + "\"}", ""},
      {"{\"sha256\":\"" + hex + "0\"}", ""},
      {"{\"sha256\":\"" + std::string(64, 'G') + "\"}", ""},
      {"{\"sha256\"", ""},
      {"", ""},
  };
  for (const Row& row : rows) EXPECT_EQ(sha256_of_json(row.json), row.digest) << row.json;
}

TEST(LocalFile, DigestOfPiecesInAnyOrder) {
  const tests::TemporaryDirectory folder;
  const std::string content = "0123456789";
  folder.write("a", content);
  using Pieces = std::vector<std::pair<std::size_t, std::size_t>>;  // where, how many
  const std::vector<Pieces> rows = {
      {},       {{0, 10}},         {{0, 4}, {4, 6}}, {{0, 4}, {0, 10}}, {{0, 4}, {2, 3}, {5, 5}},
      {{5, 5}}, {{9, 1}, {0, 10}}, {{3, 2}, {0, 2}}, {{0, 10}, {0, 10}}};
  const std::string digest = "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882";
  for (const Pieces& row : rows) {
    auto file = LocalFile::open(folder.path_of("a"));
    ASSERT_TRUE(file);
    for (const auto& [first, count] : row) {
      file->see(std::string_view(content).substr(first, count), first);
    }
    EXPECT_EQ(file->sha256(), digest) << row.size();
  }
}

TEST(LocalFile, Changes) {
  const tests::TemporaryDirectory folder;
  folder.write("a", "content");
  auto file = LocalFile::open(folder.path_of("a"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), 7u);
  EXPECT_FALSE(file->changed());
  EXPECT_EQ(LocalFile::open(folder.path_of("a"))->identity(), file->identity());
  folder.write("a", "short");
  EXPECT_TRUE(file->changed());
  EXPECT_NE(LocalFile::open(folder.path_of("a"))->identity(), file->identity());
  EXPECT_EQ(file->sha256().error(), -1);
  EXPECT_EQ(LocalFile::open(folder.path()).error(), EISDIR);
  EXPECT_EQ(LocalFile::open(folder.path_of("b")).error(), ENOENT);
}

TEST(PutState, KeepsOneUrlPerKey) {
  const tests::TemporaryDirectory folder;
  const std::string place = folder.path_of("put");
  PutState state(place, "one");
  EXPECT_EQ(state.load(), "");
  state.save("http://h/uploads/1");
  EXPECT_EQ(PutState(place, "one").load(), "http://h/uploads/1");
  EXPECT_EQ(PutState(place, "two").load(), "");
  state.save("http://h/uploads/2");
  EXPECT_EQ(PutState(place, "one").load(), "http://h/uploads/2");
  state.forget();
  EXPECT_EQ(PutState(place, "one").load(), "");
  PutState nowhere("", "one");
  nowhere.save("x");
  EXPECT_EQ(nowhere.load(), "");
}

TEST(PutProgress, Lines) {
  struct Row {
    PutFigures figures;
    std::size_t columns;
    std::string line;
  };
  const std::string bar20 = "[##########          ]";
  const std::vector<Row> rows = {
      {{"a.bin", 50, 100, 0}, 35, "a.bin  " + bar20 + "  50 %"},
      {{"a.bin", 0, 0, 0}, 29, "a.bin  [##############] 100 %"},
      {{"a.bin", 1 << 20, 4 << 20, 1 << 20},
       48,
       "a.bin  [####            ]  25 %  1.0 MiB/s  0:03"},
      {{"a", 0, 3600, 1}, 45, "a  [                  ]   0 %  1 B/s  1:00:00"},
      {{"a.bin", 50, 100, 0}, 20, "a.bin  50 %"},
      {{"a.bin", 50, 100, 0}, 8, "a.bin  5"},
  };
  for (const Row& row : rows) {
    const std::string line = progress_line(row.figures, row.columns);
    EXPECT_LE(line.size(), row.columns);
    EXPECT_EQ(line, row.line);
  }
  // Cut between characters.
  EXPECT_TRUE(progress_line({"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 0, 1, 0}, 29)
                  .starts_with("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4  ["));
}

}  // namespace put_command_test
}  // namespace h2server::app
