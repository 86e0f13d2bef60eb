#include "observe/log_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace h2server::observe {
namespace log_writer_test {

namespace fs = std::filesystem;
using Sharing = LogRing::Sharing;

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The tests' own limit ends what never becomes true.
void wait_until(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::yield();
}

class LogWriters : public testing::Test {
 protected:
  LogWriters() {
    std::string name = (fs::temp_directory_path() / "h2server-log-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~LogWriters() override { fs::remove_all(folder_); }

  [[nodiscard]] fs::path path(const std::string& name) const { return folder_ / name; }

  std::uint32_t target(const fs::path& at) {
    const Result<std::uint32_t> made = writer_.add_target({.path = at.string()});
    EXPECT_TRUE(made) << at;
    return made.value_or(0);
  }
  LogRing& ring(Sharing sharing = Sharing::one_thread) {
    const Result<LogRing*> made = writer_.make_ring(sharing);
    EXPECT_TRUE(made);
    return **made;
  }
  static bool append(LogRing& ring, std::uint32_t target, std::string_view line) {
    return ring.append(line.size(), target,
                       [line](char* to) { return line.copy(to, line.size()); });
  }

  fs::path folder_;
  LogWriter writer_;
};

TEST_F(LogWriters, NamesOfOneFileAreOneTarget) {
  const std::uint32_t log = target(path("log"));
  const std::uint32_t other = target(path("other"));
  EXPECT_NE(log, other);
  fs::create_hard_link(path("log"), path("hard"));
  fs::create_symlink(path("log"), path("soft"));
  for (const char* const name : {"log", "hard", "soft", "./log"}) {
    EXPECT_EQ(target(path(name)), log) << name;
  }
  EXPECT_EQ(target(path("other")), other);
}

TEST_F(LogWriters, ALineIsThereSoon) {
  const std::uint32_t log = target(path("log"));
  LogRing& own = ring();
  append(own, log, "before the start\n");
  ASSERT_TRUE(writer_.start());
  wait_until([&] { return content_of(path("log")) == "before the start\n"; });
  append(own, log, "after it\n");
  wait_until([&] { return content_of(path("log")) == "before the start\nafter it\n"; });
  EXPECT_EQ(writer_.stats().accepted, 2U);
  EXPECT_EQ(writer_.stats().bytes, 26U);
}

TEST_F(LogWriters, StopWritesWhatThereIs) {
  const std::uint32_t first = target(path("first"));
  const std::uint32_t second = target(path("second"));
  EXPECT_NE(first, second);
  EXPECT_EQ(target(path("first")), first) << "a path is one target";
  LogRing& one = ring();
  LogRing& other = ring(Sharing::many_threads);
  ASSERT_TRUE(writer_.start());
  std::string expected[2];
  for (int line = 0; line < 5000; ++line) {
    const std::string text = std::to_string(line) + "\n";
    wait_until([&] { return append(one, line % 2 == 0 ? first : second, text); });
    expected[line % 2] += text;
  }
  ASSERT_TRUE(append(other, second, "other\n"));
  writer_.stop();
  EXPECT_TRUE(content_of(path("first")) == expected[0]);
  EXPECT_EQ(content_of(path("second")).size(), expected[1].size() + 6);
  EXPECT_EQ(writer_.stats().lost, 0U);
  EXPECT_TRUE(append(one, first, "too late\n")) << "harmless";
  writer_.stop();
}

TEST_F(LogWriters, NeedsNoStart) {
  LogRing& own = ring();
  append(own, target(path("log")), "never written\n");
  writer_.reopen();
  writer_.stop();
  EXPECT_EQ(content_of(path("log")), "");
}

TEST_F(LogWriters, TakesTargetsAndRingsWhileItRuns) {
  ASSERT_TRUE(writer_.start());
  for (int number = 0; number < 20; ++number) {
    const std::string name = "log" + std::to_string(number);
    LogRing& own = ring();
    append(own, target(path(name)), name);
    wait_until([&] { return content_of(path(name)) == name; });
  }
}

TEST_F(LogWriters, ReopensAfterARename) {
  const std::uint32_t log = target(path("log"));
  LogRing& own = ring();
  ASSERT_TRUE(writer_.start());
  append(own, log, "a\n");
  wait_until([&] { return content_of(path("log")) == "a\n"; });
  fs::rename(path("log"), path("old"));
  writer_.reopen();
  wait_until([&] { return fs::exists(path("log")); });
  append(own, log, "b\n");
  writer_.stop();
  EXPECT_EQ(content_of(path("old")), "a\n");
  EXPECT_EQ(content_of(path("log")), "b\n");
}

TEST_F(LogWriters, ATargetThatIsStuckHoldsUpNobody) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  const base::Fd reader(::open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const std::uint32_t stuck = target(path("fifo"));
  const std::uint32_t full = target("/dev/full");
  const std::uint32_t fine = target(path("log"));
  LogRing& own = ring();
  ASSERT_TRUE(writer_.start());
  const std::string line = std::string(999, 'x') + "\n";
  std::string expected;
  for (int count = 0; count < 4000; ++count) {
    // A worker would drop the line. Here each is to arrive.
    for (const std::uint32_t number : {stuck, full, fine}) {
      wait_until([&] { return append(own, number, line); });
    }
    expected += line;
  }
  wait_until([&] { return content_of(path("log")).size() == expected.size(); });
  writer_.stop();  // with a pipe that stays full
  EXPECT_TRUE(content_of(path("log")) == expected);
  const LogWriter::Stats stats = writer_.stats();
  EXPECT_GT(stats.errors, 0U);
  EXPECT_GE(stats.lost, 4000U + 3000U);
  EXPECT_LT(stats.lost, 8000U);
  EXPECT_EQ(stats.bytes / line.size() + stats.lost, 12'000U) << "or there are halves of lines";
}

// Lines are dropped at once when nobody takes them.
TEST_F(LogWriters, AWorkerNeverWaits) {
  const std::uint32_t log = target("/dev/full");
  LogRing& own = ring();
  const std::string line(1000, 'x');
  int accepted = 0;
  for (int count = 0; count < 5000; ++count) accepted += append(own, log, line);
  EXPECT_EQ(accepted, (4 << 20) / 1000);
  EXPECT_EQ(writer_.stats().dropped, 5000U - static_cast<unsigned>(accepted));
}

TEST_F(LogWriters, SignalsOfTheProgramGoElsewhere) {
  ASSERT_TRUE(writer_.start());
  sigset_t blocked;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
  EXPECT_EQ(::sigismember(&blocked, SIGTERM), 0) << "the caller's are as before";
  // The pipe's signal would end this process.
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  base::Fd reader(::open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const std::uint32_t log = target(path("fifo"));
  reader.close();
  append(ring(), log, "nobody reads this\n");
  wait_until([&] { return writer_.stats().errors > 0; });
  writer_.stop();
  EXPECT_EQ(writer_.stats().lost, 1U);
}

// Redirects standard output for its lifetime.
class Output {
 public:
  explicit Output(int descriptor) : before_(::dup(STDOUT_FILENO)) {
    ::fflush(stdout);
    ::dup2(descriptor, STDOUT_FILENO);
  }
  ~Output() { ::dup2(before_.get(), STDOUT_FILENO); }

 private:
  base::Fd before_;
};

TEST_F(LogWriters, StandardOutputAsAPipeStaysBlocking) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const base::Fd reader(ends[0]);
  const base::Fd end(ends[1]);
  {
    const Output output(end.get());
    append(ring(), target("-"), "a line\n");
  }
  ASSERT_TRUE(writer_.start());
  std::array<char, 64> room;
  EXPECT_EQ(::read(reader.get(), room.data(), room.size()), 7);
  writer_.stop();
  EXPECT_EQ(::fcntl(end.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(LogWriters, StandardOutputAsAFileGoesByOneOffset) {
  const base::Fd file(::open(path("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(file.get(), "1\n", 2), 2);
  {
    const Output output(file.get());
    append(ring(), target("-"), "2\n");
  }
  ASSERT_TRUE(writer_.start());
  writer_.stop();
  ASSERT_EQ(::write(file.get(), "3\n", 2), 2);
  EXPECT_EQ(content_of(path("log")), "1\n2\n3\n");
}

}  // namespace log_writer_test
}  // namespace h2server::observe
