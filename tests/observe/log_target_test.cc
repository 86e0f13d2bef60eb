#include "observe/log_target.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace h2server::observe {
namespace log_target_test {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class LogTargets : public testing::Test {
 protected:
  LogTargets() {
    std::string name = (fs::temp_directory_path() / "h2server-log-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ::signal(SIGPIPE, SIG_IGN);  // the log's thread blocks it
  }
  ~LogTargets() override {
    fs::remove_all(folder_);
    ::signal(SIGPIPE, SIG_DFL);
  }

  [[nodiscard]] fs::path path(const std::string& name = "log") const { return folder_ / name; }
  [[nodiscard]] std::string in(const std::string& name = "log") const {
    return content_of(path(name));
  }
  [[nodiscard]] TargetSpec spec(const std::string& name = "log") const {
    return {.path = path(name).string()};
  }
  [[nodiscard]] base::Fd fifo() const {
    EXPECT_EQ(::mkfifo(path().c_str(), 0600), 0);
    return reader();
  }
  [[nodiscard]] base::Fd reader() const {
    return base::Fd(::open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  static std::string read_all(const base::Fd& from) {
    std::string text;
    std::array<char, 65536> room;
    for (ssize_t count = 0; (count = ::read(from.get(), room.data(), room.size())) > 0;) {
      text.append(room.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

  fs::path folder_;
};

// No file may grow beyond a size: what a full disk does, at a byte that a test chooses.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_{};
};

TEST_F(LogTargets, AppendsToAFileThatOthersMayNotRead) {
  std::ofstream(path()) << "before\n";
  LogTarget first(spec());
  ASSERT_TRUE(first.open());
  first.append("a\nb\n", 0);
  EXPECT_TRUE(first.has_pending());
  EXPECT_EQ(in(), "before\n");
  first.flush(0);
  EXPECT_FALSE(first.has_pending());
  EXPECT_EQ(in(), "before\na\nb\n");
  EXPECT_EQ(first.stats().bytes, 4U);

  LogTarget second(spec("new"));
  ASSERT_TRUE(second.open());
  EXPECT_EQ(fs::status(path("new")).permissions() & fs::perms::others_all, fs::perms::none);
}

// Each call's bytes are a packet here. Others may append to the same file between two calls.
TEST_F(LogTargets, EachCallWritesWholeLines) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  const base::Fd reader(pair[0]);
  const int room = 1 << 20;
  ::setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  const base::Fd before(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  ASSERT_EQ(::dup2(pair[1], STDOUT_FILENO), STDOUT_FILENO);
  ::close(pair[1]);
  LogTarget target({.path = "-"});
  const bool opened = target.open().has_value();
  ASSERT_EQ(::dup2(before.get(), STDOUT_FILENO), STDOUT_FILENO);
  ASSERT_TRUE(opened);
  std::string lines;
  while (lines.size() < 700'000) lines += std::string(300, 'l') + "\n";
  target.append(lines, 0);
  std::string packet(room, '\0');
  std::string written;
  int packets = 0;
  for (; written.size() < lines.size(); ++packets) {
    const ssize_t size = ::recv(reader.get(), packet.data(), packet.size(), MSG_DONTWAIT);
    if (size < 0) {
      ASSERT_TRUE(target.has_pending());
      target.flush(1'000'000'000LL * packets);
      continue;
    }
    written += packet.substr(0, static_cast<std::size_t>(size));
    EXPECT_EQ(written.back(), '\n') << "packet " << packets;
  }
  EXPECT_GT(packets, 1);
  EXPECT_EQ(written, lines);
}

TEST_F(LogTargets, ManyLinesAreWrittenAtOnceAndInOrder) {
  LogTarget target(spec());
  ASSERT_TRUE(target.open());
  const std::string many = std::string(600'000, 'm') + "\n";
  target.append("first\n", 0);
  target.append(many, 0);
  EXPECT_FALSE(target.has_pending());
  target.append("last\n", 0);
  target.close(0);
  EXPECT_EQ(in(), "first\n" + many) << "close() writes no more";
  EXPECT_EQ(target.stats().lost, 1U);
}

TEST_F(LogTargets, WhatCannotBeOpenedSaysWhy) {
  EXPECT_EQ(LogTarget(spec("none/log")).open().error().code, ENOENT);
  fs::create_directory(path("folder"));
  EXPECT_EQ(LogTarget(spec("folder")).open().error().code, EISDIR);
  TargetSpec syslog{.path = "syslog"};
  syslog.syslog_path = path("socket").string();
  EXPECT_EQ(LogTarget(syslog).open().error().code, ENOENT);
  syslog.syslog_path = std::string(200, 's');
  EXPECT_EQ(LogTarget(syslog).open().error().code, ENAMETOOLONG);
}

TEST_F(LogTargets, SeveralNamesOfAFileAreKnown) {
  LogTarget target(spec());
  ASSERT_TRUE(target.open());
  const auto is_same = [&](const std::string& name) {
    LogTarget other({.path = name});
    EXPECT_TRUE(other.open()) << name;
    EXPECT_EQ(target.is_same_file(other), other.is_same_file(target));
    return target.is_same_file(other);
  };
  fs::create_hard_link(path(), path("hard"));
  fs::create_symlink(path(), path("soft"));
  fs::create_directory_symlink(folder_, path("folder"));
  for (const char* const name : {"log", "hard", "soft", "./log", "folder/log"}) {
    EXPECT_TRUE(is_same(folder_.string() + "/" + name)) << name;
  }
  EXPECT_FALSE(is_same(path("other").string()));
  EXPECT_FALSE(is_same("-"));
  const LogTarget closed(spec());
  EXPECT_FALSE(target.is_same_file(closed));
}

TEST_F(LogTargets, StandardOutputMayBeAFile) {
  LogTarget target(spec());
  ASSERT_TRUE(target.open());
  const base::Fd before(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  const base::Fd log(::open(path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  ASSERT_EQ(::dup2(log.get(), STDOUT_FILENO), STDOUT_FILENO);
  LogTarget output({.path = "-"});
  EXPECT_TRUE(output.open());
  EXPECT_TRUE(output.is_same_file(target));
  ASSERT_EQ(::dup2(before.get(), STDOUT_FILENO), STDOUT_FILENO);
}

TEST_F(LogTargets, AFifoWithoutAReaderIsKnownToo) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  fs::create_hard_link(path(), path("hard"));
  LogTarget first(spec());
  LogTarget second(spec("hard"));
  ASSERT_TRUE(first.open());
  ASSERT_TRUE(second.open());
  EXPECT_TRUE(first.is_same_file(second));
}

TEST_F(LogTargets, AnotherFileOfTheSameNameIsAnother) {
  LogTarget first(spec());
  ASSERT_TRUE(first.open());
  fs::create_hard_link(path(), path("hard"));
  fs::rename(path(), path("moved"));
  std::ofstream(path()) << "new\n";
  LogTarget second(spec("hard"));
  ASSERT_TRUE(second.open());
  EXPECT_FALSE(first.is_same_file(second)) << "a reopened first one writes elsewhere";
  LogTarget third(spec());
  ASSERT_TRUE(third.open());
  EXPECT_FALSE(third.is_same_file(second));
}

TEST_F(LogTargets, AFullDiskLeavesNoHalfLine) {
  for (rlim_t room = 0; room <= 12; ++room) {
    fs::remove(path());
    LogTarget target(spec());
    ASSERT_TRUE(target.open());
    {
      const FullDisk full(room);
      target.append("abc\ndef\nghi\n", 0);
      target.flush(0);
      EXPECT_EQ(in().size(), room);
      EXPECT_EQ(target.has_pending(), room < 12);
      target.append("jkl\n", 50);
      target.flush(50);
    }
    target.flush(99);
    EXPECT_EQ(in().size(), room) << "it waits before the next attempt";
    target.flush(250);
    EXPECT_EQ(in(), "abc\ndef\nghi\njkl\n");
    EXPECT_EQ(target.stats().bytes, 16U);
    EXPECT_EQ(target.stats().lost, 0U);
    EXPECT_EQ(target.stats().errors, 1U);
  }
}

TEST_F(LogTargets, AHalfLineIsCutOffAtTheEnd) {
  for (rlim_t room = 0; room <= 12; ++room) {
    fs::remove(path());
    LogTarget target(spec());
    ASSERT_TRUE(target.open());
    const FullDisk full(room);
    target.append("abc\ndef\nghi\n", 0);
    target.flush(0);
    target.close(0);
    const std::size_t lines = room / 4;
    EXPECT_EQ(in(), std::string("abc\ndef\nghi\n").substr(0, 4 * lines));
    EXPECT_EQ(target.stats().lost, 3 - lines);
  }
}

TEST_F(LogTargets, KeepsALimitedNumberOfLines) {
  LogTarget target({.path = "/dev/full"});
  ASSERT_TRUE(target.open());
  const std::string line = std::string(1023, 'x') + "\n";
  for (int count = 0; count < 3000; ++count) target.append(line, 0);
  EXPECT_EQ(target.stats().lost, 3000U - 1024U);
  target.append(std::string(3, '\n'), 0);
  EXPECT_EQ(target.stats().lost, 3000U - 1024U + 3);
  target.close(0);
  EXPECT_EQ(target.stats().lost, 3003U);
  EXPECT_EQ(target.stats().bytes, 0U);
}

TEST_F(LogTargets, AFullFifoKeepsLinesForItsReader) {
  const base::Fd reader = fifo();
  LogTarget target(spec());
  ASSERT_TRUE(target.open());
  std::string expected;
  for (int line = 0; line < 20'000; ++line) {
    const std::string text = "line " + std::to_string(line) + "\n";
    expected += text;
    target.append(text, 0);
  }
  target.flush(0);
  EXPECT_TRUE(target.has_pending());
  EXPECT_GE(target.blocked_descriptor(), 0);
  EXPECT_EQ(target.stats().errors, 0U) << "a full pipe is no error";
  std::string got;
  for (int turn = 0; turn < 100 && target.has_pending(); ++turn) {
    got += read_all(reader);
    target.flush(0);
  }
  EXPECT_EQ(target.blocked_descriptor(), -1);
  got += read_all(reader);
  EXPECT_TRUE(got == expected);
  EXPECT_EQ(target.stats().lost, 0U);
}

TEST_F(LogTargets, AFifoGetsReadersOneAfterTheOther) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  LogTarget target(spec());
  ASSERT_TRUE(target.open()) << "without a reader it is opened later";
  target.append("a\n", 0);
  target.flush(0);
  EXPECT_TRUE(target.has_pending());
  base::Fd first = reader();
  target.flush(200);
  EXPECT_EQ(read_all(first), "a\n");
  first.close();
  target.append("b\n", 300);
  target.flush(300);
  EXPECT_TRUE(target.has_pending());
  const base::Fd second = reader();
  target.flush(500);
  EXPECT_EQ(read_all(second), "b\n");
  EXPECT_EQ(target.stats().lost, 0U);
  EXPECT_EQ(target.stats().errors, 2U);
}

TEST_F(LogTargets, RotatesBySize) {
  TargetSpec rotating = spec();
  rotating.rotate_bytes = 10;
  rotating.rotated_files_max = 2;
  LogTarget target(rotating);
  ASSERT_TRUE(target.open());
  target.append("aaa\nbbb\nccc\nddd\n", 0);  // two lines each
  target.flush(0);
  EXPECT_EQ(in(), "ccc\nddd\n");
  EXPECT_EQ(in("log.1"), "aaa\nbbb\n");
  target.append("a line that is longer\nf\n", 0);
  target.flush(0);
  EXPECT_EQ(in(), "f\n");
  EXPECT_EQ(in("log.1"), "a line that is longer\n");
  EXPECT_EQ(in("log.2"), "ccc\nddd\n");
  EXPECT_FALSE(fs::exists(path("log.3")));
  EXPECT_EQ(target.stats().errors, 0U);
}

TEST_F(LogTargets, RotationMayRemoveTheOldFile) {
  TargetSpec rotating = spec();
  rotating.rotate_bytes = 4;
  rotating.rotated_files_max = 0;
  std::ofstream(path()) << "old\n";
  LogTarget target(rotating);
  ASSERT_TRUE(target.open());
  target.append("new\n", 0);
  target.flush(0);
  EXPECT_EQ(in(), "new\n");
  EXPECT_FALSE(fs::exists(path("log.1")));
}

TEST_F(LogTargets, AnotherProcessMayHaveRotatedTheFile) {
  TargetSpec rotating = spec();
  rotating.rotate_bytes = 8;
  LogTarget target(rotating);
  ASSERT_TRUE(target.open());
  target.append("aaa\nbbb\n", 0);
  target.flush(0);
  fs::rename(path(), path("log.1"));
  std::ofstream(path()) << "own\n";
  target.append("ccc\n", 0);
  target.flush(0);
  EXPECT_EQ(in("log.1"), "aaa\nbbb\n");
  EXPECT_EQ(in(), "own\nccc\n");
}

// The folder is gone: there is nowhere to rename to, and the file that is open stays in use.
TEST_F(LogTargets, ARotationThatFailsLosesNothing) {
  fs::create_directory(path("sub"));
  TargetSpec rotating = spec("sub/log");
  rotating.rotate_bytes = 4;
  LogTarget target(rotating);
  ASSERT_TRUE(target.open());
  fs::create_hard_link(path("sub/log"), path());
  fs::remove_all(path("sub"));
  target.append("aaa\nbbb\nccc\n", 0);
  target.flush(0);
  EXPECT_EQ(in(), "aaa\nbbb\nccc\n");
  EXPECT_EQ(target.stats().errors, 1U) << "the next attempt is later";
  EXPECT_EQ(target.stats().lost, 0U);
}

TEST_F(LogTargets, ReopensAfterARename) {
  LogTarget target(spec());
  ASSERT_TRUE(target.open());
  target.append("a\n", 0);
  target.flush(0);
  fs::rename(path(), path("old"));
  target.append("b\n", 0);
  target.reopen(0);
  target.append("c\n", 0);
  target.flush(0);
  EXPECT_EQ(in("old"), "a\nb\n");
  EXPECT_EQ(in(), "c\n");
}

TEST_F(LogTargets, KeepsTheOldFileIfReopeningFails) {
  fs::create_directory(path("sub"));
  LogTarget target(spec("sub/log"));
  ASSERT_TRUE(target.open());
  fs::create_hard_link(path("sub/log"), path());
  fs::remove_all(path("sub"));
  target.reopen(0);
  EXPECT_EQ(target.stats().errors, 1U);
  target.append("a\n", 0);
  target.flush(0);
  EXPECT_EQ(in(), "a\n");
  fs::create_directory(path("sub"));
  target.reopen(0);
  target.append("b\n", 0);
  target.flush(0);
  EXPECT_EQ(in("sub/log"), "b\n");
}

TEST_F(LogTargets, AHalfLineStaysInNeitherFile) {
  LogTarget target(spec());
  ASSERT_TRUE(target.open());
  const FullDisk full(6);
  target.append("abc\ndef\nghi\n", 0);
  target.flush(0);
  fs::rename(path(), path("old"));
  target.reopen(0);
  target.flush(0);
  EXPECT_EQ(in("old"), "abc\n");
  EXPECT_EQ(in(), "ghi\n");
  EXPECT_EQ(target.stats().lost, 1U);
}

class Syslog : public LogTargets {
 protected:
  [[nodiscard]] base::Fd receiver() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path("socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
    base::Fd made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_EQ(::bind(made.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return made;
  }
  static std::string message(const base::Fd& from) {
    std::array<char, 4096> room;
    const ssize_t count = ::recv(from.get(), room.data(), room.size(), 0);
    return count < 0 ? "" : std::string(room.data(), static_cast<std::size_t>(count));
  }
};

TEST_F(Syslog, ADatagramForEachLine) {
  const base::Fd socket = receiver();
  LogTarget target({.path = "syslog", .syslog_path = path("socket").string()});
  ASSERT_TRUE(target.open());
  target.append("a b\nc\n", 0);
  target.flush(0);
  const std::string first = message(socket);
  // "<190>Nov 24 18:22:51 h2server[PID]: a b"
  EXPECT_EQ(first.substr(0, 5), "<190>");
  EXPECT_EQ(first[20], ' ');
  EXPECT_EQ(first.substr(20), " h2server[" + std::to_string(::getpid()) + "]: a b");
  EXPECT_TRUE(message(socket).ends_with("]: c"));
  EXPECT_EQ(message(socket), "");
}

TEST_F(Syslog, AReceiverMayBeRestarted) {
  base::Fd socket = receiver();
  LogTarget target({.path = "syslog", .syslog_path = path("socket").string()});
  ASSERT_TRUE(target.open());
  socket.close();
  fs::remove(path("socket"));
  target.append("a\n", 0);
  target.flush(0);
  target.flush(200);
  EXPECT_TRUE(target.has_pending());
  const base::Fd again = receiver();
  target.flush(400);
  EXPECT_TRUE(message(again).ends_with("]: a"));
  EXPECT_EQ(target.stats().lost, 0U);
}

// Its queue is full: lines wait, as for a pipe.
TEST_F(Syslog, AReceiverMayBeSlow) {
  const base::Fd socket = receiver();
  LogTarget target({.path = "syslog", .syslog_path = path("socket").string()});
  ASSERT_TRUE(target.open());
  constexpr int lines = 2000;
  for (int line = 0; line < lines; ++line) target.append(std::to_string(line) + "\n", 0);
  target.flush(0);
  EXPECT_TRUE(target.has_pending());
  int got = 0;
  for (int turn = 0; turn < lines && got < lines; ++turn) {
    for (std::string text; !(text = message(socket)).empty(); ++got) {
      ASSERT_TRUE(text.ends_with("]: " + std::to_string(got)));
    }
    target.flush(0);
  }
  EXPECT_EQ(got, lines);
}

}  // namespace log_target_test
}  // namespace h2server::observe
