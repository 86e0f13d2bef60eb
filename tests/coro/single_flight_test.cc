#include "coro/single_flight.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <mutex>
#include <string>

#include "io/epoll_engine.h"
#include "io/mailbox.h"
#include "io/support.h"

namespace h2server::coro {
namespace single_flight_test {

class SingleFlightTest : public io::EngineFixture {
 protected:
  using Flights = SingleFlight<int>;

  SingleFlightTest() : EngineFixture(io::EpollEngine::open().value()) {
    io::Mailbox::add_to(*engine_);
    io::Engine::set_current(engine_.get());
  }
  ~SingleFlightTest() override { io::Engine::set_current(nullptr); }

  // Asks for "a" at that time, takes its turn or waits. The work takes a turn of the loop, and has
  // `outcome`, or none if that is 0.
  Task<void> ask(std::string name, std::int64_t now_ms, int outcome) {
    for (;;) {
      Flights::Part part;
      {
        const std::lock_guard lock(mutex_);
        if (flights_.in_flight("a", now_ms, 100)) flights_.wait("a", part);
        else flights_.begin("a", now_ms, part);
      }
      if (part.turn) {
        log_ += name + " works from " + std::to_string(part.turn->began_ms()) + "\n";
        io::SleepOp pause(*engine_, 0);
        co_await pause;
        if (outcome != 0) part.turn->outcome = outcome;
        co_return;
      }
      const Result<int> ended = co_await *part.others;
      if (ended) {
        log_ += name + " gets " + std::to_string(*ended) + "\n";
        co_return;
      }
      EXPECT_EQ(ended.error().code, EPIPE);
    }
  }

  std::mutex mutex_;
  Flights flights_{mutex_};
  std::string log_;
};

TEST_F(SingleFlightTest, OneWorksForAll) {
  start(ask("one", 0, 7));
  start(ask("two", 5, 8));
  start(ask("three", 99, 9));
  run();
  EXPECT_EQ(log_, "one works from 0\ntwo gets 7\nthree gets 7\n");
  EXPECT_FALSE(flights_.in_flight("a", 0));
}

TEST_F(SingleFlightTest, TheNextOneWorksIfItIsGivenUp) {
  start(ask("one", 0, 0));
  start(ask("two", 5, 8));
  start(ask("three", 6, 9));
  run();
  EXPECT_EQ(log_, "one works from 0\ntwo works from 5\nthree gets 8\n");
}

// What began long ago may have missed what has changed since.
TEST_F(SingleFlightTest, NobodyWaitsForOneThatBeganLongAgo) {
  start(ask("one", 0, 7));
  start(ask("two", 100, 8));
  start(ask("three", 150, 9));
  run();
  EXPECT_EQ(log_, "one works from 0\ntwo works from 100\nthree gets 8\n");
  EXPECT_FALSE(flights_.in_flight("a", 150));
}

TEST_F(SingleFlightTest, OtherKeysAreOtherFlights) {
  Flights::Part part;
  {
    const std::lock_guard lock(mutex_);
    flights_.begin("a", 0, part);
    EXPECT_TRUE(flights_.in_flight("a", 0));
    EXPECT_FALSE(flights_.in_flight("b", 0));
  }
}

}  // namespace single_flight_test
}  // namespace h2server::coro
