// For engine tests: the available engines, socket pairs, and a fixture.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "h2server/task_group.h"
#include "io/choose.h"

namespace h2server::io {

// Omits io_uring where it is not permitted, as in many containers.
inline std::vector<EngineKind> engines_here() {
  std::vector<EngineKind> kinds{EngineKind::epoll};
  if (choose_engine(IoEngine::io_uring)) kinds.push_back(EngineKind::io_uring);
  return kinds;
}

inline std::string engine_name(const testing::TestParamInfo<EngineKind>& info) {
  return std::string(name_of(info.param));
}

// Opens one of engines_here(). A user may lock 8 MiB in rings, and the kernel takes some time to
// release closed ones (ENOMEM until then).
inline std::unique_ptr<Engine> open_engine_here(EngineKind kind) {
  constexpr int attempts_max = 6000;  // a minute
  for (int attempt = 1;; ++attempt) {
    Result<std::unique_ptr<Engine>> engine = open_engine({kind});
    if (engine || engine.error().code != ENOMEM || attempt == attempts_max)
      return std::move(engine).value();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

struct Pair {
  base::Fd ours;
  base::Fd theirs;
};

inline Pair make_pair_of_sockets() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {base::Fd(ends[0]), base::Fd(ends[1])};
}

inline void put(const base::Fd& end, std::string_view bytes) {
  ASSERT_EQ(::send(end.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

inline std::string text_of(const Result<Lease>& lease) {
  if (!lease) return "error " + std::to_string(lease.error().code);
  return std::string(lease->bytes());
}

// An engine and the tasks that run on it.
class EngineFixture : public testing::Test {
 protected:
  explicit EngineFixture(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  // Runs the engine until all started tasks have ended.
  void run() {
    if (tasks_.running() == 0) return;
    engine_->run();
    EXPECT_EQ(tasks_.running(), 0U);
  }
  void start(Task<void> task) { tasks_.start(stop_after(std::move(task))); }
  void run(Task<void> task) {
    start(std::move(task));
    run();
  }

  std::unique_ptr<Engine> engine_;
  TaskGroup tasks_;

 private:
  Task<void> stop_after(Task<void> task) {
    co_await task;
    if (tasks_.running() == 1) engine_->stop();
  }
};

}  // namespace h2server::io
