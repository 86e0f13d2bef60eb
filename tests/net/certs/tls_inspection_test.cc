#include "net/certs/tls_inspection.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>

#include "net/certs/tls_certificate.h"
#include "net/crypto/tls_objects.h"

namespace h2server::net {
namespace tls_inspection_test {

class TlsInspection : public testing::Test {
 protected:
  TlsInspection() {
    std::string pattern = testing::TempDir() + "tls_inspection_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    EXPECT_TRUE(make_self_signed(path("server.crt"), path("server.key")).has_value());
  }
  ~TlsInspection() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void append(const std::string& source, const std::string& target) const {
    std::ofstream(path(target), std::ios::app) << std::ifstream(path(source)).rdbuf();
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  // The SHA-256 of the file's DER form, as `openssl x509 -fingerprint -sha256` prints it.
  std::string digest_of_der(const std::string& name) const {
    const Bio bio(BIO_new_file(path(name).c_str(), "r"));
    const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    unsigned char* der = nullptr;
    const int size = i2d_X509(certificate.get(), &der);
    std::array<unsigned char, 32> digest{};
    EVP_Digest(der, static_cast<std::size_t>(size), digest.data(), nullptr, EVP_sha256(), nullptr);
    OPENSSL_free(der);
    std::string text;
    for (const unsigned char byte : digest) {
      std::array<char, 4> room{};
      std::snprintf(room.data(), room.size(), ":%02X", byte);
      text += room.data();
    }
    return text.substr(1);
  }

  std::filesystem::path folder_;
};

TEST_F(TlsInspection, DescribesACertificate) {
  const auto facts = inspect_certificate(path("server.crt"));
  ASSERT_TRUE(facts.has_value()) << facts.error();
  for (const char* const name : {"localhost", "127.0.0.1", "::1"}) {
    EXPECT_EQ(std::ranges::count(facts->names, name), 1) << name;
  }
  EXPECT_TRUE(facts->self_signed);
  EXPECT_EQ(facts->fingerprint, digest_of_der("server.crt"));
  EXPECT_EQ(facts->others, 0U);
  const std::int64_t now_s = std::time(nullptr);
  EXPECT_LT(facts->begin_s, now_s);
  constexpr std::int64_t day_s = 24 * 3600;
  EXPECT_GT(facts->end_s, now_s + 397 * day_s);
  EXPECT_LE(facts->end_s, now_s + 398 * day_s);
}

TEST_F(TlsInspection, CountsTheChain) {
  append("server.crt", "chain.crt");
  append("server.crt", "chain.crt");
  append("server.crt", "chain.crt");
  const auto facts = inspect_certificate(path("chain.crt"));
  ASSERT_TRUE(facts.has_value()) << facts.error();
  EXPECT_EQ(facts->others, 2U);
}

TEST_F(TlsInspection, RefusesWhatIsNoCertificate) {
  EXPECT_FALSE(inspect_certificate(path("missing")).has_value());
  EXPECT_FALSE(inspect_certificate(write("empty", "")).has_value());
  EXPECT_FALSE(inspect_certificate(write("text", "no certificate\n")).has_value());
  EXPECT_FALSE(inspect_certificate(path("server.key")).has_value());
  const auto refused = inspect_certificate(write("broken", "-----BEGIN CERTIFICATE-----\nAAAA\n"
                                                           "-----END CERTIFICATE-----\n"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_FALSE(refused.error().empty());
}

TEST_F(TlsInspection, ComparesTheKey) {
  ASSERT_TRUE(make_self_signed(path("other.crt"), path("other.key")).has_value());
  EXPECT_EQ(inspect_key(path("server.crt"), path("server.key")), KeyFit::fits);
  EXPECT_EQ(inspect_key(path("server.crt"), path("other.key")), KeyFit::differs);
  EXPECT_EQ(inspect_key(path("missing"), path("server.key")), KeyFit::unknown);
  EXPECT_FALSE(inspect_key(path("server.crt"), path("server.crt")).has_value());
  EXPECT_FALSE(inspect_key(path("server.crt"), path("missing")).has_value());
}

TEST_F(TlsInspection, AsksNobodyForAPassphrase) {
  const Bio in(BIO_new_file(path("server.key").c_str(), "r"));
  const Key key(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  {
    const Bio out(BIO_new_file(path("encrypted.key").c_str(), "w"));
    ASSERT_EQ(PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), EVP_aes_256_cbc(), "secret", 6,
                                            nullptr, nullptr),
              1);
  }
  EXPECT_EQ(inspect_key(path("server.crt"), path("encrypted.key")), KeyFit::encrypted);
}

}  // namespace tls_inspection_test
}  // namespace h2server::net
