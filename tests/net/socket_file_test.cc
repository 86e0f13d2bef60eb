// Unix listeners and the files of their sockets, and inherited listeners.
#include "net/socket_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "content/support.h"
#include "net/certs/folder_lock.h"
#include "net/listener.h"

namespace h2server::net {
namespace socket_file_test {

// Returns 0 if a client can connect to the path, or an errno value.
int connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const base::Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* const plain = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(client.get(), plain, sizeof address) == 0 ? 0 : errno;
}

std::string error_of(const Result<Listener, std::string>& listener) {
  return listener ? "none" : listener.error();
}

class SocketFileTest : public testing::Test {
 protected:
  bool exists() const {
    struct stat found{};
    return ::lstat(path_.c_str(), &found) == 0;
  }

  tests::TemporaryDirectory directory_;
  std::string path_ = directory_.path_of("socket");
};

TEST_F(SocketFileTest, IsRemovedWithItsListener) {
  {
    const auto listener = open_unix_listener(path_);
    ASSERT_TRUE(listener) << listener.error();
    EXPECT_EQ(listener->address, Address{.path = path_});
    EXPECT_TRUE(::fcntl(listener->socket.get(), F_GETFL) & O_NONBLOCK);
    EXPECT_TRUE(::fcntl(listener->socket.get(), F_GETFD) & FD_CLOEXEC);
    EXPECT_EQ(connect_to(path_), 0);
  }
  EXPECT_FALSE(exists());
}

TEST_F(SocketFileTest, HasTheModeThatIsAskedFor) {
  const mode_t before = ::umask(022);
  for (const auto& [asked, expected] : {std::pair(0U, 0755U), {0600U, 0600U}, {0666U, 0666U}}) {
    const auto listener = open_unix_listener(path_, asked);
    ASSERT_TRUE(listener) << listener.error();
    struct stat found{};
    EXPECT_EQ(::lstat(path_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, expected);
  }
  ::umask(before);
}

TEST_F(SocketFileTest, ReplacesOneThatNobodyListensOn) {
  auto killed = open_unix_listener(path_);
  ASSERT_TRUE(killed);
  killed->socket.close();
  ASSERT_EQ(connect_to(path_), ECONNREFUSED);
  {
    const auto listener = open_unix_listener(path_);
    ASSERT_TRUE(listener) << listener.error();
    EXPECT_EQ(connect_to(path_), 0);
    // The end of the earlier server leaves the new file alone.
    {
      const Listener ends = *std::move(killed);
    }
    EXPECT_EQ(connect_to(path_), 0);
  }
  EXPECT_FALSE(exists());
}

TEST_F(SocketFileTest, OthersAreErrorsAndStay) {
  const base::Fd datagrams(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string other = directory_.path_of("datagrams");
  std::memcpy(address.sun_path, other.data(), other.size());
  ASSERT_EQ(::bind(datagrams.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  directory_.write("file", "text");
  std::filesystem::create_directory(directory_.path_of("folder"));
  std::filesystem::create_symlink("gone", directory_.path_of("link"));
  const auto live = open_unix_listener(directory_.path_of("live"));
  ASSERT_TRUE(live);
  struct Row {
    std::string name;
    std::string error;
  };
  const std::vector<Row> rows = {{"file", "is no socket"},
                                 {"folder", "is no socket"},
                                 {"link", "is no socket"},
                                 {"live", "is in use"},
                                 {"datagrams", "is in use"},
                                 {"gone/socket", "No such file"},
                                 {std::string(108, 'x'), "at most 107 bytes"}};
  for (const Row& row : rows) {
    const std::string path = directory_.path_of(row.name);
    struct stat before{};
    struct stat after{};
    const int found = ::lstat(path.c_str(), &before);
    const std::string error = error_of(open_unix_listener(path));
    EXPECT_NE(error.find(row.error), std::string::npos) << error;
    EXPECT_NE(error.find(path), std::string::npos) << error;
    EXPECT_EQ(::lstat(path.c_str(), &after), found) << row.name;
    EXPECT_EQ(before.st_ino, after.st_ino) << row.name;
  }
  EXPECT_EQ(connect_to(directory_.path_of("live")), 0);
}

// Returns true if a thread of this process waits for a lock of a file.
bool waits_for_a_lock() {
  const std::string own = " " + std::to_string(::getpid()) + " ";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("-> FLOCK") != std::string::npos && line.find(own) != std::string::npos)
      return true;
  }
  return false;
}

// Until it listens, a new socket looks like one of a killed server, and another server would
// replace it.
TEST_F(SocketFileTest, ServersThatStartTogetherWaitForEachOther) {
  auto killed = open_unix_listener(path_);
  ASSERT_TRUE(killed) << killed.error();
  killed->socket.close();
  base::Fd other_server = lock_folder_of(path_);
  std::atomic<bool> done{false};
  std::optional<Result<Listener, std::string>> listener;
  std::jthread starting([&] {
    listener.emplace(open_unix_listener(path_));
    done.store(true);
  });
  while (!done.load() && !waits_for_a_lock()) std::this_thread::yield();
  EXPECT_FALSE(done.load());
  EXPECT_EQ(connect_to(path_), ECONNREFUSED);
  other_server.close();
  starting.join();
  ASSERT_TRUE(*listener) << listener->error();
  EXPECT_EQ(connect_to(path_), 0);
}

TEST(AdoptedListener, IsACopyOfTheDescriptor) {
  const tests::TemporaryDirectory directory;
  const auto tcp = open_listeners({.host = "127.0.0.1"});
  const auto path = open_unix_listener(directory.path_of("socket"));
  ASSERT_TRUE(tcp && path);
  for (const Listener* const original : {&tcp->front(), &*path}) {
    const int descriptor = original->socket.get();
    ASSERT_EQ(::fcntl(descriptor, F_SETFL, 0), 0);
    {
      const auto adopted = adopt_listener(descriptor);
      ASSERT_TRUE(adopted) << adopted.error();
      EXPECT_EQ(adopted->address, original->address);
      EXPECT_NE(adopted->socket.get(), descriptor);
      EXPECT_TRUE(::fcntl(adopted->socket.get(), F_GETFD) & FD_CLOEXEC);
    }
    EXPECT_TRUE(adopt_listener(descriptor)) << "the original is still open";
  }
  EXPECT_EQ(connect_to(directory.path_of("socket")), 0) << "the file has stayed";
}

TEST(AdoptedListener, OtherDescriptorsAreErrors) {
  const tests::TemporaryDirectory directory;
  const base::Fd datagrams(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const base::Fd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const base::Fd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
  struct Row {
    int descriptor;
    std::string error;
  };
  const std::vector<Row> rows = {
      {-2, "Bad file descriptor"},       {1'000'000, "Bad file descriptor"},
      {directory.fd(), "non-socket"},    {datagrams.get(), "no stream socket"},
      {silent.get(), "does not listen"}, {netlink.get(), "no TCP or Unix socket"}};
  for (const Row& row : rows) {
    const std::string error = error_of(adopt_listener(row.descriptor));
    EXPECT_NE(error.find(row.error), std::string::npos) << error;
    EXPECT_NE(error.find(std::to_string(row.descriptor)), std::string::npos) << error;
  }
}

}  // namespace socket_file_test
}  // namespace h2server::net
