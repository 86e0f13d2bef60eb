#include "file/content.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "content/support.h"
#include "file/support.h"

namespace h2server::file {

namespace content_test {

constexpr std::size_t size = 10'000;  // more than both ends that are sampled

const std::string before(size, 'x');

using Change = std::function<void(const std::string& path)>;

void write_at(const std::string& path, off_t offset, std::string_view bytes) {
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), bytes.data(), bytes.size(), offset), std::ssize(bytes));
}

void set_time(const std::string& path, std::int64_t seconds) {
  const timespec times[2] = {{seconds, 0}, {seconds, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

struct Row {
  const char* name;
  Change change;
  const char* why;         // it fails; empty: it does not
  bool unchanged = false;  // for a lookup
};

const char* const truncated = "the file was truncated while it was sent";
const char* const written = "the file was written to while it was sent";
const char* const rewritten = "the file was rewritten while it was sent";

// The file was written at 1'000'000'000.
const Row rows[] = {
    {"nothing", [](const auto&) {}, "", true},
    {"it grows", [](const auto& path) { write_at(path, size, "more"); }, ""},
    {"it grows by a hole", [](const auto& path) { std::filesystem::resize_file(path, size + 1); },
     ""},
    {"other rights", [](const auto& path) { ::chmod(path.c_str(), 0640); }, ""},
    {"another name", [](const auto& path) { std::filesystem::rename(path, path + "2"); }, ""},
    {"one name more", [](const auto& path) { std::filesystem::create_hard_link(path, path + "2"); },
     ""},
    {"no name", [](const auto& path) { std::filesystem::remove(path); }, "", true},
    {"a byte less", [](const auto& path) { std::filesystem::resize_file(path, size - 1); },
     truncated},
    {"nothing left", [](const auto& path) { std::filesystem::resize_file(path, 0); }, truncated},
    {"a byte in the middle", [](const auto& path) { write_at(path, size / 2, "y"); }, written},
    {"the same bytes", [](const auto& path) { write_at(path, 0, before); }, written},
    {"touched", [](const auto& path) { set_time(path, 5); }, written},
    {"longer, another start",
     [](const auto& path) {
       write_at(path, 0, "y");
       write_at(path, size, "more");
     },
     rewritten},
    {"longer, another end", [](const auto& path) { write_at(path, size - 1, "yy"); }, rewritten},
    {"other bytes with the old time",
     [](const auto& path) {
       write_at(path, size - 1, "y");
       set_time(path, 1'000'000'000);
     },
     rewritten},
};

class ContentTest : public testing::TestWithParam<bool> {
 protected:
  // Of the file as it is.
  [[nodiscard]] std::unique_ptr<const Content> content() const {
    base::Fd descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    const FileVersion version = version_of(descriptor.get()).value();
    return GetParam() ? Content::on_slow_file_system(version, std::move(descriptor))
                      : Content::map(version, std::move(descriptor));
  }

  tests::TemporaryDirectory directory_;
  const std::string path_ = directory_.path_of("a");
};

TEST_P(ContentTest, IsCheckedAgainstItsFile) {
  for (const Row& row : rows) {
    directory_.write_settled("a", before);
    const std::unique_ptr<const Content> sent = content();
    row.change(path_);
    const Result<void> checked = sent->check(true);
    EXPECT_EQ(checked ? "" : checked.error().what, row.why) << row.name;
    std::string copy(100, ' ');
    const Result<void> copied = sent->copy(copy, 1000, true);
    EXPECT_EQ(copied.has_value(), checked.has_value()) << row.name;
    if (copied) {
      EXPECT_EQ(copy, std::string(100, 'x')) << row.name;
    }
    EXPECT_EQ(sent->unchanged(), row.unchanged) << row.name;
    std::filesystem::remove(path_ + "2");
  }
}

// An append that is not complete looks the same.
TEST_P(ContentTest, MayBeBeingWrittenUntilTheLastCheck) {
  directory_.write_settled("a", before);
  const std::unique_ptr<const Content> sent = content();
  write_at(path_, size / 2, "y");
  EXPECT_TRUE(sent->check(false).has_value());
  EXPECT_FALSE(sent->check(true).has_value());
  directory_.write_settled("a", before, 5);
  EXPECT_FALSE(sent->check(false).has_value()) << "no write goes on";
}

TEST_P(ContentTest, MayBeShorterThanASample) {
  for (const std::size_t few : {std::size_t{1}, std::size_t{1023}, std::size_t{1025}}) {
    directory_.write_settled("a", std::string(few, 'x'));
    const std::unique_ptr<const Content> sent = content();
    directory_.write("a", std::string(few + 1, 'x'));
    EXPECT_TRUE(sent->check(true).has_value()) << few;
    directory_.write("a", std::string(few + 1, 'y'));
    EXPECT_FALSE(sent->check(true).has_value()) << few;
  }
}

INSTANTIATE_TEST_SUITE_P(MappedAndRead, ContentTest, testing::Bool(),
                         [](const auto& suite) { return suite.param ? "read" : "mapped"; });

// A process has 47 bits of addresses.
TEST(UnmappedContent, IsReadInstead) {
  const base::Fd memory(::memfd_create("large", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(memory.get(), std::int64_t{1} << 48), 0);
  ASSERT_EQ(::pwrite(memory.get(), "end", 3, (std::int64_t{1} << 48) - 3), 3);
  base::Fd descriptor(::dup(memory.get()));
  const FileVersion version = version_of(descriptor.get()).value();
  const std::unique_ptr<const Content> content = Content::map(version, std::move(descriptor));
  EXPECT_EQ(errno, ENOMEM);
  ASSERT_TRUE(content->may_wait());
  std::string end(3, ' ');
  EXPECT_TRUE(content->copy(end, content->size() - 3, true).has_value());
  EXPECT_EQ(end, "end");
}

}  // namespace content_test
}  // namespace h2server::file
