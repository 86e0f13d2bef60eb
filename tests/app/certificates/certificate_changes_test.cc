#include "app/certificates/certificate_changes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "net/certs/tls_certificate.h"

namespace h2server::app {
namespace certificate_changes_test {

namespace fs = std::filesystem;

class CertificateChangesTest : public testing::Test {
 protected:
  CertificateChangesTest() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    folder_ = fs::canonical(folder_);
    for (const std::string stem : {"old", "new"}) {
      EXPECT_TRUE(net::make_self_signed(path(stem + ".crt"), path(stem + ".key")));
    }
    replace("old.crt", "live.crt");
    replace("old.key", "live.key");
  }
  ~CertificateChangesTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // As ACME clients do.
  void replace(const std::string& from, const std::string& to) const {
    fs::copy_file(path(from), path("unfinished"), fs::copy_options::overwrite_existing);
    fs::rename(path("unfinished"), path(to));
  }
  [[nodiscard]] CertificateChanges changes() const {
    return CertificateChanges({{path("live.crt"), path("live.key"), path("live.ocsp")}},
                              {.settle_ms = 200, .settle_ms_max = 5000});
  }

  std::string folder_ = testing::TempDir() + "changes_XXXXXX";
};

TEST_F(CertificateChangesTest, FilesThatStayAreNotLoaded) {
  CertificateChanges changes = this->changes();
  for (const std::int64_t now_ms : {0, 1000, 1'000'000}) {
    const auto verdict = changes.look(now_ms);
    EXPECT_FALSE(verdict.load || verdict.again_ms);
  }
}

TEST_F(CertificateChangesTest, WaitsForTheKeyOfANewCertificate) {
  CertificateChanges changes = this->changes();
  replace("new.crt", "live.crt");
  EXPECT_EQ(changes.look(1000).again_ms, 1200);
  auto verdict = changes.look(1200);
  EXPECT_FALSE(verdict.load);
  EXPECT_EQ(verdict.again_ms, 6000) << "the key is another certificate's";
  replace("new.key", "live.key");
  EXPECT_EQ(changes.look(3000).again_ms, 3200);
  EXPECT_FALSE(changes.look(3199).load);
  verdict = changes.look(3200);
  EXPECT_TRUE(verdict.load);
  EXPECT_EQ(verdict.again_ms, std::nullopt);
  verdict = changes.look(3300);
  EXPECT_FALSE(verdict.load || verdict.again_ms) << "once";
}

TEST_F(CertificateChangesTest, DoesNotWaitForEver) {
  CertificateChanges changes = this->changes();
  replace("new.crt", "live.crt");
  changes.look(1000);
  EXPECT_FALSE(changes.look(5999).load);
  EXPECT_TRUE(changes.look(6000).load);
  EXPECT_FALSE(changes.look(60'000).load) << "loading it again would fail again";
  replace("new.key", "live.key");
  EXPECT_FALSE(changes.look(60'001).load);
  EXPECT_TRUE(changes.look(60'201).load);
}

// They don't delay the others for ever either.
TEST_F(CertificateChangesTest, FilesThatKeepChangingAreLoadedNowAndThen) {
  CertificateChanges changes = this->changes();
  int loads = 0;
  for (std::int64_t now_ms = 0; now_ms <= 10'000; now_ms += 100) {
    replace("new.crt", "live.crt");
    replace("new.key", "live.key");
    loads += changes.look(now_ms).load ? 1 : 0;
  }
  EXPECT_EQ(loads, 1);
}

TEST_F(CertificateChangesTest, AChangeThatIsTakenBackIsNone) {
  fs::create_symlink("old.crt", path("link.crt"));
  fs::create_symlink("old.key", path("link.key"));
  CertificateChanges changes({{path("link.crt"), path("link.key")}});
  const auto point_to = [&](const std::string& stem) {
    for (const std::string suffix : {".crt", ".key"}) {
      fs::create_symlink(stem + suffix, path("unfinished"));
      fs::rename(path("unfinished"), path("link" + suffix));
    }
  };
  point_to("new");
  EXPECT_TRUE(changes.look(0).again_ms);
  point_to("old");
  EXPECT_FALSE(changes.look(100).again_ms);
  point_to("new");
  EXPECT_TRUE(changes.look(1000).again_ms);
  EXPECT_TRUE(changes.look(1200).load);
}

TEST_F(CertificateChangesTest, AnOcspResponseMayComeAndGo) {
  CertificateChanges changes = this->changes();
  std::ofstream(path("live.ocsp")) << "response";
  EXPECT_TRUE(changes.look(0).again_ms);
  EXPECT_TRUE(changes.look(200).load);
  fs::remove(path("live.ocsp"));
  EXPECT_TRUE(changes.look(1000).again_ms);
  EXPECT_TRUE(changes.look(1200).load);
}

TEST_F(CertificateChangesTest, FilesThatVanishAreAwaited) {
  CertificateChanges changes = this->changes();
  fs::remove(path("live.key"));
  changes.look(0);
  EXPECT_FALSE(changes.look(4999).load);
  EXPECT_TRUE(changes.look(5000).load) << "says that the file is gone";
}

TEST_F(CertificateChangesTest, FollowsLinksToTheFile) {
  fs::create_directories(path("archive/site"));
  fs::create_directories(path("live/site"));
  std::ofstream(path("archive/site/cert1.pem")) << "1";
  fs::create_symlink("../../archive/site/cert1.pem", path("live/site/cert.pem"));
  fs::create_directory_symlink(path("live"), path("current"));
  fs::create_symlink("loop", path("loop"));
  struct Row {
    std::string file;
    std::vector<std::string> folders;
    std::vector<std::string> names;
  };
  const std::vector<Row> rows = {
      {path("live.crt"), {folder_}, {"live.crt"}},
      {path("live/site/../site/./cert.pem"),
       {path("archive/site"), path("live/site")},
       {"cert.pem", "cert1.pem"}},
      {path("current/site/cert.pem"),
       {folder_, path("archive/site"), path("live/site")},
       {"cert.pem", "cert1.pem", "current"}},
      {path("gone/and/away.pem"), {folder_}, {"gone"}},
      {path("live/gone.pem"), {path("live")}, {"gone.pem"}},
      {path("loop/x"), {folder_}, {"loop"}},
      {"", {}, {}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.file);
    WatchedNames watched;
    add_watched_names(row.file, watched);
    EXPECT_EQ(watched.folders, std::set<std::string>(row.folders.begin(), row.folders.end()));
    EXPECT_EQ(watched.names, std::set<std::string>(row.names.begin(), row.names.end()));
  }
}

}  // namespace certificate_changes_test
}  // namespace h2server::app
