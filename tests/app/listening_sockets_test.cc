#include "app/listening_sockets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <utility>

#include "app/system/pid_file.h"
#include "app/upgrade.h"
#include "content/support.h"
#include "net/socket_address.h"

namespace h2server::app {
namespace listening_sockets_test {

config::Listener on_port(std::uint16_t port, std::string host = "127.0.0.1") {
  config::Listener listener;
  listener.host = std::move(host);
  listener.port = port;
  return listener;
}

config::Configuration configuration_of(std::vector<config::Listener> listeners,
                                       unsigned threads = 1) {
  config::Configuration configuration;
  configuration.listeners = std::move(listeners);
  configuration.port_given = true;
  configuration.server.threads = threads;
  return configuration;
}

ino_t inode(int descriptor) {
  struct stat status{};
  EXPECT_EQ(::fstat(descriptor, &status), 0);
  return status.st_ino;
}

std::set<ino_t> inodes(const std::vector<ListenerOptions>& listeners) {
  std::set<ino_t> all;
  for (const ListenerOptions& one : listeners) {
    for (const int descriptor : one.descriptors) all.insert(inode(descriptor));
  }
  return all;
}

config::Listener on_path(std::string path, unsigned mode = 0) {
  config::Listener listener;
  listener.unix_path = std::move(path);
  listener.unix_mode = mode;
  return listener;
}

mode_t mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 0777;
}

// Returns 0 or why nobody can connect.
int connect_to(std::uint16_t port) {
  const base::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* const plain = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(socket.get(), plain, sizeof address) == 0 ? 0 : errno;
}

std::uint16_t port_of(const ListenerOptions& listener) {
  return net::local_address(listener.descriptors.front()).port;
}

TEST(ListeningSockets, StayFromOneConfigurationToTheNext) {
  ListeningSockets sockets;
  config::Configuration first = configuration_of({on_port(0)}, 2);
  const auto opened = sockets.open(first);
  ASSERT_TRUE(opened) << opened.error();
  ASSERT_EQ(opened->size(), 1u);
  EXPECT_EQ(opened->front().descriptors.size(), 2u);  // one for each worker
  EXPECT_TRUE(opened->front().host.empty());
  config::Configuration second = configuration_of({on_port(0), on_port(0)}, 3);
  const auto again = sockets.open(second);
  ASSERT_TRUE(again) << again.error();
  ASSERT_EQ(again->size(), 2u);
  EXPECT_EQ(again->front().descriptors, opened->front().descriptors);
  EXPECT_EQ((*again)[1].descriptors.size(), 3u);
  EXPECT_EQ(inodes(*again).size(), 5u);
}

TEST(ListeningSockets, CloseWhatIsNotAskedFor) {
  ListeningSockets sockets;
  config::Configuration both = configuration_of({on_port(0), on_port(0)});
  const auto opened = sockets.open(both);
  ASSERT_TRUE(opened) << opened.error();
  const std::uint16_t kept = port_of((*opened)[0]);
  const std::uint16_t closed = port_of((*opened)[1]);
  config::Configuration one = configuration_of({on_port(0)});
  ASSERT_TRUE(sockets.open(one));
  EXPECT_EQ(connect_to(closed), 0);  // not before it is said
  sockets.commit();
  EXPECT_EQ(connect_to(closed), ECONNREFUSED);
  EXPECT_EQ(connect_to(kept), 0);
  const auto third = sockets.open(both);  // a configuration that will not be served
  ASSERT_TRUE(third) << third.error();
  const std::uint16_t made = port_of((*third)[1]);
  EXPECT_EQ(connect_to(made), 0);
  sockets.close_opened();
  EXPECT_EQ(connect_to(made), ECONNREFUSED);
  EXPECT_EQ(connect_to(kept), 0);
  sockets.refuse();
  EXPECT_EQ(connect_to(kept), ECONNREFUSED);
}

TEST(ListeningSockets, AFailureChangesNothing) {
  ListeningSockets sockets;
  config::Configuration good = configuration_of({on_port(0)});
  const auto opened = sockets.open(good);
  ASSERT_TRUE(opened) << opened.error();
  const std::uint16_t port = port_of(opened->front());
  ListeningSockets others;
  config::Configuration taken = configuration_of({on_port(port)});
  const auto refused = others.open(taken);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().contains("in use")) << refused.error();
  config::Configuration wrong = configuration_of({on_port(0), on_port(port)});
  EXPECT_FALSE(sockets.open(wrong));
  EXPECT_EQ(sockets.all().size(), 1u);
  const auto again = sockets.open(good);
  ASSERT_TRUE(again);
  EXPECT_EQ(inodes(*again), inodes(*opened));
}

TEST(ListeningSockets, TheNextFreePortIsKept) {
  ListeningSockets other;
  config::Configuration any = configuration_of({on_port(0)});
  const auto opened = other.open(any);
  ASSERT_TRUE(opened);
  const std::uint16_t taken = port_of(opened->front());
  ListeningSockets sockets;
  config::Configuration first = configuration_of({on_port(taken)});
  first.port_given = false;
  ASSERT_TRUE(sockets.open(first));
  EXPECT_GT(first.listeners.front().port, taken);
  config::Configuration second = configuration_of({on_port(taken)});
  second.port_given = false;
  ASSERT_TRUE(sockets.open(second));
  EXPECT_EQ(second.listeners.front().port, first.listeners.front().port);
  EXPECT_EQ(sockets.all().size(), 1u);
}

TEST(ListeningSockets, FilesOfUnixSockets) {
  const tests::TemporaryDirectory folder;
  const std::string path = folder.path() + "/h.sock";
  config::Configuration configuration = configuration_of({on_path(path)});
  {
    ListeningSockets first;
    ASSERT_TRUE(first.open(configuration));
    std::vector<ListeningSockets::Inherited> passed = first.all();
    ASSERT_EQ(passed.size(), 1u);
    EXPECT_EQ(passed.front().name, "unix:" + path);
    for (int& descriptor : passed.front().descriptors) descriptor = ::dup(descriptor);
    ListeningSockets second;
    ASSERT_TRUE(second.adopt(passed));
    const auto taken = second.open(configuration);
    ASSERT_TRUE(taken) << taken.error();
    EXPECT_EQ(second.all().size(), 1u);
    const int descriptor = taken->front().descriptors.front();
    second.commit();
    EXPECT_EQ(second.all().front().descriptors.front(), descriptor);
    first.leave();
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ListeningSockets, AProgramThatDoesNotStartLeavesTheFilesOfItsPredecessor) {
  const tests::TemporaryDirectory folder;
  const std::string path = folder.path() + "/h.sock";
  const std::string own_path = folder.path() + "/own.sock";
  config::Configuration configuration = configuration_of({on_path(path)});
  ListeningSockets first;
  ASSERT_TRUE(first.open(configuration));
  first.commit();
  {
    std::vector<ListeningSockets::Inherited> passed = first.all();
    for (int& descriptor : passed.front().descriptors) descriptor = ::dup(descriptor);
    ListeningSockets failed;
    ASSERT_TRUE(failed.adopt(passed));
    config::Configuration more = configuration_of({on_path(path), on_path(own_path)});
    ASSERT_TRUE(failed.open(more));
    EXPECT_TRUE(std::filesystem::exists(own_path));
  }
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(own_path));
}

TEST(ListeningSockets, TheModeOfAFileIsThatOfTheConfigurationThatIsServed) {
  const tests::TemporaryDirectory folder;
  const std::string path = folder.path() + "/h.sock";
  const mode_t umask = ::umask(0027);
  ListeningSockets sockets;
  ::umask(umask);
  mode_t before = 0;
  const std::vector<std::pair<unsigned, mode_t>> rows = {
      {0600, 0600}, {0660, 0660}, {0660, 0660}, {0, 0750}, {0666, 0666}};
  for (const auto& [wanted, mode] : rows) {
    config::Configuration configuration = configuration_of({on_path(path, wanted)});
    ASSERT_TRUE(sockets.open(configuration));
    // It may still be refused.
    if (before != 0) {
      EXPECT_EQ(mode_of(path), before);
    }
    sockets.commit();
    EXPECT_EQ(mode_of(path), mode);
    before = mode;
  }
  // A successor gives a mode that is asked for, and else leaves it as it is.
  for (const auto& [wanted, mode] : {std::pair(0U, 0666U), std::pair(0640U, 0640U)}) {
    std::vector<ListeningSockets::Inherited> passed = sockets.all();
    for (int& descriptor : passed.front().descriptors) descriptor = ::dup(descriptor);
    ListeningSockets next;
    ASSERT_TRUE(next.adopt(passed));
    config::Configuration configuration = configuration_of({on_path(path, wanted)});
    ASSERT_TRUE(next.open(configuration));
    next.commit();
    EXPECT_EQ(mode_of(path), mode);
    next.leave();
  }
}

TEST(ListeningSockets, TheHostOfAPortChanges) {
  ListeningSockets sockets;
  config::Configuration any = configuration_of({on_port(0)}, 2);
  const auto opened = sockets.open(any);
  ASSERT_TRUE(opened) << opened.error();
  sockets.commit();
  const std::uint16_t port = port_of(opened->front());
  for (const char* const host : {"0.0.0.0", "127.0.0.1", "", "127.0.0.1"}) {
    config::Configuration next = configuration_of({on_port(port, host)}, 2);
    const auto again = sockets.open(next);
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(port_of(again->front()), port);
    EXPECT_EQ(again->front().descriptors.size(), 2u);
    sockets.commit();
    EXPECT_EQ(sockets.all().size(), 1u);
    EXPECT_EQ(connect_to(port), 0);
  }
  // Both at once are refused as at a start, and so is a port of another program.
  config::Configuration both = configuration_of({on_port(port, "0.0.0.0"), on_port(port)}, 2);
  EXPECT_FALSE(sockets.open(both));
  ListeningSockets others;
  config::Configuration taken = configuration_of({on_port(port, "0.0.0.0")}, 2);
  EXPECT_FALSE(others.open(taken));
}

TEST(ListeningSockets, AHostThatCanNotChangeIsExplained) {
  ListeningSockets sockets;
  config::Configuration any = configuration_of({on_port(0)});
  any.server.scheme = ServerScheme::acceptor;
  const auto opened = sockets.open(any);
  ASSERT_TRUE(opened) << opened.error();
  sockets.commit();
  config::Configuration next = configuration_of({on_port(port_of(opened->front()), "0.0.0.0")});
  next.server.scheme = ServerScheme::acceptor;
  const auto refused = sockets.open(next);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().contains("itself listens on 127.0.0.1:0")) << refused.error();
  EXPECT_TRUE(refused.error().contains("restart")) << refused.error();
}

TEST(ListeningSockets, AServiceManagersStay) {
  ListeningSockets manager;
  config::Configuration any = configuration_of({on_port(0)});
  const auto opened = manager.open(any);
  ASSERT_TRUE(opened);
  ListeningSockets sockets;
  const int copy = ::dup(opened->front().descriptors.front());
  ASSERT_TRUE(sockets.adopt({{.name = "", .descriptors = {copy}, .managed = true}}));
  config::Configuration wanted = configuration_of({on_port(port_of(opened->front()))});
  ASSERT_TRUE(sockets.open(wanted));
  sockets.commit();
  ASSERT_TRUE(sockets.open(any));
  sockets.commit();
  EXPECT_EQ(sockets.all().size(), 2u);
  const auto again = sockets.open(wanted);
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(inodes(*again), inodes(*opened));
}

TEST(ListeningSockets, AServiceManagersAreKnownByTheirAddress) {
  ListeningSockets manager;
  config::Configuration any = configuration_of({on_port(0)});
  const auto opened = manager.open(any);
  ASSERT_TRUE(opened);
  const std::uint16_t port = port_of(opened->front());
  ListeningSockets sockets;
  const int copy = ::dup(opened->front().descriptors.front());
  ASSERT_TRUE(sockets.adopt({{.name = "", .descriptors = {copy}, .managed = true}}));
  EXPECT_EQ(::fcntl(copy, F_GETFD), -1);
  config::Configuration wanted = configuration_of({on_port(port)});
  const auto taken = sockets.open(wanted);
  ASSERT_TRUE(taken) << taken.error();
  EXPECT_EQ(inodes(*taken), inodes(*opened));
  sockets.refuse();  // the manager goes on listening
  EXPECT_EQ(connect_to(port), 0);
  EXPECT_FALSE(sockets.adopt({{.name = "", .descriptors = {STDERR_FILENO}, .managed = true}}));
}

// --- what a predecessor passes on ---------------------------------------------------------------

TEST(Inheritance, IsReadFromTheEnvironment) {
  struct Row {
    std::string lines;
    std::string ready;
    bool right;
  };
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const base::Fd reading(ends[0]);
  const std::string ready = std::to_string(ends[1]);
  const std::vector<Row> wrong = {
      {"x *:1\n", ready, false},    {"999999 *:1\n", ready, false}, {"*:1\n", ready, false},
      {"0,x *:1\n", ready, false},  {"m *:1\n", ready, false},      {"0 *:1\n", "x", false},
      {"0 *:1\n", "999999", false},
  };
  for (const Row& row : wrong) {
    ::setenv("H2SERVER_LISTENERS", row.lines.c_str(), 1);
    const std::string copy = row.ready == ready ? std::to_string(::dup(ends[1])) : row.ready;
    ::setenv("H2SERVER_READY", copy.c_str(), 1);
    EXPECT_FALSE(take_inheritance()) << row.lines << row.ready;
    EXPECT_EQ(std::getenv("H2SERVER_READY"), nullptr);
  }
  const std::vector<int> passed = {::dup(ends[0]), ::dup(ends[0]), ::dup(ends[0])};
  const std::string lines =
      fmt::format("{} *:8443\n{},{}m unix:/a b\n", passed[0], passed[1], passed[2]);
  ::setenv("H2SERVER_LISTENERS", lines.c_str(), 1);
  ::setenv("H2SERVER_READY", ready.c_str(), 1);
  Result<Inheritance, std::string> taken = take_inheritance();
  ASSERT_TRUE(taken) << taken.error();
  ASSERT_EQ(taken->listeners.size(), 2u);
  EXPECT_EQ(taken->listeners[0].name, "*:8443");
  EXPECT_FALSE(taken->listeners[0].managed);
  EXPECT_EQ(taken->listeners[1].name, "unix:/a b");
  EXPECT_EQ(taken->listeners[1].descriptors, (std::vector<int>{passed[1], passed[2]}));
  for (const int descriptor : passed) EXPECT_EQ(::close(descriptor), 0);
  EXPECT_TRUE(taken->listeners[1].managed);
  taken->tell_ready();
  char byte = 0;
  EXPECT_EQ(::read(reading.get(), &byte, 1), 1);
  const Result<Inheritance, std::string> none = take_inheritance();
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->listeners.empty());
  EXPECT_FALSE(none->ready.valid());
}

TEST(PidFile, IsRemovedByItsProcessOnly) {
  const tests::TemporaryDirectory folder;
  const std::string path = folder.path() + "/pid";
  EXPECT_FALSE(PidFile::read(path));
  {
    PidFile file;
    ASSERT_TRUE(file.write(path));
    const auto content = PidFile::read(path);
    ASSERT_TRUE(content) << content.error();
    EXPECT_EQ(content->process, ::getpid());
    ASSERT_TRUE(file.write(path));
    EXPECT_NE(PidFile::read(path)->inode, content->inode);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  for (const char* const text : {"", "x\n", "1\n", "-5\n", "12", "12\n\n", "99999999999999\n"}) {
    std::filesystem::remove(path);
    const base::Fd file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_EQ(::write(file.get(), text, std::strlen(text)),
              static_cast<ssize_t>(std::strlen(text)));
    EXPECT_FALSE(PidFile::read(path)) << text;
  }
}

TEST(PidFile, IsReplacedByTheNextOne) {
  const tests::TemporaryDirectory folder;
  const std::string one = folder.path() + "/one";
  const std::string two = folder.path() + "/two";
  PidFile file;
  ASSERT_TRUE(file.write(one));
  ASSERT_TRUE(file.write(two));
  EXPECT_FALSE(std::filesystem::exists(one));
  ASSERT_TRUE(PidFile::read(two));
  ASSERT_TRUE(file.write(folder.path() + "/./two"));  // the same one
  ASSERT_TRUE(PidFile::read(two));
  EXPECT_FALSE(file.write(two + "/below-a-file"));
  ASSERT_TRUE(PidFile::read(two));
  file.remove();
  EXPECT_FALSE(std::filesystem::exists(two));
}

}  // namespace listening_sockets_test
}  // namespace h2server::app
