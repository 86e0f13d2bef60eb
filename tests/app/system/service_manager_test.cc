#include "app/system/service_manager.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/clock.h"
#include "base/log.h"

namespace h2server::app {
namespace service_manager_test {

using namespace std::chrono_literals;

constexpr std::array variables = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
                                  "LISTEN_PID",    "LISTEN_FDS",    "LISTEN_FDNAMES"};

// A service manager's socket, in the environment of the test.
class Manager {
 public:
  explicit Manager(bool abstract) {
    const std::string name = "h2server-notify-" + std::to_string(::getpid());
    const std::string path = (std::filesystem::temp_directory_path() / name).string();
    if (!abstract) path_ = path;
    ::unlink(path_.c_str());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string text = abstract ? std::string(1, '\0') + name : path;
    text.copy(static_cast<char*>(address.sun_path), text.size());
    const std::size_t bytes = offsetof(sockaddr_un, sun_path) + text.size() + (abstract ? 0 : 1);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                     static_cast<socklen_t>(bytes)),
              0);
    ::setenv("NOTIFY_SOCKET", abstract ? ("@" + name).c_str() : path.c_str(), 1);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  ~Manager() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  // Returns the next message, or an empty text if there is none.
  std::string next() const {
    std::array<char, 4096> room{};
    const ssize_t got = ::recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
    return got > 0 ? std::string(room.data(), static_cast<std::size_t>(got)) : std::string();
  }

 private:
  base::Fd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  std::string path_;
};

class ServiceManagerTest : public testing::Test {
 protected:
  ServiceManagerTest() { clear(); }
  ~ServiceManagerTest() override { clear(); }

 private:
  static void clear() {
    for (const char* const name : variables) ::unsetenv(name);
  }
};

TEST_F(ServiceManagerTest, NothingHappensWithoutOne) {
  ::setenv("WATCHDOG_USEC", "1000000", 1);
  ServiceManager manager;
  manager.ready("serves");
  manager.reloading();
  manager.stopping("ends", 1s);
  manager.alive();
  EXPECT_EQ(manager.watchdog_ms(), 0);
  EXPECT_TRUE(passed_sockets()->empty());
}

TEST_F(ServiceManagerTest, MessagesGoToAPathAndToAnAbstractName) {
  for (const bool abstract : {false, true}) {
    const Manager systemd(abstract);
    ServiceManager manager;
    manager.ready("serves 2 sites");
    EXPECT_EQ(systemd.next(), "READY=1\nSTATUS=serves 2 sites\n");
    manager.stopping("waits for 3 requests", 10s);
    EXPECT_EQ(systemd.next(),
              "STOPPING=1\nEXTEND_TIMEOUT_USEC=10000000\nSTATUS=waits for 3 requests\n");
    manager.hand_over(4711);
    EXPECT_EQ(systemd.next(), "MAINPID=4711\nREADY=1\nSTATUS=serves as process 4711\n");
    EXPECT_EQ(systemd.next(), "");
  }
}

TEST_F(ServiceManagerTest, AReloadHasItsTime) {
  const Manager systemd(true);
  ServiceManager manager;
  const std::int64_t before_us = base::monotonic_us();
  manager.reloading();
  const std::string message = systemd.next();
  const std::string begin = "RELOADING=1\nMONOTONIC_USEC=";
  ASSERT_TRUE(message.starts_with(begin)) << message;
  const std::int64_t at_us = std::stoll(message.substr(begin.size()));
  EXPECT_GE(at_us, before_us);
  EXPECT_LE(at_us, base::monotonic_us());
}

TEST_F(ServiceManagerTest, AStatusIsOneLine) {
  const Manager systemd(true);
  ServiceManager().ready("one\nREADY=0\n");
  EXPECT_EQ(systemd.next(), "READY=1\nSTATUS=one READY=0 \n");
}

TEST_F(ServiceManagerTest, TheWatchdogIsOfThisProcess) {
  const Manager systemd(true);
  const std::string self = std::to_string(::getpid());
  struct Row {
    const char* limit_us;
    const char* process;
    std::int64_t ms;
  };
  for (const Row& row :
       {Row{"3000000", self.c_str(), 1500}, Row{"3000000", "", 1500}, Row{"3000000", "1", 0},
        Row{"3000000", "x", 0}, Row{"0", "", 0}, Row{"", "", 0}, Row{"-1", "", 0}, Row{"3s", "", 0},
        Row{"1", "", 1}, Row{"18446744073709551615", "", 86'400'000}}) {
    ::setenv("WATCHDOG_USEC", row.limit_us, 1);
    ::setenv("WATCHDOG_PID", row.process, 1);
    ServiceManager manager;
    EXPECT_EQ(manager.watchdog_ms(), row.ms) << row.limit_us << " of " << row.process;
    manager.alive();
    EXPECT_EQ(systemd.next(), row.ms > 0 ? "WATCHDOG=1\n" : "");
  }
}

TEST_F(ServiceManagerTest, WhatIsNoAddressIsNoManager) {
  for (const std::string& text : {std::string("notify"), std::string("/"), std::string("@"),
                                  std::string("vsock:2:1234"), "/" + std::string(200, 'a')}) {
    ::setenv("NOTIFY_SOCKET", text.c_str(), 1);
    ::setenv("WATCHDOG_USEC", "1000000", 1);
    ServiceManager manager;
    manager.ready("serves");
    EXPECT_EQ(manager.watchdog_ms(), 0) << text;
  }
}

TEST_F(ServiceManagerTest, OneThatIsGoneIsReportedOnce) {
  {
    const Manager systemd(false);
  }
  ServiceManager manager;
  base::flush_log();  // what tests before this one left to be said
  testing::internal::CaptureStderr();
  manager.ready("one");
  manager.ready("two");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("service manager"), std::string::npos) << said;
  EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
}

// Runs in a process of its own, whose descriptors from 3 on are what a service manager passes.
// Returns what that prints.
std::string in_child(const char* count, const char* names, const char* process) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr int out = 100;
    ::dup2(ends[1], out);
    ::close_range(3, out - 1, 0);
    for (int descriptor = 3; descriptor < 5; ++descriptor) ::socket(AF_UNIX, SOCK_STREAM, 0);
    ::setenv("LISTEN_PID", *process != 0 ? process : std::to_string(::getpid()).c_str(), 1);
    if (count != nullptr) ::setenv("LISTEN_FDS", count, 1);
    if (names != nullptr) ::setenv("LISTEN_FDNAMES", names, 1);
    const auto sockets = passed_sockets();
    std::string text = sockets ? "" : sockets.error();
    if (sockets) {
      for (const PassedSocket& one : *sockets) {
        const bool closed_on_exec = ::fcntl(one.descriptor, F_GETFD) == FD_CLOEXEC;
        text += std::to_string(one.descriptor) + (closed_on_exec ? "" : "?") + one.name + ";";
      }
    }
    const bool written = ::write(out, text.data(), text.size()) == ssize_t(text.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string all;
  std::array<char, 512> room{};
  for (ssize_t got; (got = ::read(ends[0], room.data(), room.size())) > 0;) {
    all.append(room.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return all;
}

TEST_F(ServiceManagerTest, SocketsHaveNames) {
  EXPECT_EQ(in_child("2", "https:http", ""), "3https;4http;");
  EXPECT_EQ(in_child("2", "https", ""), "3https;4;");
  EXPECT_EQ(in_child("2", ":unknown", ""), "3;4;");
  EXPECT_EQ(in_child("1", nullptr, ""), "3;");
  EXPECT_EQ(in_child("0", "", ""), "");
}

TEST_F(ServiceManagerTest, SocketsOfAnotherProcessAreNotTaken) {
  EXPECT_EQ(in_child("2", "https:http", "1"), "");
  EXPECT_EQ(in_child("many", "", "1"), "");
}

TEST_F(ServiceManagerTest, WrongSocketsAreErrors) {
  for (const char* const count : {"-1", "many", "2x", "", "99999999999"}) {
    EXPECT_NE(in_child(count, "", "").find("LISTEN_FDS"), std::string::npos) << count;
  }
  EXPECT_NE(in_child(nullptr, "", "").find("LISTEN_FDS"), std::string::npos);
  EXPECT_NE(in_child("3", "", "").find("descriptor 5"), std::string::npos);
}

}  // namespace service_manager_test
}  // namespace h2server::app
