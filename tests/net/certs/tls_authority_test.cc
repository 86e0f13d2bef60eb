#include "net/certs/tls_authority.h"

#include <gtest/gtest.h>
#include <openssl/obj_mac.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "net/certs/tls_issue.h"
#include "net/crypto/tls_objects.h"
#include "net/tls/tls_context.h"

namespace h2server::net {
namespace tls_authority_test {

using Store = std::unique_ptr<X509_STORE, FreeBy<X509_STORE_free>>;
using Verification = std::unique_ptr<X509_STORE_CTX, FreeBy<X509_STORE_CTX_free>>;

const Machine machine{"ann", "Box.example.org", {"192.168.1.7", "10.0.0.9", "203.0.113.5"}};

// Returns what a client says that trusts `authority` and wants a server called `name`.
int verdict(X509* certificate, X509* authority, const std::string& name) {
  const Store store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), authority);
  const Verification client(X509_STORE_CTX_new());
  X509_STORE_CTX_init(client.get(), store.get(), certificate, nullptr);
  X509_VERIFY_PARAM* const rules = X509_STORE_CTX_get0_param(client.get());
  X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_X509_STRICT);
  X509_VERIFY_PARAM_set_purpose(rules, X509_PURPOSE_SSL_SERVER);
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str()) != 1) {
    X509_VERIFY_PARAM_set1_host(rules, name.data(), name.size());
  }
  const bool accepted = X509_verify_cert(client.get()) == 1;
  const int error = X509_STORE_CTX_get_error(client.get());
  EXPECT_EQ(accepted, error == X509_V_OK);
  return error;
}

class TlsAuthority : public testing::Test {
 protected:
  TlsAuthority() {
    std::string pattern = testing::TempDir() + "tls_authority_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    mask_ = ::umask(022);
  }
  ~TlsAuthority() override {
    ::umask(mask_);
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] std::string directory() const { return folder_ / "state/ca"; }
  [[nodiscard]] std::string path(const std::string& name) const { return directory() + "/" + name; }
  LocalAuthority open(const Machine& on = machine) const {
    const auto opened = open_local_authority(directory(), on);
    EXPECT_TRUE(opened.has_value()) << opened.error();
    return opened.value_or(LocalAuthority{});
  }
  [[nodiscard]] Certificate authority() const { return first_of("ca.crt"); }
  [[nodiscard]] Certificate certificate() const { return first_of("server.crt"); }
  [[nodiscard]] Certificate first_of(const std::string& name) const {
    std::vector<Certificate> found = read_certificates(path(name));
    EXPECT_FALSE(found.empty()) << name;
    return found.empty() ? nullptr : std::move(found.front());
  }
  [[nodiscard]] std::string content_of(const std::string& name) const {
    std::ifstream in(path(name));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  static mode_t mode_of(const std::string& file) {
    struct stat now{};
    EXPECT_EQ(::stat(file.c_str(), &now), 0) << file;
    return now.st_mode & 07777;
  }
  // Makes a file's first certificate expire at that time from now, signed again by the authority.
  void let_expire(const std::string& name, long seconds) const {
    const std::vector<Certificate> chain = read_certificates(path(name));
    ASSERT_FALSE(chain.empty());
    const Key key = read_key(path("ca.key"));
    X509_gmtime_adj(X509_getm_notAfter(chain[0].get()), seconds);
    ASSERT_GT(X509_sign(chain[0].get(), key.get(), EVP_sha256()), 0);
    std::ofstream out(path(name));
    for (const Certificate& one : chain) out << pem_of(one.get());
  }

  std::filesystem::path folder_;
  mode_t mask_ = 0;
};

constexpr long day_s = 86'400;

TEST_F(TlsAuthority, KeysAreForTheirOwnerOnly) {
  ::umask(0);
  EXPECT_TRUE(open().made_now);
  EXPECT_EQ(mode_of(directory()), 0700U);
  EXPECT_EQ(mode_of(folder_ / "state"), 0700U);
  EXPECT_EQ(mode_of(path("ca.key")), 0600U);
  EXPECT_EQ(mode_of(path("server.key")), 0600U);
  ::chmod(directory().c_str(), 0777);
  EXPECT_FALSE(open().made_now);
  EXPECT_EQ(mode_of(directory()), 0700U);
  const auto files = std::filesystem::directory_iterator(directory());
  EXPECT_EQ(std::distance(begin(files), end(files)), 4) << "an unfinished file is left";
}

TEST_F(TlsAuthority, ADirectoryOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  std::filesystem::create_directories(directory());
  ASSERT_EQ(::chown(directory().c_str(), 1, 1), 0);
  const auto opened = open_local_authority(directory(), machine);
  ASSERT_FALSE(opened.has_value());
  EXPECT_NE(opened.error().find(directory()), std::string::npos) << opened.error();
}

TEST_F(TlsAuthority, AnAuthorityForServersOnly) {
  open();
  const Certificate ca = authority();
  EXPECT_EQ(X509_check_ca(ca.get()), 1);
  EXPECT_EQ(X509_get_pathlen(ca.get()), 0);
  EXPECT_EQ(X509_get_key_usage(ca.get()), unsigned{KU_KEY_CERT_SIGN | KU_CRL_SIGN});
  EXPECT_EQ(X509_get_extended_key_usage(ca.get()), unsigned{XKU_SSL_SERVER});
  for (const int kind : {NID_basic_constraints, NID_key_usage, NID_name_constraints}) {
    const int at = X509_get_ext_by_NID(ca.get(), kind, -1);
    ASSERT_GE(at, 0);
    EXPECT_EQ(X509_EXTENSION_get_critical(X509_get_ext(ca.get(), at)), 1);
  }
  int days = 0;
  int seconds = 0;
  ASSERT_EQ(
      ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(ca.get()), X509_get0_notAfter(ca.get())),
      1);
  EXPECT_EQ(days, 3650);
  const auto told = read_authority(path("ca.crt"));
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->name, "h2server local CA (ann@Box.example.org)");
  EXPECT_EQ(told->fingerprint.size(), 32U * 3 - 1);
  EXPECT_EQ(told->pem, content_of("ca.crt"));
  EXPECT_FALSE(read_authority(path("none")).has_value());
}

TEST_F(TlsAuthority, ItsCertificateIsForTheMachine) {
  const LocalAuthority files = open();
  const Certificate ca = authority();
  const Certificate own = certificate();
  for (const char* const name : {"localhost", "box.example.org", "box.local", "box.lan",
                                 "127.0.0.1", "::1", "192.168.1.7", "10.0.0.9"}) {
    EXPECT_EQ(verdict(own.get(), ca.get(), name), X509_V_OK) << name;
  }
  EXPECT_EQ(verdict(own.get(), ca.get(), "203.0.113.5"), X509_V_ERR_IP_ADDRESS_MISMATCH);
  EXPECT_EQ(verdict(own.get(), ca.get(), "other.local"), X509_V_ERR_HOSTNAME_MISMATCH);
  EXPECT_EQ(read_certificates(files.certificate_file).size(), 2U);
  EXPECT_EQ(X509_get_extended_key_usage(own.get()), unsigned{XKU_SSL_SERVER});
  int days = 0;
  int seconds = 0;
  ASSERT_EQ(ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(own.get()),
                           X509_get0_notAfter(own.get())),
            1);
  EXPECT_LT(days, 397);
  EXPECT_GT(days, 390);
  const auto context = TlsContext::open(files.certificate_file, files.key_file);
  ASSERT_TRUE(context.has_value()) << context.error();
  EXPECT_EQ((*context)->warning(), "");
}

// What somebody gets who has stolen the authority's key.
TEST_F(TlsAuthority, SignaturesBeyondTheLocalNetworksAreWorthless) {
  struct Row {
    const char* host;  // when the authority was made
    const char* signed_for;
    const char* name;
    int verdict;
  };
  constexpr int refused = X509_V_ERR_PERMITTED_VIOLATION;
  const std::vector<Row> rows = {
      {"box.example.org", "DNS:example.org", "example.org", refused},
      {"box.example.org", "DNS:other.example.org", "other.example.org", refused},
      {"box.example.org", "DNS:xlocal", "xlocal", refused},
      {"box.example.org", "DNS:localhost,DNS:bank.com", "localhost", refused},
      {"box.example.org", "IP:203.0.113.5", "203.0.113.5", refused},
      {"box.example.org", "IP:172.32.0.1", "172.32.0.1", refused},
      {"box.example.org", "IP:2001:db8::1", "2001:db8::1", refused},
      {"box.example.org", "DNS:a.home.arpa", "a.home.arpa", X509_V_OK},
      {"box.example.org", "DNS:a.b.internal", "a.b.internal", X509_V_OK},
      {"box.example.org", "IP:172.31.0.1", "172.31.0.1", X509_V_OK},
      {"box.example.org", "IP:fd12::1", "fd12::1", X509_V_OK},
      // Hosts with the names of public domains: the host itself, but no site below it.
      {"dev", "DNS:dev", "dev", X509_V_OK},
      {"dev", "DNS:web.dev", "web.dev", X509_V_ERR_EXCLUDED_VIOLATION},
      // Hosts with the names of local domains do not close them.
      {"lan", "DNS:printer.lan", "printer.lan", X509_V_OK},
      // Names of which OpenSSL's list of names would make others.
      {"a,permitted;DNS:com", "DNS:bank.com", "bank.com", refused},
      {"1.2.3.4", "DNS:1.2.3.4", "1.2.3.4", X509_V_ERR_IP_ADDRESS_MISMATCH},
  };
  for (const Row& row : rows) {
    std::filesystem::remove_all(directory());
    open({"ann", row.host, {}});
    const Certificate ca = authority();
    const Key stolen = read_key(path("ca.key"));
    const Certificate forged =
        issue({.name = "forged",
               .valid_days = 10,
               .extensions = {{NID_subject_alt_name, row.signed_for},
                              {NID_basic_constraints, "critical,CA:FALSE"},
                              {NID_subject_key_identifier, "hash"},
                              {NID_authority_key_identifier, "keyid:always"}}},
              stolen.get(), ca.get(), stolen.get());
    ASSERT_NE(forged, nullptr) << row.signed_for;
    const int found = verdict(forged.get(), ca.get(), row.name);
    const bool refused_either_way = row.verdict != X509_V_OK && found != X509_V_OK;
    EXPECT_TRUE(found == row.verdict || refused_either_way)
        << row.host << " " << row.signed_for << ": " << X509_verify_cert_error_string(found);
  }
}

TEST_F(TlsAuthority, ACertificateIsRenewedThirtyDaysBeforeItsEnd) {
  open();
  const std::string ca = content_of("ca.crt");
  const std::string key = content_of("server.key");
  struct Row {
    long expires_in_s;
    bool renewed;
  };
  for (const Row& row : {Row{31 * day_s, false}, Row{30 * day_s - 60, true}, Row{-60, true}}) {
    let_expire("server.crt", row.expires_in_s);
    const std::string before = content_of("server.crt");
    EXPECT_FALSE(open().made_now);
    EXPECT_EQ(content_of("server.crt") != before, row.renewed) << row.expires_in_s;
    EXPECT_EQ(content_of("ca.crt"), ca);
    // A process may read the key before and the certificate after the renewal.
    EXPECT_EQ(content_of("server.key"), key);
    EXPECT_TRUE(TlsContext::open(path("server.crt"), path("server.key")));
  }
}

TEST_F(TlsAuthority, ACertificateIsRenewedForNewAddressesAndNames) {
  open();
  std::string before = content_of("server.crt");
  Machine moved = machine;
  moved.addresses = {"10.0.0.9"};
  open(moved);
  EXPECT_EQ(content_of("server.crt"), before) << "fewer addresses";
  moved.addresses = {"198.51.100.1"};
  open(moved);
  EXPECT_EQ(content_of("server.crt"), before) << "one for which it may not sign";
  moved.addresses = {"172.20.1.1"};
  open(moved);
  EXPECT_NE(content_of("server.crt"), before);
  EXPECT_EQ(verdict(certificate().get(), authority().get(), "172.20.1.1"), X509_V_OK);
  // The authority may sign for the new host in local domains, not for its bare name.
  moved.host = "crate";
  open(moved);
  EXPECT_EQ(verdict(certificate().get(), authority().get(), "crate.local"), X509_V_OK);
  EXPECT_EQ(verdict(certificate().get(), authority().get(), "crate"), X509_V_ERR_HOSTNAME_MISMATCH);
  before = content_of("server.crt");
  open(moved);
  EXPECT_EQ(content_of("server.crt"), before) << "renewed at every start";
}

TEST_F(TlsAuthority, AnAuthorityAtItsEndIsReplacedWithItsCertificate) {
  open();
  let_expire("ca.crt", 29 * day_s);
  EXPECT_TRUE(open().made_now);
  EXPECT_EQ(verdict(certificate().get(), authority().get(), "localhost"), X509_V_OK);
  EXPECT_FALSE(open().made_now);
}

TEST_F(TlsAuthority, WhatAKilledProcessLeftIsCompleted) {
  open();
  struct Row {
    const char* missing;
    bool made_now;
  };
  for (const Row& row : {Row{"ca.crt", true}, Row{"server.crt", false}, Row{"server.key", false}}) {
    std::filesystem::rename(path(row.missing), path(row.missing) + ".new");
    EXPECT_EQ(open().made_now, row.made_now) << row.missing;
    EXPECT_EQ(verdict(certificate().get(), authority().get(), "localhost"), X509_V_OK);
    EXPECT_TRUE(TlsContext::open(path("server.crt"), path("server.key"))) << row.missing;
  }
  for (const char* const damaged : {"server.crt", "server.key"}) {
    std::ofstream(path(damaged)) << "-----BEGIN CERTIFICATE-----\nAAAA";
    EXPECT_FALSE(open().made_now) << damaged;
    EXPECT_TRUE(TlsContext::open(path("server.crt"), path("server.key"))) << damaged;
  }
}

TEST_F(TlsAuthority, AChainOfAnotherAuthorityIsReplaced) {
  open();
  const std::string own = pem_of(certificate().get());
  std::ofstream(path("server.crt")) << own << own;
  open();
  const std::vector<Certificate> chain = read_certificates(path("server.crt"));
  ASSERT_EQ(chain.size(), 2U);
  EXPECT_EQ(X509_cmp(chain[1].get(), authority().get()), 0);
}

// Devices may trust it, so only the user can decide to do without it.
TEST_F(TlsAuthority, AnAuthorityThatCannotBeUsedIsKept) {
  open();
  const std::string good = content_of("ca.key");
  const auto refused = [&](const std::string& named) {
    const std::string certificate = content_of("ca.crt");
    const std::string key = content_of("ca.key");
    const auto opened = open_local_authority(directory(), machine);
    ASSERT_FALSE(opened.has_value()) << named;
    EXPECT_NE(opened.error().find(path(named)), std::string::npos) << opened.error();
    EXPECT_NE(opened.error().find("delete "), std::string::npos) << opened.error();
    EXPECT_EQ(content_of("ca.crt"), certificate);
    EXPECT_EQ(content_of("ca.key"), key);
  };
  std::ofstream(path("ca.key")) << content_of("server.key");
  refused("ca.key");
  std::filesystem::remove(path("ca.key"));
  refused("ca.key");
  std::ofstream(path("ca.key")) << good;
  EXPECT_FALSE(open().made_now);
  std::ofstream(path("ca.crt")) << pem_of(certificate().get());
  refused("ca.crt");
  std::ofstream(path("ca.crt")) << "no certificate";
  refused("ca.crt");
}

TEST_F(TlsAuthority, SaysWhatItCannotWrite) {
  std::ofstream(folder_ / "state") << "no folder";
  const auto opened = open_local_authority(directory(), machine);
  ASSERT_FALSE(opened.has_value());
  EXPECT_NE(opened.error().find(directory()), std::string::npos) << opened.error();
}

// A file that is cut, as on a full disk, replaces none.
TEST_F(TlsAuthority, AWriteThatFailsLeavesWhatWasThere) {
  open();
  let_expire("server.crt", day_s);
  const std::string before = content_of("server.crt");
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit short_files{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &short_files);
    const auto opened = open_local_authority(directory(), machine);
    ::_exit(!opened && opened.error().find(path("server.crt")) != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content_of("server.crt"), before);
  EXPECT_FALSE(std::filesystem::exists(path("server.crt.new")));
}

TEST_F(TlsAuthority, ManyProcessesMakeOne) {
  constexpr int processes = 8;
  for (int round = 0; round < 3; ++round) {
    if (round == 2) let_expire("server.crt", day_s);
    std::vector<pid_t> children;
    for (int i = 0; i < processes; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        const auto opened = open_local_authority(directory(), machine);
        const bool usable =
            opened && TlsContext::open(opened->certificate_file, opened->key_file).has_value();
        ::_exit(!usable ? 2 : opened->made_now ? 1 : 0);
      }
      children.push_back(child);
    }
    int makers = 0;
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2);
      makers += WEXITSTATUS(status);
    }
    EXPECT_EQ(makers, round == 0 ? 1 : 0);
    EXPECT_EQ(verdict(certificate().get(), authority().get(), "localhost"), X509_V_OK);
  }
}

// --- net/certs/machine.h
// ----------------------------------------------------------------------------

TEST(LocalMachine, NamesAreThoseThatCertificatesCanHave) {
  using Names = std::vector<std::string>;
  const Names always{"DNS:localhost", "IP:127.0.0.1", "IP:::1"};
  const auto more = [&](const std::string& host, std::vector<std::string> addresses = {}) {
    Names names = names_of({"ann", host, std::move(addresses)});
    EXPECT_TRUE(std::ranges::equal(always, Names(names.begin(), names.begin() + 3)));
    names.erase(names.begin(), names.begin() + 3);
    return names;
  };
  EXPECT_EQ(more("localhost"), Names());
  EXPECT_EQ(more("BOX"), (Names{"DNS:box", "DNS:box.local", "DNS:box.lan"}));
  EXPECT_EQ(more("box.local"), (Names{"DNS:box.local", "DNS:box.lan"}));
  EXPECT_EQ(more("localhost", {"10.0.0.1", "10.0.0.1"}), Names{"IP:10.0.0.1"});
  for (const char* const host :
       {"", "a,b", "a_b", ".", "a.", ".a", "a..b", "-a", "10.0.0.1", "7"}) {
    EXPECT_EQ(more(host), Names()) << host;
  }
  EXPECT_EQ(more(std::string(64, 'a')), Names());
  EXPECT_EQ(more(std::string(63, 'a')).size(), 3U);
}

TEST(LocalMachine, AnAuthoritysNameFitsIntoItsField) {
  EXPECT_EQ(authority_name({"a n:n", "b\nx", {}}), "h2server local CA (a-n-n@b-x)");
  EXPECT_EQ(authority_name({std::string(99, 'u'), "h", {}}).size(), 64U);
  EXPECT_NE(this_machine().user, "");
  EXPECT_NE(this_machine().host, "");
}

}  // namespace tls_authority_test
}  // namespace h2server::net
