// DelayLine by tables of times, and Relay over real sockets. Tests assert minimum delays, never
// maximum ones.
#include "relay/relay.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net/listener.h"
#include "relay/delay_line.h"

namespace h2server::lab::relay {
namespace relay_test {

std::string all_arrived(const DelayLine& line, std::int64_t now_ns) {
  std::string text;
  for (const std::string_view part : line.arrived(now_ns, 1000)) text += part;
  return text;
}

TEST(RelayDelayLine, DelaysAndKeepsTheOrder) {
  DelayLine line({.delay_ns = 100, .bytes_max = 1000});
  EXPECT_EQ(line.next_ns(), std::nullopt);
  line.put(0, "one ");
  line.put(50, "two ");
  line.put(50, "three");
  struct Row {
    std::int64_t now_ns;
    std::string_view arrived;
  };
  for (const Row& row : {Row{0, ""}, Row{99, ""}, Row{100, "one "}, Row{149, "one "},
                         Row{150, "one two three"}, Row{10'000, "one two three"}}) {
    EXPECT_EQ(all_arrived(line, row.now_ns), row.arrived) << row.now_ns;
  }
  EXPECT_EQ(line.arrived(150, 2).size(), 2);
  EXPECT_EQ(line.next_ns(), 100);
  line.take(6);
  EXPECT_EQ(all_arrived(line, 150), "o three");
  EXPECT_EQ(line.next_ns(), 150);
  line.take(7);
  EXPECT_EQ(line.next_ns(), std::nullopt);
}

TEST(RelayDelayLine, IsNotFasterThanItsBandwidth) {
  // A packet of 1460 bytes takes 1460 ns.
  DelayLine line({.delay_ns = 10'000, .bytes_per_second = 1e9, .bytes_max = 100'000});
  line.put(0, std::string(14'600, 'x'));
  line.put(0, "y");
  struct Row {
    std::int64_t now_ns;
    std::size_t bytes;
  };
  for (const Row& row : {Row{11'459, 0}, Row{11'460, 1460}, Row{12'919, 1460}, Row{12'920, 2920},
                         Row{24'600, 14'600}, Row{24'601, 14'601}}) {
    EXPECT_EQ(all_arrived(line, row.now_ns).size(), row.bytes) << row.now_ns;
  }
  line.put(100'000, "z");  // idle time saves up no bandwidth
  EXPECT_EQ(all_arrived(line, 110'000).size(), 14'601);
  EXPECT_EQ(all_arrived(line, 110'001).size(), 14'602);
}

TEST(RelayDelayLine, TakesNoMoreThanItsBound) {
  DelayLine line({.delay_ns = 100, .bytes_max = 10});
  EXPECT_EQ(line.room(), 10);
  line.put(0, "1234567");
  EXPECT_EQ(line.room(), 3);
  line.put(0, "890");
  EXPECT_EQ(line.room(), 0);
  line.take(4);
  EXPECT_EQ(line.room(), 4);
}

TEST(RelayDelayLine, EndsAfterTheLastByte) {
  DelayLine line({.delay_ns = 100, .bytes_per_second = 1e9, .bytes_max = 100});
  line.put(0, "0123456789");
  line.put_end(0);
  EXPECT_FALSE(line.end_arrived(110));  // not taken yet
  line.take(10);
  EXPECT_EQ(line.next_ns(), 110);
  EXPECT_FALSE(line.end_arrived(109));
  EXPECT_TRUE(line.end_arrived(110));
}

TEST(RelayOptions, BoundWhatIsUnderWay) {
  struct Row {
    RelayOptions options;
    std::size_t bytes_max;
  };
  for (const Row& row :
       {Row{{.round_trip_ns = 50'000'000}, 64 * 1024 * 1024},
        Row{{.round_trip_ns = 50'000'000, .bytes_per_second = 1e6}, 1024 * 1024},
        Row{{.round_trip_ns = 100'000'000, .bytes_per_second = 1e8}, 20'000'000}}) {
    EXPECT_EQ(line_of(row.options).bytes_max, row.bytes_max);
    EXPECT_EQ(line_of(row.options).delay_ns, row.options.round_trip_ns / 2);
  }
}

// --- over sockets -----------------------------------------------------------------------------

base::Fd connect_to(std::uint16_t port) {
  base::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return socket;
}

void send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// Receives until the peer closes or at least `bytes_max` bytes have arrived.
std::string receive(int socket, std::size_t bytes_max) {
  std::string text;
  std::vector<char> buffer(64 * 1024);
  while (text.size() < bytes_max) {
    const ssize_t bytes = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (bytes <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
  return text;
}

// A relay on its own thread, and its target: a listening socket of the test.
class RelayTest : public testing::Test {
 protected:
  void start(RelayOptions options) {
    auto listeners = net::open_listeners({.host = "127.0.0.1"});
    target_ = std::move(listeners->front().socket);
    options.target_port = listeners->front().address.port;
    auto opened = Relay::open(options, stop_.get());
    ASSERT_TRUE(opened);
    relay_ = std::move(*opened);
    thread_ = std::jthread([this] { EXPECT_TRUE(relay_->run()); });
  }

  // Accepts the relay's connection to the target.
  base::Fd accept() {
    pollfd waited{.fd = target_.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&waited, 1, 60'000), 1);
    return base::Fd(::accept4(target_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }

  void TearDown() override {
    ::eventfd_write(stop_.get(), 1);
    if (thread_.joinable()) thread_.join();
  }

  base::Fd stop_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  base::Fd target_;
  std::unique_ptr<Relay> relay_;
  std::jthread thread_;
};

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

TEST_F(RelayTest, DelaysAByteByARoundTripAndTheFirstByTwo) {
  start({.round_trip_ns = 40'000'000});
  const auto begin = Clock::now();
  const base::Fd client = connect_to(relay_->port());
  send_all(client.get(), "?");
  const base::Fd server = accept();
  EXPECT_GE(Clock::now() - begin, 60ms);
  EXPECT_EQ(receive(server.get(), 1), "?");
  send_all(server.get(), "!");
  EXPECT_EQ(receive(client.get(), 1), "!");
  EXPECT_GE(Clock::now() - begin, 80ms);
  for (int i = 0; i < 3; ++i) {
    const auto asked = Clock::now();
    send_all(client.get(), "?");
    EXPECT_EQ(receive(server.get(), 1), "?");
    EXPECT_GE(Clock::now() - asked, 20ms);
    send_all(server.get(), "!");
    EXPECT_EQ(receive(client.get(), 1), "!");
    EXPECT_GE(Clock::now() - asked, 40ms);
  }
}

std::string some_text(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += std::to_string(text.size()) + ' ';
  return text;
}

TEST_F(RelayTest, PassesAllBytesBothWaysAndThenTheEnds) {
  start({.round_trip_ns = 2'000'000});
  const std::string request = some_text(5'000'000);
  const std::string response = some_text(7'000'000);
  const base::Fd client = connect_to(relay_->port());
  std::jthread sender([&] {
    send_all(client.get(), request);
    ::shutdown(client.get(), SHUT_WR);
  });
  const base::Fd server = accept();
  EXPECT_EQ(receive(server.get(), SIZE_MAX), request);
  // The connection is half closed: the other direction still works.
  std::jthread answerer([&] {
    send_all(server.get(), response);
    ::shutdown(server.get(), SHUT_WR);
  });
  EXPECT_EQ(receive(client.get(), SIZE_MAX), response);
}

TEST_F(RelayTest, IsNotFasterThanItsBandwidth) {
  start({.round_trip_ns = 0, .bytes_per_second = 10e6});
  const std::string text = some_text(500'000);
  const auto begin = Clock::now();
  const base::Fd client = connect_to(relay_->port());
  std::jthread sender([&] { send_all(client.get(), text); });
  const base::Fd server = accept();
  EXPECT_EQ(receive(server.get(), text.size()), text);
  EXPECT_GE(Clock::now() - begin, 50ms);
}

TEST_F(RelayTest, TakesNoMoreThanTheBoundFromASenderWhoseReceiverDoesNotRead) {
  start({.round_trip_ns = 0, .bytes_per_second = 1e9});
  const base::Fd client = connect_to(relay_->port());
  const base::Fd server = accept();
  const std::string text = some_text(100'000'000);
  const timeval patience{.tv_sec = 0, .tv_usec = 500'000};
  ::setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t bytes = ::send(client.get(), text.data() + sent,
                                 std::min<std::size_t>(65'536, text.size() - sent), MSG_NOSIGNAL);
    if (bytes <= 0) break;
    sent += static_cast<std::size_t>(bytes);
  }
  EXPECT_LT(sent, text.size());
  ::shutdown(client.get(), SHUT_WR);
  EXPECT_EQ(receive(server.get(), SIZE_MAX), text.substr(0, sent));
}

TEST_F(RelayTest, PassesAResetOn) {
  start({.round_trip_ns = 0});
  base::Fd client = connect_to(relay_->port());
  send_all(client.get(), "?");
  const base::Fd server = accept();
  EXPECT_EQ(receive(server.get(), 1), "?");
  constexpr linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  client.close();
  char byte = 0;
  EXPECT_EQ(::recv(server.get(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TEST_F(RelayTest, ResetsAClientWhoseTargetRefuses) {
  start({.round_trip_ns = 1'000'000});
  target_.close();
  const base::Fd client = connect_to(relay_->port());
  char byte = 0;
  EXPECT_EQ(::recv(client.get(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

}  // namespace relay_test
}  // namespace h2server::lab::relay
