// File operations: they complete at once if the page cache holds the data, and otherwise without
// blocking the loop.
#include "file/calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "io/file_threads.h"
#include "io/support.h"

namespace h2server::io {
namespace file_op_test {

constexpr std::size_t large = 8 * 1024 * 1024;

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

class FileOpTest : public EngineFixture, public testing::WithParamInterface<EngineKind> {
 protected:
  FileOpTest() : EngineFixture(open_engine_here(GetParam())) {
    std::string name = "/var/tmp/h2server-file-op-XXXXXX";  // not /tmp, which may be a tmpfs
    folder_ = ::mkdtemp(name.data());
    directory_ = base::Fd(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~FileOpTest() override { std::filesystem::remove_all(folder_); }

  base::Fd make(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return base::Fd(::open((folder_ / name).c_str(), O_RDWR | O_CLOEXEC));
  }
  // Drops the file from the page cache, if the file system supports it.
  static void make_cold(const base::Fd& file) {
    ASSERT_EQ(::fsync(file.get()), 0);
    ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }

  std::filesystem::path folder_;
  base::Fd directory_;
};

TEST_P(FileOpTest, OpensWhatIsThere) {
  make("a", "hello");
  const auto body = [&]() -> Task<void> {
    const open_how how{.flags = O_RDONLY | O_CLOEXEC, .mode = 0, .resolve = RESOLVE_BENEATH};
    FileOp open(*engine_, FileCall::open(directory_.get(), "a", how));
    const int file = co_await open;
    EXPECT_GE(file, 0);
    const base::Fd owned(file);
    std::array<char, 8> room;
    EXPECT_EQ(::read(file, room.data(), room.size()), 5);
  };
  run(body());
}

TEST_P(FileOpTest, SaysWhyItCanNotOpen) {
  const auto body = [&]() -> Task<void> {
    const open_how how{.flags = O_RDONLY | O_CLOEXEC, .mode = 0, .resolve = RESOLVE_BENEATH};
    FileOp missing(*engine_, FileCall::open(directory_.get(), "none", how));
    const int none = co_await missing;
    EXPECT_EQ(none, -ENOENT);
    FileOp outside(*engine_, FileCall::open(directory_.get(), "../etc", how));
    const int escaped = co_await outside;
    EXPECT_EQ(escaped, -EXDEV);
  };
  run(body());
}

TEST_P(FileOpTest, ReadsWarmAndCold) {
  const std::string bytes = pattern(100'000);
  const base::Fd file = make("a", bytes);
  const auto body = [&]() -> Task<void> {
    for (const bool cold : {false, true}) {
      if (cold) make_cold(file);
      std::string got;
      while (got.size() < bytes.size()) {
        std::array<char, 30'000> room;
        FileOp read(*engine_, FileCall::read(file.get(), room, got.size()));
        const int count = co_await read;
        EXPECT_GT(count, 0);
        if (count <= 0) co_return;
        got.append(room.data(), static_cast<std::size_t>(count));
      }
      EXPECT_TRUE(got == bytes);
    }
    std::array<char, 8> room;
    FileOp beyond(*engine_, FileCall::read(file.get(), room, bytes.size()));
    const int end = co_await beyond;
    EXPECT_EQ(end, 0);
  };
  run(body());
}

// A task that waits for the disk must not block the others. Even a non-blocking read starts
// read-ahead and can find the page if the thread is descheduled in between. So the test reads each
// cold file once, and expects at least one of them to wait.
TEST_P(FileOpTest, AColdReadDoesNotCompleteAtOnce) {
  std::array<char, 4096> room;
  const base::Fd probed = make("probed", pattern(large));
  make_cold(probed);
  const FileOp probe(*engine_, FileCall::read(probed.get(), room, large / 2));
  if (probe.call.make(false) != -EAGAIN)
    GTEST_SKIP() << "this file system keeps what it is told to drop";
  bool waited = false;
  for (const char* const name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    const base::Fd file = make(name, pattern(large));
    make_cold(file);
    bool done = false;
    const auto body = [&]() -> Task<void> {
      FileOp read(*engine_, FileCall::read(file.get(), room, large / 2));
      const int count = co_await read;
      EXPECT_EQ(count, static_cast<int>(room.size()));
      done = true;
    };
    start(body());
    waited = !done;
    run();
    EXPECT_TRUE(done);
    if (waited) break;
  }
  EXPECT_TRUE(waited);
}

#ifndef SYS_cachestat
#define SYS_cachestat 451  // headers before Linux 6.5 lack it
#endif

// tmpfs knows no read that would not wait.
TEST(FileCallTest, AReadOfWhatMemoryHoldsCompletesAtOnce) {
  const base::Fd file(::memfd_create("file_call_test", MFD_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), "hello", 5, 0), 5);
  std::array<std::uint64_t, 2> range{0, 5};
  std::array<std::uint64_t, 5> state{};
  if (::syscall(SYS_cachestat, file.get(), range.data(), state.data(), 0) != 0) {
    GTEST_SKIP() << "no cachestat() in this kernel";
  }
  std::array<char, 8> room{};
  EXPECT_EQ(FileCall::read(file.get(), std::span(room).first(5), 0).make(false), 5);
  EXPECT_STREQ(room.data(), "hello");
}

TEST_P(FileOpTest, PopulatesAMapping) {
  const base::Fd file = make("a", pattern(large));
  void* const memory = ::mmap(nullptr, large, PROT_READ, MAP_SHARED, file.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  const char* const mapping = static_cast<const char*>(memory);
  make_cold(file);
  const auto body = [&]() -> Task<void> {
    FileOp part(*engine_, FileCall::populate(file.get(), mapping, 5000, large / 2));
    const int there = co_await part;
    EXPECT_EQ(there, 0);
    const FileOp again(*engine_, FileCall::populate(file.get(), mapping, 5000, large / 2));
    EXPECT_EQ(again.call.make(false), 0);
    EXPECT_EQ(::ftruncate(file.get(), 4096), 0);
    FileOp gone(*engine_, FileCall::populate(file.get(), mapping, large / 2, 4096));
    const int still = co_await gone;
    EXPECT_EQ(still, -EFAULT);
  };
  run(body());
  ::munmap(memory, large);
}

TEST_P(FileOpTest, ManyAtOnce) {
  const std::string bytes = pattern(large);
  const base::Fd file = make("a", bytes);
  make_cold(file);
  const auto body = [&](std::size_t offset) -> Task<void> {
    std::array<char, 4096> room;
    FileOp read(*engine_, FileCall::read(file.get(), room, offset));
    const int count = co_await read;
    EXPECT_EQ(count, static_cast<int>(room.size()));
    EXPECT_EQ(std::string_view(room.data(), room.size()),
              std::string_view(bytes).substr(offset, room.size()));
  };
  for (std::size_t i = 0; i < 64; ++i) start(body(i * (large / 64)));
  run();
}

// --- functions that may wait ------------------------------------------------------------------

// Simulates a stuck disk: pass() blocks until open() is called.
class Gate {
 public:
  Gate() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    out_ = base::Fd(ends[0]);
    in_ = base::Fd(ends[1]);
  }
  void open() { in_.close(); }
  [[nodiscard]] bool entered() const noexcept { return entered_.load(); }
  int pass() {
    entered_.store(true);
    char byte;
    return static_cast<int>(::read(out_.get(), &byte, 1));
  }

 private:
  std::atomic<bool> entered_{false};
  base::Fd out_;
  base::Fd in_;
};

TEST_P(FileOpTest, WorkIsCountedForItsTask) {
  coro::StopState client;
  const auto body = [&]() -> Task<void> {
    co_await file::run_waiting(engine_.get(), [] { return 1; });
    EXPECT_EQ(client.work(), 1U);
    const file::WaitingOptions slow{.takes_long = true};
    co_await file::run_waiting(engine_.get(), [] { return 1; }, slow);
    EXPECT_EQ(client.work(), 11U);
  };
  Task<void> task = body();
  task.inherit_stop(&client);
  run(std::move(task));
  client.clear();
  EXPECT_EQ(client.work(), 0U);
}

TEST_P(FileOpTest, WhatWorkThrowsIsThrownHere) {
  const auto body = [&]() -> Task<void> {
    bool thrown = false;
    try {
      co_await file::run_waiting(engine_.get(), []() -> int { throw std::runtime_error("no"); });
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    EXPECT_TRUE(thrown);
  };
  run(body());
}

class StuckWork : public FileOpTest {
 protected:
  // Starts more stuck functions than there are threads for them, of `client`, and then `other`.
  // Nothing that `other` does may wait for them.
  void run_beside_stuck_work(Task<void> other, coro::StopState* client,
                             file::WaitingOptions options = {}) {
    for (unsigned i = 0; i < FileThreadsLimits::threads_max + 1; ++i) {
      Task<void> task = stuck(options);
      task.inherit_stop(client);
      start(std::move(task));
    }
    start(then_release(std::move(other)));
    run();
    EXPECT_EQ(passed_, FileThreadsLimits::threads_max + 1);
  }
  Task<void> call_short_functions() {
    for (int i = 0; i < 10; ++i) {
      const std::optional<int> done = co_await file::run_waiting(engine_.get(), [] { return 7; });
      EXPECT_EQ(done, 7);
    }
  }

 private:
  Task<void> stuck(file::WaitingOptions options) {
    const std::optional<int> result =
        co_await file::run_waiting(engine_.get(), [this] { return gate_.pass(); }, options);
    EXPECT_EQ(result, 0);
    ++passed_;
  }
  Task<void> then_release(Task<void> other) {
    co_await other;
    EXPECT_EQ(passed_, 0U);
    gate_.open();
  }

  Gate gate_;
  unsigned passed_ = 0;
};

TEST_P(StuckWork, HoldsUpNeitherTheLoopNorReads) {
  const base::Fd file = make("a", pattern(large));
  make_cold(file);
  const auto other = [&]() -> Task<void> {
    SleepOp sleep(*engine_, 1);
    co_await sleep;
    std::array<char, 4096> room;
    FileOp read(*engine_, FileCall::read(file.get(), room, large / 2));
    const int count = co_await read;
    EXPECT_EQ(count, static_cast<int>(room.size()));
  };
  run_beside_stuck_work(other(), nullptr);
}

TEST_P(StuckWork, HoldsUpNoOtherClient) {
  std::array<coro::StopState, 2> clients;
  clients[0].work_for(1);
  clients[1].work_for(2);
  Task<void> other = call_short_functions();
  other.stop_by(clients[1]);
  run_beside_stuck_work(std::move(other), &clients[0]);
}

TEST_P(StuckWork, HoldsUpNothingShortIfItTakesLong) {
  run_beside_stuck_work(call_short_functions(), nullptr, {.takes_long = true});
}

TEST_P(StuckWork, HoldsUpNothingElseIfItsFileSystemIsSlow) {
  run_beside_stuck_work(call_short_functions(), nullptr, {.slow_file_system = true});
}

// Work that waits for a thread is withdrawn with its task, if nobody else wants it.
TEST_P(FileOpTest, WorkEndsWithItsTask) {
  Gate gate;
  coro::StopState client;
  client.work_for(1);
  std::atomic<unsigned> begun{0};
  std::vector<std::optional<int>> results;
  bool stored = false;
  const auto stuck = [&]() -> Task<void> {
    const auto work = [&] {
      ++begun;
      return gate.pass();
    };
    const std::optional<int> result =
        co_await file::run_waiting(engine_.get(), work, file::unless_stopped);
    results.push_back(result);
  };
  const auto store = [&]() -> Task<void> {
    co_await file::run_waiting(engine_.get(), [&stored] { return stored = true; });
  };
  const auto stopper = [&]() -> Task<void> {
    while (begun < FileThreadsLimits::threads_per_client_max) {
      SleepOp sleep(*engine_, 1);
      co_await sleep;
    }
    client.stop(StopReason::client_left);
    while (results.empty()) {
      SleepOp sleep(*engine_, 1);
      co_await sleep;
    }
    EXPECT_EQ(results, (std::vector<std::optional<int>>{std::nullopt}));
    gate.open();
  };
  const auto begin = [&](Task<void> task) {
    task.stop_by(client);
    start(std::move(task));
  };
  for (unsigned i = 0; i < FileThreadsLimits::threads_per_client_max + 1; ++i) begin(stuck());
  begin(store());
  start(stopper());
  run();
  EXPECT_EQ(results.size(), FileThreadsLimits::threads_per_client_max + 1);
  EXPECT_TRUE(stored);
}

// Work in progress runs to its end. Work that has not begun never starts.
TEST_P(FileOpTest, CancellingAll) {
  Gate gate;
  std::optional<int> begun;
  std::optional<int> later = 1;
  const auto body = [&]() -> Task<void> {
    begun = co_await file::run_waiting(engine_.get(), [&gate] { return gate.pass(); });
    later = co_await file::run_waiting(engine_.get(), [] { return 0; });
  };
  const auto canceller = [&]() -> Task<void> {
    while (!gate.entered()) {
      SleepOp sleep(*engine_, 1);
      co_await sleep;
    }
    engine_->cancel_all();
    gate.open();
  };
  start(body());
  start(canceller());
  run();
  EXPECT_EQ(begun, 0);
  EXPECT_EQ(later, std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Engines, StuckWork, testing::ValuesIn(engines_here()), engine_name);
INSTANTIATE_TEST_SUITE_P(Engines, FileOpTest, testing::ValuesIn(engines_here()), engine_name);

}  // namespace file_op_test
}  // namespace h2server::io
