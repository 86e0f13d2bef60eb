#include "net/certs/tls_certificate.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/certs/tls_credentials.h"
#include "net/crypto/tls_objects.h"
#include "net/tls/tls_context.h"

namespace h2server::net {
namespace tls_certificate_test {

class TlsCertificate : public testing::Test {
 protected:
  TlsCertificate() {
    std::string pattern = testing::TempDir() + "tls_certificate_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    mask_ = ::umask(022);
  }
  ~TlsCertificate() override {
    ::umask(mask_);
    std::filesystem::remove_all(folder_);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static mode_t mode_of(const std::string& file) {
    struct stat now{};
    EXPECT_EQ(::stat(file.c_str(), &now), 0) << file;
    return now.st_mode & 07777;
  }
  static std::string content_of(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  std::filesystem::path folder_;
  mode_t mask_ = 0;
};

TEST_F(TlsCertificate, MakesBothFilesAndTheirFolders) {
  const std::string certificate = path("a/b/server.crt");
  const std::string key = path("c/server.key");
  const auto made = make_self_signed(certificate, key);
  ASSERT_TRUE(made.has_value()) << made.error();
  EXPECT_EQ(mode_of(key), 0600U);
  EXPECT_EQ(mode_of(certificate), 0644U);
  const auto context = TlsContext::open(certificate, key);
  EXPECT_TRUE(context.has_value()) << context.error();
}

TEST_F(TlsCertificate, IsForThisMachineAndForBrowsers) {
  ASSERT_TRUE(make_self_signed(path("crt"), path("key")).has_value());
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path("crt").c_str(), "r"),
                                                             std::fclose);
  ASSERT_NE(file, nullptr);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(
      PEM_read_X509(file.get(), nullptr, nullptr, nullptr), X509_free);
  ASSERT_NE(certificate, nullptr);
  EXPECT_EQ(X509_check_host(certificate.get(), "localhost", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_ip_asc(certificate.get(), "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(certificate.get(), "::1", 0), 1);
  EXPECT_EQ(X509_check_host(certificate.get(), "example.org", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_purpose(certificate.get(), X509_PURPOSE_SSL_SERVER, 0), 1);
  EXPECT_EQ(X509_check_ca(certificate.get()), 0);
  int days = 0;
  int seconds = 0;
  ASSERT_EQ(ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(certificate.get()),
                           X509_get0_notAfter(certificate.get())),
            1);
  EXPECT_GE(days, 397);
  EXPECT_LE(days * 86'400 + seconds, 398 * 86'400 + 2 * 3600);
  EXPECT_LT(X509_cmp_current_time(X509_get0_notBefore(certificate.get())), 0);
  EXPECT_EQ(X509_verify(certificate.get(), X509_get0_pubkey(certificate.get())), 1);
}

TEST_F(TlsCertificate, ReplacesNeitherFile) {
  for (const char* const existing : {"crt", "key"}) {
    const std::string folder = path(existing) + "_there/";
    std::filesystem::create_directory(folder);
    std::ofstream(folder + existing) << "mine";
    const auto made = make_self_signed(folder + "crt", folder + "key");
    ASSERT_FALSE(made.has_value());
    EXPECT_NE(made.error().find(folder + existing), std::string::npos) << made.error();
    EXPECT_EQ(content_of(folder + existing), "mine");
    // No half of a pair remains, which would make the next attempt fail.
    const auto files = std::filesystem::directory_iterator(folder);
    EXPECT_EQ(std::distance(begin(files), end(files)), 1) << existing;
  }
}

TEST_F(TlsCertificate, NamesThePlaceThatCannotBeWritten) {
  std::ofstream(path("file")) << "no folder";
  const auto made = make_self_signed(path("file/crt"), path("file/key"));
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().find(path("file/key")), std::string::npos) << made.error();
}

// As when several servers start at once with the same files.
TEST_F(TlsCertificate, IsMadeOnceByManyAtATime) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const bool made = make_self_signed(path("crt"), path("key")).has_value();
      if (made && TlsContext::open(path("crt"), path("key"))) ++good;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 8);
}

TEST_F(TlsCertificate, IsFinishedWhereOnlyTheLastStepIsMissing) {
  EXPECT_FALSE(finish_self_signed(path("crt"), path("key"))) << "there is nothing";
  ASSERT_TRUE(make_self_signed(path("other.crt"), path("other.key")).has_value());
  ASSERT_TRUE(make_self_signed(path("crt"), path("key")).has_value());
  std::filesystem::rename(path("crt"), path("crt.new"));
  EXPECT_FALSE(finish_self_signed(path("crt"), path("other.key"))) << "of another key";
  EXPECT_TRUE(finish_self_signed(path("crt"), path("key")));
  EXPECT_TRUE(TlsContext::open(path("crt"), path("key")));
  EXPECT_FALSE(std::filesystem::exists(path("crt.new")));
}

// --- net/tls/tls_context.h
// ------------------------------------------------------------------------

TEST_F(TlsCertificate, AContextSaysWhatIsWrongWithItsFiles) {
  ASSERT_TRUE(make_self_signed(path("crt"), path("key")).has_value());
  ASSERT_TRUE(make_self_signed(path("other.crt"), path("other.key")).has_value());
  std::ofstream(path("empty"));
  struct Row {
    std::string certificate;
    std::string key;
    std::string named;  // must occur in the error, as `what`
    std::string what;
  };
  const std::vector<Row> rows = {
      {path("none"), path("key"), path("none"), "the certificate"},
      {path("crt"), path("none"), path("none"), "the private key"},
      {path("empty"), path("key"), path("empty"), "no certificate"},
      {path("crt"), path("empty"), path("empty"), "no private key"},
      {path("crt"), path("other.key"), path("other.key"), "does not belong"},
  };
  for (const Row& row : rows) {
    const auto context = TlsContext::open(row.certificate, row.key);
    ASSERT_FALSE(context.has_value());
    EXPECT_NE(context.error().find(row.named), std::string::npos) << context.error();
    EXPECT_NE(context.error().find(row.what), std::string::npos) << context.error();
  }
}

// Writes the key in `from` to `to`, encrypted.
void encrypt_key(const std::string& from, const std::string& to, std::string passphrase) {
  const Bio in(BIO_new_file(from.c_str(), "r"));
  const Key key(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  const Bio out(BIO_new_file(to.c_str(), "w"));
  ASSERT_EQ(
      PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), EVP_aes_256_cbc(), passphrase.data(),
                                    static_cast<int>(passphrase.size()), nullptr, nullptr),
      1);
}

TEST_F(TlsCertificate, AnEncryptedKeyNeedsItsPassphrase) {
  ASSERT_TRUE(make_self_signed(path("crt"), path("plain")).has_value());
  encrypt_key(path("plain"), path("key"), "secret");
  using Answer = Result<std::string, std::string>;
  int asked = 0;
  const auto open = [&](const Answer& answer) {
    asked = 0;
    return TlsContext::open(path("crt"), path("key"), [&](const std::string& file) {
      ++asked;
      EXPECT_EQ(file, path("key"));
      return answer;
    });
  };
  EXPECT_TRUE(open("secret"));
  EXPECT_EQ(asked, 1);
  struct Row {
    Answer answer;
    const char* reason;
  };
  const std::vector<Row> rows = {{"wrong", "is wrong"},
                                 {"", "is wrong"},
                                 {std::string(5000, 'x'), "is wrong"},
                                 {std::unexpected(std::string("a reason")), "a reason"}};
  for (const Row& row : rows) {
    const auto context = open(row.answer);
    ASSERT_FALSE(context.has_value());
    EXPECT_NE(context.error().find(row.reason), std::string::npos) << context.error();
    EXPECT_EQ(asked, 1);
  }
  const auto silent = TlsContext::open(path("crt"), path("key"));
  ASSERT_FALSE(silent.has_value());
  EXPECT_NE(silent.error().find("encrypted"), std::string::npos) << silent.error();
  EXPECT_TRUE(TlsContext::open(path("crt"), path("plain"), [&](const std::string&) -> Answer {
    ADD_FAILURE() << "a key that is not encrypted";
    return "";
  }));
}

}  // namespace tls_certificate_test
}  // namespace h2server::net
