#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <thread>

#include "base/fd.h"

namespace h2server::base {
namespace log_test {

// Redirects standard error to a descriptor for its lifetime.
class Redirected {
 public:
  explicit Redirected(int descriptor) : before_(::dup(STDERR_FILENO)) {
    ::dup2(descriptor, STDERR_FILENO);
  }
  ~Redirected() { ::dup2(before_.get(), STDERR_FILENO); }

 private:
  Fd before_;
};

struct Pipe {
  Fd reader;
  Fd writer;

  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reader = Fd(ends[0]);
    writer = Fd(ends[1]);
  }
};

sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

bool pending(int signal) {
  sigset_t set;
  sigemptyset(&set);
  ::sigpending(&set);
  return ::sigismember(&set, signal) == 1;
}

void log_into_a_closed_pipe() {
  Pipe pipe;
  pipe.reader.close();
  const Redirected redirected(pipe.writer.get());
  log_line(Severity::info, "nobody reads this");
}

TEST(Log, ALineIsItsSeverityItsTextAndItsEnd) {
  flush_log();  // of earlier tests
  Pipe pipe;
  {
    const Redirected redirected(pipe.writer.get());
    log_line(Severity::info, "one");
    log_line(Severity::warning, "");
    log_error("{} {}", "three", 3);
    log_error("a name\x1b[2J\nh2server: error: of a \xe2\x80\xae client");
    log_line(Severity::info, "a report\nof two lines");
  }
  std::array<char, 512> room;
  const ssize_t count = ::read(pipe.reader.get(), room.data(), room.size());
  ASSERT_GT(count, 0);
  EXPECT_EQ(std::string_view(room.data(), static_cast<std::size_t>(count)),
            "h2server: one\nh2server: warning: \nh2server: error: three 3\n"
            "h2server: error: a name%1B[2J%0Ah2server: error: of a %E2%80%AE client\n"
            "h2server: a report\nof two lines\n");
}

// SIGPIPE terminates the process by default.
TEST(Log, AClosedPipeRaisesNoSignal) {
  const auto log_by_default = [] {
    ::signal(SIGPIPE, SIG_DFL);
    log_into_a_closed_pipe();
    ::_exit(pending(SIGPIPE) ? 1 : 0);
  };
  EXPECT_EXIT(log_by_default(), testing::ExitedWithCode(0), "");
}

volatile std::sig_atomic_t handled = 0;

TEST(Log, TheProgramsOwnWayWithTheSignalStays) {
  struct sigaction own{};
  struct sigaction before{};
  own.sa_handler = [](int) { handled = handled + 1; };
  ASSERT_EQ(::sigaction(SIGPIPE, &own, &before), 0);
  handled = 0;
  log_into_a_closed_pipe();
  EXPECT_EQ(handled, 0);
  ASSERT_EQ(::raise(SIGPIPE), 0);
  EXPECT_EQ(handled, 1) << "it is not blocked any more, and the handler is there";
  ASSERT_EQ(::sigaction(SIGPIPE, &before, nullptr), 0);
}

// The program has blocked the signal and accepts it later.
TEST(Log, ASignalThatIsPendingStaysPending) {
  const sigset_t pipe = only(SIGPIPE);
  sigset_t before;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &pipe, &before), 0);
  log_into_a_closed_pipe();
  EXPECT_FALSE(pending(SIGPIPE)) << "the log's own";
  struct sigaction own{};  // an ignored signal would not stay pending
  struct sigaction disposition{};
  own.sa_handler = SIG_DFL;
  ASSERT_EQ(::sigaction(SIGPIPE, &own, &disposition), 0);
  ASSERT_EQ(::raise(SIGPIPE), 0);
  log_into_a_closed_pipe();
  EXPECT_TRUE(pending(SIGPIPE));
  constexpr timespec at_once{};
  EXPECT_EQ(::sigtimedwait(&pipe, nullptr, &at_once), SIGPIPE);
  ASSERT_EQ(::sigaction(SIGPIPE, &disposition, nullptr), 0);
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

std::string everything_in(const Fd& reader) {
  std::array<char, 4096> room;
  const ssize_t count = ::read(reader.get(), room.data(), room.size());
  return {room.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

TEST(Log, RepeatedLinesAreCounted) {
  Pipe pipe;
  {
    const Redirected redirected(pipe.writer.get());
    for (int times = 0; times < 3; ++times) log_warning("again");
    log_error("again");
    for (int times = 0; times < 2; ++times) log_error("other");
    flush_log();
    flush_log();
    log_error("other");
  }
  EXPECT_EQ(everything_in(pipe.reader),
            "h2server: warning: again\nh2server: warning: again (repeated 2 times)\n"
            "h2server: error: again\nh2server: error: other\n"
            "h2server: error: other (repeated 1 time)\nh2server: error: other\n");
  flush_log();
}

TEST(Log, WhatIsNotDueStays) {
  Pipe pipe;
  {
    const Redirected redirected(pipe.writer.get());
    for (int times = 0; times < 2; ++times) log_warning("a line of just now");
    flush_due_log();
    log_info("the next");
  }
  EXPECT_EQ(everything_in(pipe.reader),
            "h2server: warning: a line of just now\n"
            "h2server: warning: a line of just now (repeated 1 time)\nh2server: the next\n");
}

// The operator has asked for them.
TEST(Log, CountersAreWrittenEachTime) {
  Pipe pipe;
  {
    const Redirected redirected(pipe.writer.get());
    for (int times = 0; times < 3; ++times) log_info("worker 1: 0 connections");
  }
  const std::string line = "h2server: worker 1: 0 connections\n";
  EXPECT_EQ(everything_in(pipe.reader), line + line + line);
}

// Lines of a child that was forked while another thread wrote one must not wait for that thread.
TEST(Log, ThreadsThatWriteAtOnceLoseNoLine) {
  Pipe pipe;
  {
    const Redirected redirected(pipe.writer.get());
    std::thread other([] {
      for (int line = 0; line < 50; ++line) log_info("b{}", line);
    });
    for (int line = 0; line < 50; ++line) log_info("a{}", line);
    other.join();
  }
  pipe.writer.close();
  const std::string text = everything_in(pipe.reader);
  EXPECT_EQ(std::ranges::count(text, '\n'), 100);
  for (int line = 0; line < 50; ++line) {
    EXPECT_NE(text.find(fmt::format("h2server: a{}\n", line)), text.npos);
    EXPECT_NE(text.find(fmt::format("h2server: b{}\n", line)), text.npos);
  }
}

class LogFile : public testing::Test {
 protected:
  LogFile() {
    std::string name = (std::filesystem::temp_directory_path() / "h2server-log-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~LogFile() override {
    log_to_file("");
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::string path(const char* name = "log") const { return folder_ / name; }
  // Without the times, which are checked.
  [[nodiscard]] std::string text(const char* name = "log") const {
    std::ifstream file(path(name));
    std::string lines;
    for (std::string line; std::getline(file, line);) {
      EXPECT_TRUE(std::regex_search(line, std::regex("^20..-..-..T..:..:..Z h2server: "))) << line;
      lines += line.substr(21) + "\n";
    }
    return lines;
  }

  std::filesystem::path folder_;
};

TEST_F(LogFile, LinesHaveTheirTime) {
  ASSERT_EQ(log_to_file(path()), 0);
  log_info("one");
  for (int times = 0; times < 2; ++times) log_error("two");
  flush_log();
  EXPECT_EQ(text(),
            "h2server: one\nh2server: error: two\nh2server: error: two (repeated 1 time)\n");
}

TEST_F(LogFile, IsOpenedAnew) {
  ASSERT_EQ(log_to_file(path()), 0);
  log_info("one");
  std::filesystem::rename(path(), path("old"));
  log_info("two");
  EXPECT_EQ(reopen_log(), 0);
  log_info("three");
  EXPECT_EQ(text("old"), "h2server: one\nh2server: two\n");
  EXPECT_EQ(text(), "h2server: three\n");
}

TEST_F(LogFile, ThatCannotBeOpenedChangesNothing) {
  ASSERT_EQ(log_to_file(path()), 0);
  EXPECT_EQ(log_to_file(path("none") + "/log"), ENOENT);
  EXPECT_EQ(log_to_file(std::string(10'000, 'x')), ENAMETOOLONG);
  log_info("one");
  std::filesystem::rename(path(), path("old"));
  std::filesystem::create_directory(path());
  EXPECT_EQ(reopen_log(), EISDIR);
  log_info("two");
  EXPECT_EQ(text("old"), "h2server: one\nh2server: two\n");
}

TEST_F(LogFile, StandardErrorComesBack) {
  ASSERT_EQ(log_to_file(path()), 0);
  Pipe pipe;
  {
    const Redirected redirected(pipe.writer.get());
    ASSERT_EQ(log_to_file(""), 0);
    EXPECT_EQ(reopen_log(), 0);
    log_info("back");
    ASSERT_EQ(log_to_file(path()), 0);
    log_info("and forth");
  }
  EXPECT_EQ(everything_in(pipe.reader), "h2server: back\n");
  EXPECT_EQ(text(), "h2server: and forth\n");
}

}  // namespace log_test
}  // namespace h2server::base
