#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <string>

#include "app/doctor/doctor_checks.h"
#include "app/fake_system.h"
#include "base/fd.h"
#include "net/certs/tls_certificate.h"

namespace h2server::app {
namespace doctor_files_test {

constexpr std::int64_t day_s = 24 * 3600;
constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

class DoctorFiles : public testing::Test {
 protected:
  DoctorFiles() {
    EXPECT_TRUE(net::make_self_signed(input_.certificate_file, input_.key_file).has_value());
    std::filesystem::create_directories(input_.root);
  }

  FakeSystem fake_;
  DoctorInput input_{.root = fake_.path("www"),
                     .upload_directory = fake_.path("uploads"),
                     .certificate_file = fake_.path("server.crt"),
                     .key_file = fake_.path("server.key")};
  const std::int64_t now_s_ = std::time(nullptr) + 3600;  // the certificate's last day has begun
};

TEST_F(DoctorFiles, JudgesTheValidityOfACertificate) {
  const Finding good = check_certificate(input_, now_s_);
  EXPECT_EQ(good.level, Level::note);  // self-signed
  expect_words(good.finding, {"localhost", "127.0.0.1", "397 days left", "self-signed"});
  const Finding ending = check_certificate(input_, now_s_ + 390 * day_s);
  EXPECT_EQ(ending.level, Level::note);
  expect_words(ending.finding, {"7 days left"});
  expect_words(ending.remedy, {"renew"});
  const Finding expired = check_certificate(input_, now_s_ + 399 * day_s);
  EXPECT_EQ(expired.level, Level::problem);
  expect_words(expired.finding, {"expired on"});
  const Finding early = check_certificate(input_, now_s_ - day_s);
  EXPECT_EQ(early.level, Level::problem);
  expect_words(early.finding, {"not valid before"});
}

TEST_F(DoctorFiles, RefusesFilesThatAreNoCertificateOrKey) {
  input_.certificate_file = fake_.path("missing.crt");
  input_.key_file = fake_.path("missing.key");
  Finding certificate = check_certificate(input_, now_s_);
  EXPECT_EQ(certificate.level, Level::problem);
  expect_words(certificate.finding, {"missing.crt does not exist"});
  expect_words(certificate.remedy, {"--cert", "--self-signed", "--h2c"});
  Finding key = check_key(input_);
  EXPECT_EQ(key.level, Level::problem);
  expect_words(key.remedy, {"--key"});
  input_.certificate_file = input_.key_file = fake_.write("text", "no PEM\n");
  EXPECT_EQ(check_certificate(input_, now_s_).level, Level::problem);
  EXPECT_EQ(check_key(input_).level, Level::problem);
  input_.certificate_file = input_.key_file = input_.root;
  expect_words(check_certificate(input_, now_s_).finding, {"is a directory"});
  expect_words(check_key(input_).finding, {"is a directory"});
}

TEST_F(DoctorFiles, DoesNotWaitForAPipe) {
  input_.certificate_file = input_.key_file = fake_.path("pipe");
  ASSERT_EQ(::mkfifo(input_.key_file.c_str(), 0600), 0);
  EXPECT_EQ(check_certificate(input_, now_s_).level, Level::note);
  EXPECT_EQ(check_key(input_).level, Level::note);
}

TEST_F(DoctorFiles, KnowsWhatSelfSignedMakes) {
  input_.certificate_file = fake_.path("new/folder/server.crt");
  input_.key_file = fake_.path("new/folder/server.key");
  input_.self_signed = true;
  EXPECT_EQ(check_certificate(input_, now_s_).level, Level::ok);
  EXPECT_EQ(check_key(input_).level, Level::ok);
  EXPECT_FALSE(std::filesystem::exists(fake_.path("new")));
}

TEST_F(DoctorFiles, ComparesTheKeyWithTheCertificate) {
  EXPECT_EQ(check_key(input_).level, Level::ok);
  ASSERT_TRUE(net::make_self_signed(fake_.path("other.crt"), fake_.path("other.key")).has_value());
  input_.key_file = fake_.path("other.key");
  const Finding other = check_key(input_);
  EXPECT_EQ(other.level, Level::problem);
  expect_words(other.finding, {"another certificate"});
  input_.certificate_file = fake_.path("missing");
  EXPECT_EQ(check_key(input_).level, Level::ok);
}

TEST_F(DoctorFiles, KeepsTheKeySecret) {
  std::filesystem::permissions(input_.key_file, std::filesystem::perms(0640));
  EXPECT_EQ(check_key(input_).level, Level::ok);
  for (const unsigned mode : {0644U, 0602U}) {
    std::filesystem::permissions(input_.key_file, std::filesystem::perms(mode));
    const Finding open = check_key(input_);
    EXPECT_EQ(open.level, Level::problem) << mode;
    expect_words(open.remedy, {"chmod"});
  }
  std::filesystem::permissions(input_.key_file, std::filesystem::perms(0600));
  for (std::string* const served : {&input_.root, &input_.upload_directory}) {
    const std::string before = *served;
    *served = fake_.path("");
    const Finding shown = check_key(input_);
    EXPECT_EQ(shown.level, Level::problem);
    expect_words(shown.finding, {"would be served"});
    *served = before;
  }
}

TEST_F(DoctorFiles, LooksAtTheRoot) {
  EXPECT_EQ(check_root(input_).level, Level::ok);
  input_.root = fake_.path("missing");
  EXPECT_EQ(check_root(input_).level, Level::problem);
  input_.root = fake_.write("file", "");
  const Finding file = check_root(input_);
  EXPECT_EQ(file.level, Level::problem);
  expect_words(file.remedy, {"--root"});
}

TEST_F(DoctorFiles, TriesToMapAFile) {
  const base::Fd large(::memfd_create("large", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(large.get(), std::int64_t{1} << 48), 0);  // a process has 47 bits
  fake_.write("root/empty", "");
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(large.get()),
                                  fake_.path("root/large"));
  input_.root = fake_.path("root");
  const Finding found = check_root(input_);
  EXPECT_EQ(found.level, Level::note);
  expect_words(found.finding, {"root/large", "mapped", "Cannot allocate memory"});
}

TEST_F(DoctorFiles, ThreadsReadAFileSystemThatMayWait) {
  input_.root = "/dev/pts";  // of a type that file::may_wait() does not know
  expect_words(check_root(input_).finding, {"threads"});
}

TEST_F(DoctorFiles, JudgesTheDiskOfUploads) {
  const DiskFacts good{
      .size = 100 * gibibyte, .free = 51 * gibibyte, .inodes = 1'000'000, .inodes_free = 900'000};
  const Finding found = check_disk(good, input_);
  EXPECT_EQ(found.level, Level::ok);
  expect_words(found.finding, {"room for 50 GiB"});  // 1 GiB is kept free
  DiskFacts disk = good;
  disk.free = gibibyte;
  EXPECT_EQ(check_disk(disk, input_).level, Level::problem);
  input_.reserve_bytes = 0;
  EXPECT_EQ(check_disk(disk, input_).level, Level::ok);
  disk.size = 0;  // it does not tell
  disk.free = 0;
  EXPECT_EQ(check_disk(disk, input_).level, Level::ok);
  disk = good;
  disk.read_only = true;
  EXPECT_EQ(check_disk(disk, input_).level, Level::problem);
  disk = good;
  disk.inodes_free = 0;
  EXPECT_EQ(check_disk(disk, input_).level, Level::problem);
  disk.inodes = 0;  // a file system that makes them as needed
  EXPECT_EQ(check_disk(disk, input_).level, Level::ok);
  disk = good;
  disk.inodes_free = 10;
  EXPECT_EQ(check_disk(disk, input_).level, Level::note);
  disk = good;
  disk.in_memory = true;
  const Finding memory = check_disk(disk, input_);
  EXPECT_EQ(memory.level, Level::note);
  expect_words(memory.finding, {"memory"});
}

TEST_F(DoctorFiles, LooksAtTheUploadDirectory) {
  input_.reserve_bytes = 0;
  EXPECT_NE(check_uploads(input_).level, Level::problem);  // it will be made
  EXPECT_FALSE(std::filesystem::exists(input_.upload_directory));
  input_.upload_directory = fake_.write("file", "");
  EXPECT_EQ(check_uploads(input_).level, Level::problem);
  input_.upload_directory = fake_.path("file/below");
  EXPECT_EQ(check_uploads(input_).level, Level::problem);
}

}  // namespace doctor_files_test
}  // namespace h2server::app
