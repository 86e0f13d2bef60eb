#include "net/port_trial.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "net/listener.h"

namespace h2server::net {
namespace port_trial_test {

TEST(PortTrial, AcceptsAFreePortAndLeavesItFree) {
  std::uint16_t port = 0;
  {
    const auto listeners = open_listeners({});
    ASSERT_TRUE(listeners.has_value()) << listeners.error();
    port = listeners->front().address.port;
  }
  EXPECT_EQ(try_port("", port), 0);
  EXPECT_EQ(try_port("", port), 0);
  EXPECT_TRUE(open_listeners({.host = "", .port = port}).has_value());
}

TEST(PortTrial, RefusesAPortInUse) {
  const auto listeners = open_listeners({.host = "127.0.0.1"});
  ASSERT_TRUE(listeners.has_value()) << listeners.error();
  const std::uint16_t port = listeners->front().address.port;
  EXPECT_EQ(try_port("127.0.0.1", port), EADDRINUSE);
  EXPECT_EQ(try_port("", port), EADDRINUSE);
  EXPECT_EQ(try_port("127.0.0.2", port), 0);
}

TEST(PortTrial, RefusesAnAddressOfAnotherMachine) {
  EXPECT_EQ(try_port("192.0.2.1", 0), EADDRNOTAVAIL);  // RFC 5737: for documentation
  EXPECT_EQ(try_port("no such name", 0), EADDRNOTAVAIL);
}

}  // namespace port_trial_test
}  // namespace h2server::net
