#include "server/accept/admission.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "base/memory/freed_memory.h"

namespace h2server::server {
namespace admission_test {

using Refusal = Admission::Refusal;

// The server's end of a connection from the loopback address `from`.
class Connected {
 public:
  explicit Connected(const char* from) {
    const base::Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener.get(), plain, size), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), plain, &size), 0);
    client_ = base::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in own{};
    own.sin_family = AF_INET;
    ::inet_pton(AF_INET, from, &own.sin_addr);
    EXPECT_EQ(::bind(client_.get(), reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    EXPECT_EQ(::connect(client_.get(), plain, size), 0);
    server_ = base::Fd(::accept(listener.get(), nullptr, nullptr));
  }
  [[nodiscard]] int get() const { return server_.get(); }

 private:
  base::Fd client_;
  base::Fd server_;
};

TEST(Admission, LimitsAllConnections) {
  Admission admission;
  admission.set_limits({.connections_max = 2, .shedding_max = 1});
  const Connected connection("127.0.0.1");
  auto first = admission.admit(connection.get());
  std::optional second(admission.admit(connection.get()));
  ASSERT_TRUE(first && *second);
  EXPECT_FALSE((*second)->is_over());
  {
    auto third = admission.admit(connection.get());
    ASSERT_TRUE(third);
    EXPECT_TRUE(third->is_over());  // above the limit: an idle connection has to go
    const auto fourth = admission.admit(connection.get());
    ASSERT_FALSE(fourth);
    EXPECT_EQ(fourth.error(), Refusal::full);
  }
  second.reset();
  EXPECT_EQ(admission.connections(), 1U);
  auto again = admission.admit(connection.get());
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->is_over());
}

TEST(Admission, LimitsTheConnectionsOfAnAddress) {
  Admission admission;
  admission.set_limits({.per_address_max = 2});
  const Connected one("127.0.0.1");
  const Connected other("127.0.0.2");
  for (int round = 0; round < 3; ++round) {
    auto first = admission.admit(one.get());
    auto second = admission.admit(one.get());
    ASSERT_TRUE(first && second);
    const auto third = admission.admit(one.get());
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error(), Refusal::address_full);
    EXPECT_TRUE(admission.admit(other.get()).has_value());
    EXPECT_EQ(admission.connections(), 2U);
  }
  EXPECT_EQ(admission.connections(), 0U);
}

TEST(Admission, UnixSocketsCountInTotalOnly) {
  Admission admission;
  admission.set_limits({.connections_max = 3, .per_address_max = 1});
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const base::Fd one(ends[0]);
  const base::Fd other(ends[1]);
  {
    const auto first = admission.admit(one.get());
    const auto second = admission.admit(other.get());
    const auto third = admission.admit(one.get());
    EXPECT_TRUE(first && second && third);
    EXPECT_EQ(admission.connections(), 3U);
    const auto fourth = admission.admit(one.get());
    ASSERT_FALSE(fourth);
    EXPECT_EQ(fourth.error(), Refusal::full);
  }
  EXPECT_EQ(admission.connections(), 0U);
}

TEST(Admission, WhatEndsAsksForALookAtFreedMemory) {
  Admission admission;
  const Connected connection("127.0.0.1");
  base::FreedMemory& freed = base::FreedMemory::of_process();
  static_cast<void>(freed.take_request());  // of an earlier test
  {
    const auto admitted = admission.admit(connection.get());
    EXPECT_FALSE(freed.asked());
  }
  EXPECT_TRUE(freed.take_request());
}

TEST(Admission, SaysSoNowAndThen) {
  Admission admission;
  admission.set_limits({.connections_max = 2, .per_address_max = 3});
  base::flush_log();  // of earlier tests
  testing::internal::CaptureStderr();
  admission.report(Refusal::full, 1);
  admission.report(Refusal::full, 9'999);
  admission.report(Refusal::address_full, 10'001);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "h2server: warning: 2 connections are open, as many as connections_max allows: new "
            "ones are refused\n"
            "h2server: warning: an address has 3 connections, as many as connections_per_address "
            "allows: more from it are refused\n");
}

}  // namespace admission_test
}  // namespace h2server::server
