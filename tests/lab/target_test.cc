#include "load/target.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "net/listener.h"

namespace h2server::lab::load {
namespace target_test {

std::string source_of(const base::Fd& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  std::string text(INET_ADDRSTRLEN, '\0');
  ::inet_ntop(AF_INET, &address.sin_addr, text.data(), static_cast<socklen_t>(text.size()));
  return text.c_str();
}

TEST(LoadTarget, TakesFurtherSourceAddresses) {
  const auto listeners = net::open_listeners({.host = "127.0.0.1"});
  ASSERT_TRUE(listeners.has_value()) << listeners.error();
  auto target = Target::find("127.0.0.1", listeners->front().address.port);
  ASSERT_TRUE(target.has_value()) << target.error();
  target->set_connections_per_source(2);
  std::vector<base::Fd> connections;
  std::vector<std::string> sources;
  for (int i = 0; i < 5; ++i) {
    auto made = target->connect();
    ASSERT_TRUE(made.has_value()) << made.error().message();
    sources.push_back(source_of(*made));
    connections.push_back(std::move(*made));
  }
  EXPECT_EQ(sources, (std::vector<std::string>{"127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.2",
                                               "127.0.0.3"}));
}

TEST(LoadTarget, FindsNoHostOfAWrongName) { EXPECT_FALSE(Target::find("not a host", 80)); }

}  // namespace target_test
}  // namespace h2server::lab::load
