// What is read again when certificates are loaded anew.
#include "net/certs/tls_credentials.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "net/certs/file_stamp.h"
#include "net/tls_handshake.h"

namespace h2server::net {
namespace tls_credentials_test {

std::int64_t later_us = 0;
std::int64_t later() noexcept { return base::unix_us() + later_us; }

class CredentialsTableTest : public testing::Test {
 protected:
  CredentialsTableTest() { later_us = 10'000'000; }

  using Shared = std::shared_ptr<const Credentials>;

  static Shared read(CredentialsTable& table, const CertificateFiles& files,
                     const CredentialsTable* previous) {
    const auto set = table.read(std::vector{files}, {}, previous);
    EXPECT_TRUE(set) << set.error();
    return set ? set->front() : nullptr;
  }

  Files files_;
  const CertificateFiles pair_ =
      files_.write_pair("pair", make_identity("first", ec_key(), nullptr));
};

TEST_F(CredentialsTableTest, FilesThatStayAreNotReadAgain) {
  CredentialsTable first(later);
  CredentialsTable second(later);
  CredentialsTable third(later);
  const Shared read_first = read(first, pair_, nullptr);
  EXPECT_EQ(read(first, pair_, nullptr), read_first);
  EXPECT_EQ(read(second, pair_, &first), read_first);
  EXPECT_EQ(read(third, pair_, &second), read_first);
}

TEST_F(CredentialsTableTest, FilesThatHaveChangedAreReadAgain) {
  CredentialsTable first(later);
  const Shared before = read(first, pair_, nullptr);
  files_.write_pair("other", make_identity("other", ec_key(), nullptr));
  for (const std::string suffix : {".crt", ".key"}) {
    std::filesystem::rename(files_.path("other" + suffix), files_.path("pair" + suffix));
  }
  CredentialsTable second(later);
  const Shared after = read(second, pair_, &first);
  EXPECT_NE(X509_cmp(before->certificate.get(), after->certificate.get()), 0);
}

TEST_F(CredentialsTableTest, FilesThatMayHaveChangedWithoutATraceAreReadAgain) {
  later_us = 0;
  CredentialsTable first(later);
  CredentialsTable second(later);
  const Shared before = read(first, pair_, nullptr);
  later_us = 10'000'000;
  EXPECT_NE(read(second, pair_, &first), before);
}

TEST_F(CredentialsTableTest, AFileThatIsGoneIsAnError) {
  CredentialsTable first(later);
  read(first, pair_, nullptr);
  std::filesystem::remove(pair_.key_file);
  CredentialsTable second(later);
  EXPECT_FALSE(second.read(std::vector{pair_}, {}, &first));
}

TEST(FileStampTest, TellsOnlyOnceTheClockHasGoneOn) {
  const Files files;
  files.write("file", "text");
  const FileStamp stamp = stamp_of(files.path("file"));
  EXPECT_EQ(stamp.bytes, 4);
  EXPECT_EQ(stamp, stamp_of(files.path("file")));
  EXPECT_FALSE(is_telling(stamp, stamp.inode_ns + 1'000'000'000));
  EXPECT_TRUE(is_telling(stamp, stamp.inode_ns + 1'000'000'001));
  files.write("file", "longer");
  EXPECT_NE(stamp, stamp_of(files.path("file")));
  EXPECT_EQ(stamp_of(files.path("gone")), FileStamp());
  EXPECT_EQ(stamp_of(""), FileStamp());
}

}  // namespace tls_credentials_test
}  // namespace h2server::net
