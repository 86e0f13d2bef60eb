#include "app/certificates/certificate_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "net/certs/tls_certificate.h"
#include "net/certs/tls_inspection.h"

namespace h2server::app {
namespace certificate_watch_test {

namespace fs = std::filesystem;

// Texts that a thread passes to another.
class Texts {
 public:
  void push(std::string text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(std::move(text));
    changed_.notify_all();
  }
  // Waits for the next one; an empty text after a long time.
  std::string pop() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(60), [&] { return !texts_.empty(); }))
      return {};
    std::string text = std::move(texts_.front());
    texts_.pop_front();
    return text;
  }
  bool empty() {
    const std::lock_guard lock(mutex_);
    return texts_.empty();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> texts_;
};

class CertificateWatchTest : public testing::Test {
 protected:
  CertificateWatchTest() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    for (const std::string stem : {"a", "b", "c"}) {
      EXPECT_TRUE(net::make_self_signed(path(stem + ".crt"), path(stem + ".key")));
    }
    replace("a.crt", "live.crt");
    replace("a.key", "live.key");
  }
  ~CertificateWatchTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void replace(const std::string& from, const std::string& to) const {
    fs::copy_file(path(from), path("unfinished"), fs::copy_options::overwrite_existing);
    fs::rename(path("unfinished"), path(to));
  }
  [[nodiscard]] static std::string fingerprint(const std::string& file) {
    const auto facts = net::inspect_certificate(file);
    return facts ? facts->fingerprint : "none";
  }

  // A reload notes the fingerprint that it finds and fails with `problem_` if that is not empty.
  CertificateWatchOptions options() {
    return {.files = {{path("live.crt"), path("live.key")}},
            .renewed = {},
            .reload = [this]() -> Result<void, std::string> {
              reloads_.push(fingerprint(path("live.crt")));
              if (problem_.empty()) return {};
              return std::unexpected(problem_);
            },
            .limits = {.settle_ms = 5, .settle_ms_max = 20'000},
            .log = [this](base::Severity, std::string_view text) { log_.push(std::string(text)); }};
  }

  std::string folder_ = testing::TempDir() + "watch_XXXXXX";
  std::string problem_;
  Texts reloads_;
  Texts log_;
};

TEST_F(CertificateWatchTest, LoadsWhatReplacesTheFiles) {
  CertificateWatch watch(options());
  ASSERT_TRUE(watch.start());
  for (const std::string stem : {"b", "c", "a"}) {
    replace(stem + ".crt", "live.crt");
    replace(stem + ".key", "live.key");
    EXPECT_EQ(reloads_.pop(), fingerprint(path(stem + ".crt")));
    EXPECT_TRUE(log_.pop().starts_with("loaded the certificate " + path("live.crt")));
    ASSERT_EQ(watch.in_use().size(), 1U);
    EXPECT_EQ(watch.in_use()[0].fingerprint, fingerprint(path(stem + ".crt")));
  }
  watch.stop();
  EXPECT_TRUE(reloads_.empty() && log_.empty());
}

// As Kubernetes swaps a volume of secrets: the link to the folder moves.
TEST_F(CertificateWatchTest, LoadsWhenAnotherFileChanges) {
  for (const std::string version : {"1", "2"}) {
    fs::create_directory(path(version));
    fs::copy_file(path("a.key"), path(version + "/ticket.key"));
  }
  fs::create_symlink("1", path("data"));
  CertificateWatchOptions options = this->options();
  options.other_files = {path("data/ticket.key")};
  CertificateWatch watch(options);
  ASSERT_TRUE(watch.start());
  fs::create_symlink("2", path("next"));
  fs::rename(path("next"), path("data"));
  EXPECT_EQ(reloads_.pop(), fingerprint(path("live.crt")));
  EXPECT_EQ(log_.pop(), "loaded the certificates anew");
  ASSERT_EQ(watch.in_use().size(), 1U);
  watch.stop();
  EXPECT_TRUE(reloads_.empty());
}

// The first change also tells of what was between making the watch and starting it.
TEST_F(CertificateWatchTest, LoadsWhatHasChangedBeforeItStarts) {
  CertificateWatch watch(options());
  replace("b.crt", "live.crt");
  replace("b.key", "live.key");
  ASSERT_TRUE(watch.start());
  EXPECT_EQ(reloads_.pop(), fingerprint(path("b.crt")));
}

TEST_F(CertificateWatchTest, FollowsFoldersThatAreSwapped) {
  for (const std::string stem : {"a", "b"}) {
    fs::create_directory(path("version-" + stem));
    fs::copy_file(path(stem + ".crt"), path("version-" + stem + "/tls.crt"));
    fs::copy_file(path(stem + ".key"), path("version-" + stem + "/tls.key"));
  }
  // As Kubernetes does with the volumes of secrets.
  fs::create_symlink("version-a", path("data"));
  fs::create_symlink("data/tls.crt", path("tls.crt"));
  fs::create_symlink("data/tls.key", path("tls.key"));
  CertificateWatchOptions options = this->options();
  options.files = {{path("tls.crt"), path("tls.key")}};
  options.reload = [this]() -> Result<void, std::string> {
    reloads_.push(fingerprint(path("tls.crt")));
    return {};
  };
  CertificateWatch watch(std::move(options));
  ASSERT_TRUE(watch.start());
  for (const std::string stem : {"b", "a"}) {
    fs::create_symlink("version-" + stem, path("data-new"));
    fs::rename(path("data-new"), path("data"));
    EXPECT_EQ(reloads_.pop(), fingerprint(path(stem + ".crt")));
  }
}

TEST_F(CertificateWatchTest, TheOldOnesStayIfTheNewOnesAreBad) {
  CertificateWatch watch(options());
  ASSERT_TRUE(watch.start());
  problem_ = "it is bad";
  replace("b.crt", "live.crt");
  replace("b.key", "live.key");
  EXPECT_EQ(reloads_.pop(), fingerprint(path("b.crt")));
  EXPECT_EQ(log_.pop(), "the changed certificates are not used, the ones before stay: it is bad");
  EXPECT_EQ(watch.in_use()[0].fingerprint, fingerprint(path("a.crt")));
  watch.stop();
  EXPECT_TRUE(reloads_.empty());
}

// Without inotify, on a network file system for one.
TEST_F(CertificateWatchTest, LooksNowAndThen) {
  CertificateWatchOptions options = this->options();
  options.look_ms = 1;
  problem_ = "it is bad";
  CertificateWatch watch(std::move(options));
  ASSERT_TRUE(watch.start());
  replace("b.crt", "live.crt");
  replace("b.key", "live.key");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(reloads_.pop(), fingerprint(path("b.crt"))) << "tries again";
}

TEST_F(CertificateWatchTest, WarnsOfWhatExpires) {
  const auto facts = net::inspect_certificate(path("a.crt"));
  CertificateWatchOptions options = this->options();
  options.unix_s = [&] { return facts->end_s - 3 * 24 * 3600; };
  {
    CertificateWatch watch(options);
    ASSERT_TRUE(watch.start());
    EXPECT_NE(log_.pop().find(path("live.crt") + " of localhost and others expires in 3 days"),
              std::string::npos);
  }
  EXPECT_TRUE(log_.empty());
}

TEST(CertificateFilesTest, AreThoseOfAllHosts) {
  ServerOptions options;
  options.certificate_file = "a";
  options.key_file = "b";
  options.ocsp_file = "c";
  options.more_certificates = {{"d", "e", ""}};
  options.host_certificates = {{{"x"}, "a", "b", "c", {}},
                               {{"y"}, "f", "g", "", {{"h", "i", "j"}}}};
  const std::vector<CertificateFiles> expected = {
      {"a", "b", "c"}, {"d", "e", ""}, {"f", "g", ""}, {"h", "i", "j"}};
  EXPECT_EQ(certificate_files_of(options), expected);
}

}  // namespace certificate_watch_test
}  // namespace h2server::app
