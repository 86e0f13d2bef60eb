// What is refused because of what lies on the disk.
#include "app/options/option_checks.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace h2server::app {
namespace option_checks_test {

namespace fs = std::filesystem;

using Lines = std::vector<std::string>;

class PlacesTest : public testing::Test {
 protected:
  PlacesTest() {
    std::string name = fs::temp_directory_path() / "h2server-places-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    for (const char* const folder : {"a", "b", "keys", "home"}) fs::create_directory(path(folder));
    std::ofstream(path("keys/k.pem")) << "key";
    if (const char* const before = ::getenv("XDG_STATE_HOME")) state_before_ = before;
    ::setenv("XDG_STATE_HOME", path("home/state").c_str(), 1);
    configuration_.listeners.emplace_back();
  }
  ~PlacesTest() override {
    if (state_before_.empty()) ::unsetenv("XDG_STATE_HOME");
    else ::setenv("XDG_STATE_HOME", state_before_.c_str(), 1);
    fs::remove_all(directory_);
  }

  std::string path(std::string_view name) const { return directory_ / name; }

  config::Site& add_site(std::string_view root) {
    config::Site& site = configuration_.sites.emplace_back();
    site.root = path(root);
    site.certificate = config::CertificateSource::files;
    site.certificate_file = path("keys/c.pem");
    site.key_file = path("keys/k.pem");
    site.place = {"c.toml", static_cast<std::uint32_t>(configuration_.sites.size())};
    return site;
  }

  Lines check(const Lines& files = {}) const {
    config::Problems problems;
    config::Configuration configuration = configuration_;
    configuration.all_files = files;
    check_places(configuration, problems);
    Lines lines = problems.lines();
    const std::string prefix = directory_.string() + "/";
    for (std::string& line : lines) {
      for (std::size_t at = 0; (at = line.find(prefix)) != line.npos;)
        line.erase(at, prefix.size());
    }
    return lines;
  }

  config::Configuration configuration_;

 private:
  fs::path directory_;
  std::string state_before_;
};

TEST_F(PlacesTest, Fit) {
  add_site("a").upload_directory = path("uploads");
  add_site("b").access_log = path("keys/access.log");
  add_site("a").access_log = "-";
  add_site("a").access_log = "syslog";
  configuration_.log.usual = "syslog";
  EXPECT_EQ(check({path("c.toml")}), Lines{});
}

TEST_F(PlacesTest, MustExist) {
  add_site("a");
  add_site("none");
  add_site("keys/k.pem");
  EXPECT_EQ(check(), (Lines{"c.toml:2: can't serve the root none: it is not a directory; name "
                            "another with --root",
                            "c.toml:3: can't serve the root keys/k.pem: it is not a directory; "
                            "name another with --root"}));
}

TEST_F(PlacesTest, TakeUploadsIntoDirectories) {
  add_site("a").upload_directory = path("keys/k.pem");
  EXPECT_EQ(check(), Lines{"c.toml:1: can't write to the upload directory keys/k.pem: it is not a "
                           "directory; name another with --upload-dir"});
}

TEST_F(PlacesTest, ShowNoSecretOfAnySite) {
  fs::create_directories(path("b/deep"));
  add_site("a").protected_paths = {{"/", path("b/deep/users")}};
  add_site("b");
  EXPECT_EQ(check(), Lines{"c.toml:2: the root b would show the file of users b/deep/users; move "
                           "it"});
  configuration_.sites[0].protected_paths = {{"/", path("b/.users")}};
  EXPECT_EQ(check(), Lines{}) << "it is hidden";
  configuration_.sites[1].files.hidden = true;
  EXPECT_EQ(check().size(), 1U);
}

TEST_F(PlacesTest, ShowNoTicketKey) {
  add_site("a");
  configuration_.server.ticket_key_files = {path("keys/k.pem"), path("a/ticket.key")};
  EXPECT_EQ(check(), Lines{"c.toml:1: the root a would show the ticket key a/ticket.key; move it"});
}

TEST_F(PlacesTest, ShowNoSecretAlthoughAnotherSiteHidesIt) {
  add_site("b").protected_paths = {{"/", path("b/.users")}};
  add_site("b").files.hidden = true;
  EXPECT_EQ(check(), Lines{"c.toml:2: the root b would show the file of users b/.users; move it"});
}

TEST_F(PlacesTest, ShowNoKeys) {
  add_site("keys");
  add_site("a");
  EXPECT_EQ(check(), Lines{"c.toml:1: the root keys would show the private key keys/k.pem; move "
                           "it, or name another with --key"});
}

TEST_F(PlacesTest, ShowNoLinkToASecret) {
  fs::create_symlink(path("keys/k.pem"), path("a/link.pem"));
  add_site("a").key_file = path("a/link.pem");
  EXPECT_EQ(check().size(), 1U);
}

TEST_F(PlacesTest, ShowNeitherLogsNorConfiguration) {
  add_site("a").access_log = path("a/access.log");
  EXPECT_EQ(check(), Lines{"c.toml:1: the root a would show the access log a/access.log; move it"});
  configuration_.sites[0].access_log.clear();
  // That of all hosts without a site, although no site of its own writes it.
  configuration_.log.usual = path("a/all.log");
  EXPECT_EQ(check(), Lines{"c.toml:1: the root a would show the access log a/all.log; move it"});
  configuration_.log.usual.clear();
  configuration_.log.error_log = path("a/error.log");
  EXPECT_EQ(check(), Lines{"c.toml:1: the root a would show the error log a/error.log; move it"});
  configuration_.log.error_log.clear();
  EXPECT_EQ(check({path("a/c.toml")}),
            Lines{"c.toml:1: the root a would show the configuration a/c.toml; move it"});
  EXPECT_EQ(check({path("a/.c.toml")}), Lines{});
}

TEST_F(PlacesTest, ShowNoKeysOfOurs) {
  fs::create_directories(path("home/state/h2server/ca"));
  add_site("home");
  add_site("home/state/h2server/ca");
  add_site("a").upload_directory = path("home/state/h2server");
  const Lines lines = check();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "c.toml:1: the root home would show the private keys in "
                      "home/state/h2server; name another root");
  EXPECT_EQ(lines[1], "c.toml:2: the root home/state/h2server/ca would show the private keys in "
                      "home/state/h2server; name another root");
}

TEST_F(PlacesTest, KeepUploadsApartFromAllRoots) {
  add_site("a").upload_directory = path("b/uploads");
  add_site("b");
  EXPECT_EQ(check(), Lines{"c.toml:1: the root b and the upload directory b/uploads overlap, so "
                           "that uploads would be served as pages of the site; name another with "
                           "--upload-dir"});
  configuration_.sites[0].upload_directory = path("");
  EXPECT_EQ(check().size(), 1U);
  configuration_.sites[0].upload_directory = path("bb");
  EXPECT_EQ(check(), Lines{});
}

TEST_F(PlacesTest, MayBeMissingWithoutARoot) {
  add_site("a").root.clear();
  EXPECT_EQ(check(), Lines{});
}

TEST_F(PlacesTest, AreNotTheWholeMachine) {
  add_site("a").root = "/";
  EXPECT_EQ(check().size(), 1U);
  EXPECT_NE(check()[0].find("--yes"), std::string::npos);
}

TEST_F(PlacesTest, RefusesPrivateKeysInAServedStore) {
  struct Row {
    const char* served;
    const char* kept;
    bool refused;
  };
  constexpr Row rows[] = {
      {"s3://b", "s3://b/certificates", true}, {"s3://b/www", "s3://b/www/certificates", true},
      {"s3://b/www", "s3://b/www", true},      {"s3://b/c/authority.test", "s3://b/c", true},
      {"s3://b/www", "s3://b", false},         {"s3://b/www", "s3://b/www2", false},
      {"s3://b/www", "s3://other/www", false}, {"s3://b", "", false},
      {"s3://b/c", "s3://b/c/.keys", false},   {"s3://b/c/authority.test/inner", "s3://b/c", false},
  };
  configuration_.acme.directory = "https://authority.test/directory";
  for (const Row& row : rows) {
    configuration_.sites.clear();
    config::Site& site = add_site("a");
    site.root.clear();
    site.store.place = row.served;
    configuration_.acme.store = row.kept;
    const Lines found = check();
    ASSERT_EQ(found.size(), row.refused ? 1U : 0U) << row.served << " " << row.kept;
    if (!row.refused) continue;
    EXPECT_NE(found[0].find("would show the private keys"), std::string::npos) << found[0];
  }
  config::Site& site = configuration_.sites.front();
  site.store.place = "s3://b";
  configuration_.acme.store = "s3://b/.keys";
  EXPECT_EQ(check(), Lines()) << "hidden";
  site.files.hidden = true;
  EXPECT_EQ(check().size(), 1U);
}

TEST_F(PlacesTest, ChecksUploadsAsRoots) {
  config::Site& site = add_site("a");
  site.upload_directory = path("home");
  const std::string home = path("home");
  const char* const before = ::getenv("HOME");
  ASSERT_NE(before, nullptr);
  const std::string kept = before;
  ::setenv("HOME", home.c_str(), 1);
  const Lines found = check();
  configuration_.serve_all = true;
  const Lines allowed = check();
  ::setenv("HOME", kept.c_str(), 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].find("the upload directory home would mix uploads with all files of"),
            std::string::npos)
      << found[0];
  EXPECT_EQ(allowed, Lines());
}

TEST_F(PlacesTest, SeesKeysInFoldersOfUploads) {
  fs::create_directories(path("b/inner/.hidden"));
  config::Site& site = add_site("a");
  site.upload_directory = path("b");
  for (const char* const file : {"b/inner/k.pem", "b/inner/.hidden/k.pem"}) {
    std::ofstream(path(file)) << "key";
    site.key_file = path(file);
    const bool hidden = std::string_view(file).contains(".hidden");
    site.uploads.folders = false;
    EXPECT_EQ(check(), Lines()) << file;
    site.uploads.folders = true;
    EXPECT_EQ(check().size(), hidden ? 0U : 1U) << file;
  }
}

}  // namespace option_checks_test
}  // namespace h2server::app
