// Handlers run in other processes here, so these tests only observe them from outside.
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <thread>
#include <vector>

#include "base/memory/memory_budget.h"
#include "content/support.h"
#include "h2server/server.h"
#include "h2server/timing.h"
#include "server/client.h"
#include "server/http2_client.h"

namespace h2server {
namespace process_per_connection_test {

using std::chrono::steady_clock;
using tests::Client;
using tests::Http2Client;

int number_of(const std::string& text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool exists(pid_t process) { return ::kill(process, 0) == 0; }

template <class Condition>
bool becomes_true(Condition condition) {
  const auto until = steady_clock::now() + tests::patience;
  while (!condition()) {
    if (steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

class ProcessPerConnection : public testing::Test {
 protected:
  static ServerOptions options(unsigned at_once = 8) {
    ServerOptions made = tests::cleartext(ServerScheme::process_per_connection);
    made.connections_max = at_once;
    return made;
  }

  void start(const ServerOptions& with = options()) {
    server_ = std::make_unique<Server>(with);
    server_->add_handler(GET, "/pid",
                         [](Request&) { return Response(200, std::to_string(::getpid())); });
    server_->add_handler(GET, "/parent",
                         [](Request&) { return Response(200, std::to_string(::getppid())); });
    server_->add_handler(GET, "/memory", [](Request&) {
      return Response(200, std::to_string(base::MemoryBudget::of_process().limit()));
    });
    server_->add_handler(GET, "/crash", [](Request&) -> Response {
      ::raise(SIGKILL);
      return Response(200);
    });
    server_->add_handler(GET, "/long", [](Request&) -> Task<Response> {
      const Result<void> slept = co_await sleep_for(std::chrono::hours(1));
      co_return Response(200, slept ? "slept" : "cancelled");
    });
    server_->add_handler(GET, "/later", [](Request&) -> Task<Response> {
      co_await sleep_for(std::chrono::milliseconds(20));
      co_return Response(200, "later");
    });
    ASSERT_TRUE(server_->start());
    port_ = tests::port_of(*server_);
  }

  bool reports(std::string_view text) {
    return becomes_true([&] { return server_->report().find(text) != std::string::npos; });
  }

  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
};

TEST_F(ProcessPerConnection, EachConnectionHasAProcess) {
  start();
  EXPECT_EQ(server_->engine().name, "blocking");
  Client first(port_);
  Client second(port_);
  Http2Client third(port_);
  const int one = number_of(first.get("/pid").body);
  const int two = number_of(second.get("/pid").body);
  const int three = number_of(third.get("/pid"));
  EXPECT_NE(one, two);
  EXPECT_NE(two, three);
  EXPECT_NE(one, ::getpid());
  EXPECT_EQ(number_of(first.get("/pid").body), one) << "for all of its requests";
  const int parent = number_of(first.get("/parent").body);
  EXPECT_NE(parent, ::getpid());
  EXPECT_EQ(number_of(second.get("/parent").body), parent);
  EXPECT_TRUE(reports("children: 3 running, 3 accepted, 0 streams, 0 crashed"));
}

// Each takes memory of its own, so in little memory there are few. Other connections wait.
TEST_F(ProcessPerConnection, LittleMemoryHasFewProcesses) {
  ServerOptions limited = options(0);
  limited.memory_max = 16 << 20;
  start(limited);
  std::vector<Client> clients;
  for (int i = 0; i < 32; ++i) EXPECT_EQ(clients.emplace_back(port_).get("/later").body, "later");
  Client last(port_);
  last.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(reports("32 running, 32 accepted"));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(server_->report().find("33 accepted"), std::string::npos);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  clients.pop_back();
  EXPECT_EQ(last.receive().body, "later");
  server_.reset();
  base::MemoryBudget::of_process().set_limit(base::MemoryBudget::no_limit);
}

TEST_F(ProcessPerConnection, ChildrenShareTheMemoryOfAll) {
  ServerOptions limited = options(32);
  limited.memory_max = 64 << 20;
  start(limited);
  std::vector<Client> clients;
  for (const int parts : {1, 2, 3, 4}) {
    EXPECT_EQ(number_of(clients.emplace_back(port_).get("/memory").body), (64 << 20) / parts);
  }
  for (int more = 0; more < 16; ++more) {
    const int least = number_of(clients.emplace_back(port_).get("/memory").body);
    EXPECT_GE(least, 4 << 20);
  }
  server_.reset();
  base::MemoryBudget::of_process().set_limit(base::MemoryBudget::no_limit);
}

TEST_F(ProcessPerConnection, ChildrenEndWithTheirConnections) {
  start();
  int child = 0;
  {
    Client client(port_);
    child = number_of(client.get("/pid").body);
    EXPECT_TRUE(exists(child));
  }
  EXPECT_TRUE(becomes_true([child] { return !exists(child); })) << "and somebody waits for them";
  EXPECT_TRUE(reports("children: 0 running, 1 accepted"));
}

TEST_F(ProcessPerConnection, ACrashIsTheMatterOfOneConnection) {
  start();
  Client other(port_);
  EXPECT_EQ(other.get("/pid").status, 200);
  Client victim(port_);
  victim.send("GET /crash HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(victim.ends());
  EXPECT_TRUE(reports("1 running, 2 accepted, 0 streams, 1 crashed"));
  EXPECT_EQ(other.get("/pid").status, 200);
  EXPECT_EQ(Client(port_).get("/pid").status, 200);
}

TEST_F(ProcessPerConnection, WhoComesLaterWaitsUntilAnotherEnds) {
  start(options(2));
  auto first = std::make_unique<Client>(port_);
  EXPECT_EQ(first->get("/pid").status, 200);
  Client second(port_);
  EXPECT_EQ(second.get("/pid").status, 200);
  Client third(port_);
  third.send("GET /pid HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(second.get("/later").body, "later");
  EXPECT_TRUE(reports("children: 2 running, 2 accepted"));
  first.reset();
  EXPECT_EQ(third.receive().status, 200);
}

TEST_F(ProcessPerConnection, StopsInTheSameWay) {
  for (const bool twice : {false, true}) {
    start();
    Client idle(port_);
    const int parent = number_of(idle.get("/parent").body);
    const Client silent(port_);
    Client busy(port_);
    busy.send(twice ? "GET /long HTTP/1.1\r\nHost: x\r\n\r\n"
                    : "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    Http2Client http2(port_);
    EXPECT_GT(number_of(http2.get("/pid")), 0);
    ASSERT_TRUE(reports("4 running"));
    server_->stop();
    if (twice) server_->stop();
    server_->wait();
    EXPECT_FALSE(exists(parent));
    EXPECT_TRUE(idle.ends());
    if (!twice) {
      EXPECT_EQ(busy.receive().body, "later");
    }
    EXPECT_EQ(Client(port_).error(), ECONNREFUSED);
  }
}

TEST_F(ProcessPerConnection, TheDrainHasALimit) {
  ServerOptions hasty = options();
  hasty.drain_limit = std::chrono::milliseconds(1);
  start(hasty);
  Client busy(port_);
  busy.send("GET /long HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(reports("1 running"));
  server_->stop();
  server_->wait();
}

// A terminal or a context manager sends its signals to all processes.
TEST_F(ProcessPerConnection, OnlyTheMainProcessHeedsTheOperator) {
  start();
  Client client(port_);
  const int child = number_of(client.get("/pid").body);
  const int parent = number_of(client.get("/parent").body);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    ::kill(child, signal);
    ::kill(parent, signal);
  }
  EXPECT_EQ(number_of(client.get("/pid").body), child);
  EXPECT_EQ(Client(port_).get("/pid").status, 200);
}

TEST_F(ProcessPerConnection, AgainAfterItEnded) {
  const rlim_t before = tests::descriptors_in_use();
  Server server(options());
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(server.start());
    EXPECT_EQ(Client(tests::port_of(server)).get("/").status, 404);
    server.stop();
    server.wait();
  }
  EXPECT_EQ(tests::descriptors_in_use(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

// A main process of its own: the processes that it forked must not outlive it.
TEST_F(ProcessPerConnection, AllEndWhenTheMainProcessDies) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t main = ::fork();
  ASSERT_GE(main, 0);
  if (main == 0) {
    start();
    [[maybe_unused]] const ssize_t told = ::write(pipe[1], &port_, sizeof port_);
    ::pause();
  }
  ASSERT_EQ(::read(pipe[0], &port_, sizeof port_), static_cast<ssize_t>(sizeof port_));
  ::close(pipe[0]);
  ::close(pipe[1]);
  Client client(port_);
  const int child = number_of(client.get("/pid").body);
  const int parent = number_of(client.get("/parent").body);
  ::kill(main, SIGKILL);
  EXPECT_EQ(::waitpid(main, nullptr, 0), main);
  EXPECT_TRUE(client.ends());
  EXPECT_TRUE(becomes_true([=] { return !exists(child) && !exists(parent); }));
}

TEST_F(ProcessPerConnection, RunNoticesThatNobodyAcceptsAnyMore) {
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &before);
  Server server(options());
  server.add_handler(GET, "/parent",
                     [](Request&) { return Response(200, std::to_string(::getppid())); });
  const Result<void, std::string> done = server.run([&] {
    const int parent = number_of(Client(tests::port_of(server)).get("/parent").body);
    ::kill(parent, SIGKILL);
  });
  EXPECT_FALSE(done);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace process_per_connection_test
}  // namespace h2server
