#include "net/tcp_transport.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "io/support.h"

namespace h2server::net {
namespace tcp_transport_test {

constexpr std::uint32_t timeout_ms = 60'000;

struct Connection {
  base::Fd server;
  base::Fd client;
};

Connection connect_over_loopback() {
  const base::Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  Connection made;
  made.client = base::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int small = 64 * 1024;  // makes the server wait
  ::setsockopt(made.client.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  EXPECT_EQ(::connect(made.client.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  made.server = base::Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  return made;
}

std::string read_all(int connection) {
  std::string all;
  std::string room(256 * 1024, '\0');
  for (ssize_t size; (size = ::recv(connection, room.data(), room.size(), 0)) > 0;) {
    all.append(room.data(), static_cast<std::size_t>(size));
  }
  return all;
}

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

base::Fd file_of(const std::string& content) {
  base::Fd file(::memfd_create("content", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), content.data(), content.size()),
            static_cast<ssize_t>(content.size()));
  return file;
}

class TcpTransportTest : public io::EngineFixture,
                         public testing::WithParamInterface<io::EngineKind> {
 protected:
  TcpTransportTest() : EngineFixture(io::open_engine_here(GetParam())) {
    Connection made = connect_over_loopback();
    transport_.emplace(*engine_, std::move(made.server));
    client_ = std::move(made.client);
  }

  // Writes "head", `content` from `descriptor`, and "end". Stores what the client receives in
  // `received` and returns the error code, or 0.
  int write_around(const std::string& content, int descriptor, std::string& received) {
    int error = 0;
    std::thread reader([&] { received = read_all(client_.get()); });
    const auto writes = [&]() -> Task<void> {
      base::BufferChain bytes;
      base::Pace pace = base::Pace::deadline(timeout_ms);
      bytes.append("head");
      bytes.append_mapped(content, descriptor, 0, nullptr);
      bytes.append("end");
      const Result<void> written = co_await transport_->write(bytes, pace);
      if (!written) error = written.error().code;
      transport_.reset();
    };
    run(writes());
    reader.join();
    return error;
  }

  std::optional<TcpTransport> transport_;
  base::Fd client_;
};

TEST_P(TcpTransportTest, SendsAFileBetweenOtherBytes) {
  const std::string content = pattern(7'000'000);
  const base::Fd file = file_of(content);
  std::string received;
  EXPECT_EQ(write_around(content, file.get(), received), 0);
  EXPECT_TRUE(received == "head" + content + "end");
}

TEST_P(TcpTransportTest, SendsTheBytesThemselvesWhereTheFileCannotBe) {
  const std::string content = pattern(1'000'000);
  const base::Fd unfit(::eventfd(0, EFD_CLOEXEC));
  std::string received;
  EXPECT_EQ(write_around(content, unfit.get(), received), 0);
  EXPECT_TRUE(received == "head" + content + "end");
}

TEST_P(TcpTransportTest, AFileThatHasShrunkIsAnError) {
  const std::string content = pattern(1'000'000);
  const base::Fd file = file_of(content.substr(0, 500'000));
  std::string received;
  EXPECT_EQ(write_around(content, file.get(), received), ENODATA);
  EXPECT_TRUE(received == "head" + content.substr(0, 500'000));
}

TEST_P(TcpTransportTest, APeerThatLeavesAFileIsAnErrorAndNoSignal) {
  const std::string content = pattern(50'000'000);
  const base::Fd file = file_of(content);
  client_.close();
  int error = 0;
  const auto writes = [&]() -> Task<void> {
    base::BufferChain bytes;
    base::Pace pace = base::Pace::deadline(timeout_ms);
    bytes.append_mapped(content, file.get(), 0, nullptr);
    const Result<void> written = co_await transport_->write(bytes, pace);
    error = written ? 0 : written.error().code;
  };
  run(writes());
  EXPECT_TRUE(error == EPIPE || error == ECONNRESET) << error;
  transport_.reset();
}

TEST_P(TcpTransportTest, KnowsWhatThePeerHas) {
  std::vector<bool> answers;
  const auto writes = [&]() -> Task<void> {
    base::BufferChain bytes;
    base::Pace pace = base::Pace::deadline(timeout_ms);
    bytes.append("all of this arrives");
    const Result<void> written = co_await transport_->write(bytes, pace);
    EXPECT_TRUE(written.has_value());
    const bool small = co_await transport_->acknowledged(0, timeout_ms);
    answers.push_back(small);
    // More than the peer's buffer holds, less than the server's socket buffer holds.
    bytes.append(pattern(1'000'000));
    pace = base::Pace::deadline(100);
    static_cast<void>(co_await transport_->write(bytes, pace));
    const bool all = co_await transport_->acknowledged(0, 100);
    answers.push_back(all);
    const bool enough = co_await transport_->acknowledged(10'000'000, 100);
    answers.push_back(enough);
    const struct linger reset{1, 0};
    ::setsockopt(client_.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    client_.close();
    const bool gone = co_await transport_->acknowledged(0, timeout_ms);
    answers.push_back(gone);
  };
  run(writes());
  EXPECT_EQ(answers, std::vector<bool>({true, false, true, false}));
  transport_.reset();
}

INSTANTIATE_TEST_SUITE_P(Engines, TcpTransportTest, testing::ValuesIn(io::engines_here()),
                         io::engine_name);

}  // namespace tcp_transport_test
}  // namespace h2server::net
