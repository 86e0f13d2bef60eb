#include "app/acme/acme_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "app/acme_folder.h"
#include "content/support.h"
#include "net/certs/new_file.h"

namespace h2server::app {
namespace acme_store_test {

using Hosts = std::vector<std::string>;
using tests::AcmeFolder;
using tests::read;

unsigned mode_of(const std::string& path) {
  struct stat now{};
  return ::stat(path.c_str(), &now) == 0 ? now.st_mode & 07777U : 0;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::trunc) << text;
}

TEST(AcmeStore, Folders) {
  const std::pair<const char*, const char*> rows[] = {
      {"https://acme-v02.api.letsencrypt.org/directory", "/s/acme/acme-v02.api.letsencrypt.org"},
      {"https://127.0.0.1:14000/dir", "/s/acme/127.0.0.1_14000"},
      {"https://[::1]:14000/dir", "/s/acme/___1__14000"},
      {"https://Ca.Test", "/s/acme/ca.test"},
      {"https://../x", "/s/acme/_."},
      {"https://ca.test?x/y", "/s/acme/ca.test"},
  };
  for (const auto& [url, folder] : rows) EXPECT_EQ(acme_folder("/s", url), folder);
}

TEST(AcmeStore, AccountKey) {
  const AcmeFolder folder;
  const auto made = open_account_key(folder.path() + "/x/y");
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(open_account_key(folder.path() + "/x/y"), *made);
  EXPECT_EQ(mode_of(folder.path() + "/x/y/account.key"), 0600u);
  EXPECT_EQ(mode_of(folder.path() + "/x/y"), 0700u);
  EXPECT_EQ(mode_of(folder.path() + "/x"), 0700u);
  EXPECT_TRUE(net::SigningKey::from_pem(*made));
}

TEST(AcmeStore, DamagedAccountKeyStays) {
  const AcmeFolder folder;
  write(folder.path() + "/account.key", "damaged");
  EXPECT_FALSE(open_account_key(folder.path()));
  EXPECT_EQ(read(folder.path() + "/account.key"), "damaged");
}

TEST(AcmeStore, UnreadableAccountKeyStays) {
  const AcmeFolder folder;
  const std::string file = folder.path() + "/account.key";
  std::filesystem::create_symlink(file, file);  // ELOOP
  const auto key = open_account_key(folder.path());
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error(), "acme: can't read " + file + ": Too many levels of symbolic links");
  EXPECT_TRUE(std::filesystem::is_symlink(file));
}

TEST(AcmeStore, TemporaryPairIsNotIssued) {
  const AcmeFolder folder;
  const AcmeFiles files = acme_files(folder.path(), "a.test");
  ASSERT_TRUE(prepare_acme_files(files));
  EXPECT_EQ(mode_of(files.key), 0600u);
  EXPECT_FALSE(find_issued(files, Hosts{"a.test"}));
  EXPECT_FALSE(find_issued(files, Hosts{"localhost"})) << "self-signed";
  const std::string before = read(files.certificate);
  ASSERT_TRUE(prepare_acme_files(files));
  EXPECT_EQ(read(files.certificate), before) << "a pair that fits stays";
}

TEST(AcmeStore, KeepsWhatWasIssued) {
  const AcmeFolder folder;
  const AcmeFiles files = acme_files(folder.path(), "a.test");
  ASSERT_TRUE(prepare_acme_files(files));
  const tests::IssuedPair pair(Hosts{"a.test", "b.test"});
  ASSERT_TRUE(keep_issued(files, pair.chain, pair.key));
  EXPECT_EQ(read(files.certificate), pair.chain);
  EXPECT_EQ(read(files.key), pair.key);
  EXPECT_EQ(mode_of(files.certificate), 0600u);
  EXPECT_EQ(mode_of(files.key), 0600u);
  const auto issued = find_issued(files, Hosts{"a.test", "b.test"});
  ASSERT_TRUE(issued);
  EXPECT_LT(issued->begin_s, issued->end_s);
  EXPECT_TRUE(issued->id);
  EXPECT_TRUE(find_issued(files, Hosts{"b.test"}));
  EXPECT_FALSE(find_issued(files, Hosts{"a.test", "c.test"})) << "a host was added";
  ASSERT_TRUE(prepare_acme_files(files));
  EXPECT_EQ(read(files.certificate), pair.chain);
}

// What is there if keep_issued() ends after each of its steps.
TEST(AcmeStore, InterruptedAnywhere) {
  const tests::IssuedPair before(Hosts{"a.test"});
  const tests::IssuedPair after(Hosts{"a.test"});
  for (int steps = 0; steps <= 4; ++steps) {
    const AcmeFolder folder;
    const AcmeFiles files = acme_files(folder.path(), "a.test");
    ASSERT_TRUE(keep_issued(files, before.chain, before.key));
    if (steps >= 1) {
      ASSERT_EQ(net::write_unfinished(files.key, after.key, 0600), 0);
    }
    if (steps >= 2) {
      ASSERT_EQ(net::write_unfinished(files.certificate, after.chain, 0600), 0);
    }
    if (steps >= 3) {
      ASSERT_EQ(net::publish_over(files.certificate), 0);
    }
    if (steps >= 4) {
      ASSERT_EQ(net::publish_over(files.key), 0);
    }
    ASSERT_TRUE(prepare_acme_files(files));
    EXPECT_EQ(read(files.certificate), steps >= 3 ? after.chain : before.chain) << steps;
    EXPECT_TRUE(find_issued(files, Hosts{"a.test"})) << steps;
  }
}

// It may be damaged, or belong to another certificate, but an operator may know what to do with it.
TEST(AcmeStore, NothingIsDeleted) {
  const AcmeFolder folder;
  const AcmeFiles files = acme_files(folder.path(), "a.test");
  const tests::IssuedPair pair(Hosts{"a.test"});
  ASSERT_TRUE(keep_issued(files, pair.chain, pair.key));
  write(files.certificate, "damaged");
  ASSERT_TRUE(prepare_acme_files(files));
  EXPECT_EQ(read(files.certificate + ".damaged"), "damaged");
  EXPECT_EQ(read(files.key + ".damaged"), pair.key);
  EXPECT_EQ(mode_of(files.key + ".damaged"), 0600u);
}

TEST(AcmeStore, UnreadableFilesStay) {
  const tests::IssuedPair pair(Hosts{"a.test"});
  for (const char* const end : {".crt", ".key", ".key.new"}) {
    const AcmeFolder folder;
    const AcmeFiles files = acme_files(folder.path(), "a.test");
    ASSERT_TRUE(keep_issued(files, pair.chain, pair.key));
    const std::string file = folder.path() + "/a.test" + end;
    std::filesystem::remove(file);
    std::filesystem::create_symlink(file, file);  // ELOOP
    const auto prepared = prepare_acme_files(files);
    ASSERT_FALSE(prepared) << end;
    EXPECT_EQ(prepared.error(), "acme: can't read " + file + ": Too many levels of symbolic links");
    EXPECT_TRUE(std::filesystem::is_symlink(file));
    if (file != files.key) {
      EXPECT_EQ(read(files.key), pair.key);
    }
    if (file != files.certificate) {
      EXPECT_EQ(read(files.certificate), pair.chain);
    }
  }
}

// EMFILE: the folder can be locked, and then nothing else can be opened.
TEST(AcmeStore, NoDescriptorIsLeft) {
  const tests::IssuedPair pair(Hosts{"a.test"});
  const AcmeFolder folder;
  const AcmeFiles files = acme_files(folder.path(), "a.test");
  ASSERT_TRUE(keep_issued(files, pair.chain, pair.key));
  const auto prepared = [&files] {
    const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use() + 1);
    return prepare_acme_files(files);
  }();
  EXPECT_FALSE(prepared);
  EXPECT_EQ(read(files.certificate), pair.chain);
  EXPECT_EQ(read(files.key), pair.key);
  EXPECT_TRUE(prepare_acme_files(files));
  EXPECT_EQ(read(files.key), pair.key);
}

// A server that finds such a chain would not start.
TEST(AcmeStore, ChainsThatNoServerLoads) {
  const tests::IssuedPair before(Hosts{"a.test"});
  const tests::IssuedPair after(Hosts{"a.test"});
  const AcmeFolder folder;
  const AcmeFiles files = acme_files(folder.path(), "a.test");
  ASSERT_TRUE(keep_issued(files, before.chain, before.key));
  for (const std::string& chain :
       {std::string(),
        after.chain + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        after.chain + "-----BEGIN CERTIFICATE-----\n!\n", before.chain}) {
    EXPECT_FALSE(keep_issued(files, chain, after.key)) << chain;
    EXPECT_EQ(read(files.certificate), before.chain);
    EXPECT_EQ(read(files.key), before.key);
    EXPECT_TRUE(find_issued(files, Hosts{"a.test"}));
  }
}

TEST(AcmeStore, DamagedPairIsReplaced) {
  const tests::IssuedPair pair(Hosts{"a.test"});
  for (const bool certificate : {true, false}) {
    const AcmeFolder folder;
    const AcmeFiles files = acme_files(folder.path(), "a.test");
    ASSERT_TRUE(keep_issued(files, pair.chain, pair.key));
    write(certificate ? files.certificate : files.key, "damaged");
    EXPECT_FALSE(find_issued(files, Hosts{"a.test"}));
    ASSERT_TRUE(prepare_acme_files(files));
    EXPECT_NE(read(files.certificate), pair.chain);
    EXPECT_NE(read(files.key), "damaged");
  }
}

TEST(AcmeStore, FolderOfAnotherUser) {
  EXPECT_FALSE(prepare_acme_files(acme_files("/proc/self", "a.test")));
  EXPECT_FALSE(open_account_key("/proc/self/x"));
}

}  // namespace acme_store_test
}  // namespace h2server::app
