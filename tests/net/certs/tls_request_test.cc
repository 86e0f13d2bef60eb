#include "net/certs/tls_request.h"

#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "net/certs/tls_issue.h"

namespace h2server::net {
namespace tls_request_test {

using Hosts = std::vector<std::string>;

// Returns true if r and s are a signature of `bytes`.
bool is_signature(EVP_PKEY* key, std::string_view bytes, const std::string& signature) {
  const auto* const data = reinterpret_cast<const unsigned char*>(signature.data());
  const std::unique_ptr<ECDSA_SIG, FreeBy<ECDSA_SIG_free>> pair(ECDSA_SIG_new());
  ECDSA_SIG_set0(pair.get(), BN_bin2bn(data, 32, nullptr), BN_bin2bn(data + 32, 32, nullptr));
  std::array<unsigned char, 128> der{};
  unsigned char* at = der.data();
  const int size = i2d_ECDSA_SIG(pair.get(), &at);
  const std::unique_ptr<EVP_MD_CTX, FreeBy<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key);
  const int valid =
      EVP_DigestVerify(context.get(), der.data(), static_cast<std::size_t>(size),
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  ERR_clear_error();
  return valid == 1;
}

// A certificate for `names` and `key`, by an authority with an identifier of its key.
struct Authority {
  Key key = make_key();
  Certificate certificate = issue({.name = "authority",
                                   .valid_days = 10,
                                   .extensions = {{NID_basic_constraints, "critical,CA:TRUE"},
                                                  {NID_subject_key_identifier, "hash"}}},
                                  key.get(), nullptr, key.get());

  [[nodiscard]] std::string chain(const SigningKey& subject, const std::string& names,
                                  long days = 5) const {
    const Certificate leaf = issue({.name = "leaf",
                                    .valid_days = days,
                                    .extensions = {{NID_subject_alt_name, names},
                                                   {NID_authority_key_identifier, "keyid:always"}}},
                                   subject.get(), certificate.get(), key.get());
    return pem_of(leaf.get()) + pem_of(certificate.get());
  }
};

// A file that goes with the test.
class File {
 public:
  explicit File(const std::string& text)
      : path_(testing::TempDir() + "h2server-request-" + std::to_string(::getpid())) {
    std::ofstream(path_) << text;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::unlink(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

TEST(TlsRequest, Signatures) {
  const SigningKey key = SigningKey::make();
  const SigningKey other = SigningKey::make();
  // r and s begin with zeros now and then, and must keep them.
  for (int i = 0; i < 600; ++i) {
    const std::string bytes = "message " + std::to_string(i);
    const std::string signature = key.sign(bytes);
    ASSERT_EQ(signature.size(), 64u);
    ASSERT_TRUE(is_signature(key.get(), bytes, signature));
  }
  EXPECT_FALSE(is_signature(key.get(), "another", key.sign("message")));
  EXPECT_FALSE(is_signature(other.get(), "message", key.sign("message")));
}

TEST(TlsRequest, KeysFromText) {
  const SigningKey key = SigningKey::make();
  const auto same = SigningKey::from_pem(key.pem());
  ASSERT_TRUE(same);
  EXPECT_EQ(same->point().x, key.point().x);
  EXPECT_EQ(same->point().y, key.point().y);
  const Key other_curve(EVP_EC_gen("P-384"));
  const Key rsa(EVP_RSA_gen(2048));
  EXPECT_FALSE(SigningKey::from_pem(pem_of(other_curve.get())));
  EXPECT_FALSE(SigningKey::from_pem(pem_of(rsa.get())));
  EXPECT_FALSE(SigningKey::from_pem(""));
  EXPECT_FALSE(
      SigningKey::from_pem("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"));
  EXPECT_EQ(ERR_peek_error(), 0u);
}

TEST(TlsRequest, CertificateRequest) {
  const SigningKey key = SigningKey::make();
  const std::string der = make_certificate_request(key, Hosts{"a.test", "www.a.test"});
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const std::unique_ptr<X509_REQ, FreeBy<X509_REQ_free>> request(
      d2i_X509_REQ(nullptr, &at, static_cast<long>(der.size())));
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(reinterpret_cast<const char*>(at), der.data() + der.size());
  const Key subject(X509_REQ_get_pubkey(request.get()));
  EXPECT_EQ(EVP_PKEY_eq(subject.get(), key.get()), 1);
  EXPECT_EQ(X509_REQ_verify(request.get(), subject.get()), 1);
  EXPECT_EQ(X509_NAME_entry_count(X509_REQ_get_subject_name(request.get())), 0);
  STACK_OF(X509_EXTENSION)* const extensions = X509_REQ_get_extensions(request.get());
  ASSERT_EQ(sk_X509_EXTENSION_num(extensions), 1);
  auto* const names = static_cast<GENERAL_NAMES*>(
      X509V3_get_d2i(extensions, NID_subject_alt_name, nullptr, nullptr));
  Hosts found;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    int kind = 0;
    auto* const text =
        static_cast<ASN1_STRING*>(GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &kind));
    EXPECT_EQ(kind, GEN_DNS);
    found.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)));
  }
  EXPECT_EQ(found, (Hosts{"a.test", "www.a.test"}));
  GENERAL_NAMES_free(names);
  sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
}

// RFC 8737, 3.
TEST(TlsRequest, Challenge) {
  const Sha256Digest digest = sha256("token.thumbprint");
  const TlsChallenges::Pair pair = make_challenge("a.test", digest);
  X509* const certificate = pair.certificate.get();
  EXPECT_EQ(X509_verify(certificate, pair.key.get()), 1);
  EXPECT_EQ(X509_check_private_key(certificate, pair.key.get()), 1);
  EXPECT_EQ(X509_check_host(certificate, "a.test", 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr),
            1);
  const std::unique_ptr<ASN1_OBJECT, FreeBy<ASN1_OBJECT_free>> kind(
      OBJ_txt2obj("1.3.6.1.5.5.7.1.31", 1));
  const int at = X509_get_ext_by_OBJ(certificate, kind.get(), -1);
  ASSERT_GE(at, 0);
  X509_EXTENSION* const extension = X509_get_ext(certificate, at);
  EXPECT_EQ(X509_EXTENSION_get_critical(extension), 1);
  const ASN1_OCTET_STRING* const value = X509_EXTENSION_get_data(extension);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                        static_cast<std::size_t>(ASN1_STRING_length(value))),
            "\x04\x20" + std::string(digest.begin(), digest.end()));
}

TEST(TlsRequest, ChecksWhatWasIssued) {
  const Authority authority;
  const SigningKey key = SigningKey::make();
  const std::string chain = authority.chain(key, "DNS:a.test,DNS:b.test");
  const std::int64_t now = std::time(nullptr);
  const auto check = [&](const std::string& pem, const SigningKey& wanted, const Hosts& hosts,
                         std::int64_t at) {
    const auto checked = check_issued(pem, wanted, hosts, at);
    return checked ? std::string("good") : checked.error();
  };
  EXPECT_EQ(check(chain, key, {"a.test"}, now), "good");
  EXPECT_EQ(check(chain, key, {"a.test", "b.test"}, now), "good");
  EXPECT_EQ(check(chain, key, {"a.test", "c.test"}, now), "it is not for c.test");
  EXPECT_EQ(check(chain, SigningKey::make(), {"a.test"}, now), "it is for another key");
  EXPECT_EQ(check(chain, key, {"a.test"}, now + 6 * 86400), "it has expired");
  EXPECT_EQ(check("", key, {"a.test"}, now), "it is no PEM certificate");
  EXPECT_EQ(check("<html>", key, {"a.test"}, now), "it is no PEM certificate");
  EXPECT_EQ(ERR_peek_error(), 0u);
}

TEST(TlsRequest, NamesOfCertificates) {
  const Authority authority;
  const SigningKey key = SigningKey::make();
  const File file(authority.chain(key, "DNS:a.test,DNS:b.test"));
  EXPECT_TRUE(covers(file.path(), Hosts{"a.test", "b.test"}));
  EXPECT_FALSE(covers(file.path(), Hosts{"a.test", "c.test"}));
  EXPECT_FALSE(covers(file.path() + ".missing", Hosts{"a.test"}));
  const auto id = read_certificate_id(file.path());
  ASSERT_TRUE(id);
  EXPECT_EQ(id->authority_key.size(), 20u);
  const auto all = read_certificates(file.path());
  const std::unique_ptr<BIGNUM, FreeBy<BN_free>> serial(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(all.at(0).get()), nullptr));
  const std::unique_ptr<BIGNUM, FreeBy<BN_free>> found(
      BN_bin2bn(reinterpret_cast<const unsigned char*>(id->serial.data()),
                static_cast<int>(id->serial.size()), nullptr));
  EXPECT_EQ(BN_cmp(serial.get(), found.get()), 0);
  EXPECT_FALSE(read_certificate_id(file.path() + ".missing"));
}

TEST(TlsRequest, NoNameWithoutAuthorityKey) {
  const Authority authority;
  const File file(pem_of(authority.certificate.get()));
  EXPECT_FALSE(read_certificate_id(file.path()));
}

}  // namespace tls_request_test
}  // namespace h2server::net
