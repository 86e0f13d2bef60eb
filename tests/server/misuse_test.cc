// Misuse of the library throws an exception at the point of misuse.
#include <csignal>
#include <stdexcept>

#include "h2server/server.h"
#include "h2server/timing.h"
#include "server/client.h"

namespace h2server {
namespace misuse_test {

Response answer(Request&) { return Response(200); }

TEST(Misuse, OfAServer) {
  Server server(tests::cleartext());
  EXPECT_THROW(server.add_handler(GET, "/", Handler(Handler::Plain())), std::invalid_argument);
  EXPECT_THROW(server.add_handler(GET, "/", Handler(Handler::Coroutine())), std::invalid_argument);
  EXPECT_THROW(server.add_handler(GET, "/", static_cast<Response (*)(Request&)>(nullptr)),
               std::invalid_argument);
  EXPECT_NO_THROW(server.add_handler(GET, "/", answer));
  ASSERT_TRUE(server.start());
  EXPECT_THROW(server.add_handler(GET, "/late", answer), std::logic_error);
  EXPECT_THROW(static_cast<void>(server.start()), std::logic_error);
  EXPECT_THROW(static_cast<void>(server.run()), std::logic_error);
  EXPECT_EQ(tests::Client(tests::port_of(server)).get("/").status, 200) << "it goes on";
  server.stop();
  EXPECT_THROW(server.add_handler(GET, "/late", answer), std::logic_error) << "until wait()";
  server.wait();
  EXPECT_NO_THROW(server.add_handler(GET, "/late", answer));
  ASSERT_TRUE(server.start());
  EXPECT_EQ(tests::Client(tests::port_of(server)).get("/late").status, 200);
}

TEST(Misuse, SleepingOutsideOfAHandler) {
  EXPECT_THROW(static_cast<void>(sleep_for(std::chrono::milliseconds(1))), std::logic_error);
}

TEST(Misuse, InAHandlerBecomes500) {
  Server server(tests::cleartext());
  server.add_handler(GET, "/status", [](Request&) { return Response(99); });
  server.add_handler(GET, "/file",
                     [](Request& request) { return request.reply_ok_with_file(nullptr); });
  server.add_handler(GET, "/later", [](Request&) -> Task<Response> {
    co_await sleep_for(std::chrono::milliseconds(1));
    co_return Response(101);
  });
  ASSERT_TRUE(server.start());
  tests::Client client(tests::port_of(server));
  for (const char* const target : {"/status", "/file", "/later"}) {
    EXPECT_EQ(client.get(target).status, 500) << target;
  }
}

// --- run() and the signal mask ------------------------------------------------------------------

constexpr int signals_of_run[] = {SIGINT, SIGTERM, SIGUSR1, SIGCHLD};

void expect_unblocked() {
  sigset_t now;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &now), 0);
  for (const int signal : signals_of_run) EXPECT_EQ(::sigismember(&now, signal), 0) << signal;
}

TEST(Run, TheSignalMaskIsTheCallersAgainAfterAFailure) {
  ServerOptions options = tests::cleartext();
  options.root = "/does/not/exist";
  Server server(options);
  EXPECT_FALSE(server.run());
  expect_unblocked();
}

TEST(Run, TheSignalMaskIsTheCallersAgainAfterASignal) {
  Server server(tests::cleartext());
  for (int round = 0; round < 3; ++round) {
    const Result<void, std::string> done = server.run([] {
      ::kill(::getpid(), SIGTERM);
      ::kill(::getpid(), SIGINT);  // one of the two is still pending when the server has ended
    });
    EXPECT_TRUE(done);
    expect_unblocked();
  }
}

TEST(Run, ACallersMaskIsKept) {
  sigset_t own;
  sigset_t before;
  sigset_t after;
  sigemptyset(&own);
  sigaddset(&own, SIGUSR2);
  sigaddset(&own, SIGTERM);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &own, &before), 0);
  Server server(tests::cleartext());
  EXPECT_TRUE(server.run([] { ::kill(::getpid(), SIGINT); }));
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, &after), 0);
  EXPECT_EQ(::sigismember(&after, SIGUSR2), 1);
  EXPECT_EQ(::sigismember(&after, SIGTERM), 1);
  EXPECT_EQ(::sigismember(&after, SIGINT), 0);
}

TEST(Run, WhatItsCallerThrowsEndsTheServer) {
  Server server(tests::cleartext());
  EXPECT_THROW(static_cast<void>(server.run([] { throw std::runtime_error("as the test wants"); })),
               std::runtime_error);
  expect_unblocked();
  ASSERT_TRUE(server.start()) << "it has ended, so it can start again";
}

}  // namespace misuse_test
}  // namespace h2server
