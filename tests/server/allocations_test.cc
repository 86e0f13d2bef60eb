// A warm worker answers GETs of cached files without allocating.
//
// This file replaces the global operator new of the whole test program by one that counts, for a
// thread that has asked for it. Sanitizers have replaced it already.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "content/static_files.h"
#include "content/support.h"
#include "h2server/server.h"
#include "server/client.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define H2SERVER_COUNTS_ALLOCATIONS 0
#else
#define H2SERVER_COUNTS_ALLOCATIONS 1
#endif

namespace {

thread_local bool counting = false;
thread_local std::size_t allocations = 0;

}  // namespace

#if H2SERVER_COUNTS_ALLOCATIONS

namespace {

void* allocate(std::size_t size, std::size_t alignment) {
  if (counting) ++allocations;
  void* const memory =
      alignment == 0
          ? std::malloc(size == 0 ? 1 : size)
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// The array and nothrow forms call these.
void* operator new(std::size_t size) { return allocate(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#endif

namespace h2server {
namespace {

using tests::Client;

constexpr int requests = 100;

// An HTTP/2 client that knows no more than it has to: it sends GETs and looks for the ends of
// streams (RFC 9113, 4.1 and 6; RFC 7541, 6).
class Http2Client {
 public:
  explicit Http2Client(std::uint16_t port) : client_(port) {
    std::string opening = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    opening += frame(settings, 0, 0, "");
    opening += frame(settings, acknowledged, 0, "");
    opening += frame(window_update, 0, 0, std::string("\x3f\x00\x00\x00", 4));
    client_.send(opening);
  }

  // All of them in one write.
  void ask(const std::vector<std::string>& targets) {
    std::string frames;
    for (const std::string& target : targets) {
      std::string fields = "\x82\x86\x01\x01h";  // :method GET, :scheme http, :authority h
      fields += '\x04';                          // :path, not indexed
      fields += static_cast<char>(target.size());
      fields += target;
      frames += frame(headers, end_stream | end_headers, next_stream_, fields);
      next_stream_ += 2;
      ++open_;
    }
    client_.send(frames);
  }

  // The bodies one after another, once every stream has ended.
  std::string receive() {
    std::string bodies;
    while (open_ > 0) {
      const std::string head = client_.take(9);
      if (head.size() < 9) break;
      const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(head[at]); };
      const std::string payload = client_.take((byte(0) * 256UL + byte(1)) * 256 + byte(2));
      if (byte(3) == data) bodies += payload;
      EXPECT_NE(byte(3), rst_stream);
      if (byte(3) == rst_stream) break;
      if (byte(3) <= headers && (byte(4) & end_stream) != 0) --open_;
    }
    EXPECT_EQ(open_, 0);
    return bodies;
  }

  std::string get(const std::string& target) {
    ask({target});
    return receive();
  }

 private:
  enum Type : unsigned char {
    data = 0,
    headers = 1,
    rst_stream = 3,
    settings = 4,
    window_update = 8
  };
  enum Flag : unsigned char { end_stream = 1, acknowledged = 1, end_headers = 4 };

  static std::string frame(Type type, int flags, unsigned stream, const std::string& payload) {
    std::string bytes;
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> shift & 0xff);
    bytes += static_cast<char>(type);
    bytes += static_cast<char>(flags);
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift & 0xff);
    return bytes + payload;
  }

  Client client_;
  unsigned next_stream_ = 1;
  int open_ = 0;
};

class Allocations : public testing::Test {
 protected:
  void SetUp() override {
    if (!H2SERVER_COUNTS_ALLOCATIONS) GTEST_SKIP() << "sanitizers replace operator new, too";
    // Names longer than a std::string holds without allocating.
    directory_.write_settled(small_, std::string(600, 's'));
    directory_.write_settled(large_, std::string(40'000, 'l'));
    directory_.write_settled("a_rather_long_directory/index.html", "index");
    server_.emplace(tests::cleartext());
    // So long that the cache never looks at the file system again.
    const auto folder =
        *content::Folder::open(directory_.path(), {.fresh_ms = std::int64_t{1} << 60});
    server_->add_handler(GET, "/{path...}", content::static_files(folder));
    server_->add_handler(GET, "/count/on", [](Request&) {
      Response response(200, "on");
      allocations = 0;
      counting = true;
      return response;
    });
    server_->add_handler(GET, "/count/off", [](Request&) {
      counting = false;
      return Response(200, std::to_string(allocations));
    });
    server_->add_handler(GET, "/allocate",
                         [](Request&) { return Response(200, std::string(allocated_, 'x')); });
    ASSERT_TRUE(server_->start());
  }

  // What the worker's thread allocates while `exchange` runs: the least of several times, since
  // what grows once, by chance of how the bytes arrive, keeps its size. What each request costs
  // stays.
  template <class Exchange>
  int count(Exchange exchange) {
    constexpr int rounds_max = 10;
    Client control(tests::port_of(*server_));
    int least = std::numeric_limits<int>::max();
    for (int round = 0; round < rounds_max && least > 0; ++round) {
      EXPECT_EQ(control.get("/count/on").body, "on");
      exchange();
      const tests::Reply counted = control.get("/count/off");
      if (counted.status != 200) break;
      least = std::min(least, std::stoi(counted.body));
    }
    return least;
  }

  static constexpr std::size_t allocated_ = 100;
  const std::string small_ = "a_file_with_a_long_name.txt";
  const std::string large_ = "a_larger_file_with_a_long_name.txt";
  tests::TemporaryDirectory directory_;
  std::optional<Server> server_;
};

// Else the zeros below would mean nothing.
TEST_F(Allocations, AreSeen) {
  Client client(tests::port_of(*server_));
  const auto exchange = [&] { EXPECT_EQ(client.get("/allocate").body.size(), allocated_); };
  EXPECT_GE(count(exchange), 1);
}

TEST_F(Allocations, NoneOverHttp11) {
  Client client(tests::port_of(*server_));
  struct Row {
    std::string target;
    std::size_t size;
  };
  const std::vector<Row> rows = {{"/" + small_, 600}, {"/" + large_, 40'000}};
  for (const Row& row : rows) {
    const auto exchange = [&] {
      for (int i = 0; i < requests; ++i) {
        ASSERT_EQ(client.get(row.target).body.size(), row.size);
      }
    };
    EXPECT_EQ(count(exchange), 0) << row.target;
  }
}

TEST_F(Allocations, NoneOverHttp11Pipelined) {
  Client client(tests::port_of(*server_));
  std::string batch;
  for (int i = 0; i < requests; ++i) {
    batch += "GET /" + small_ + " HTTP/1.1\r\nHost: test\r\nAccept: text/plain\r\n\r\n";
  }
  const auto exchange = [&] {
    client.send(batch);
    for (int i = 0; i < requests; ++i) ASSERT_EQ(client.receive().body.size(), 600U);
  };
  EXPECT_EQ(count(exchange), 0);
}

TEST_F(Allocations, NoneForTheIndexOfADirectory) {
  Client client(tests::port_of(*server_));
  const auto exchange = [&] {
    for (int i = 0; i < requests; ++i) {
      ASSERT_EQ(client.get("/a_rather_long_directory/").body, "index");
    }
  };
  EXPECT_EQ(count(exchange), 0);
}

// The parser's list of lines and the chain's of pieces.
TEST_F(Allocations, FewForANewConnection) {
  const auto exchange = [&] {
    for (int i = 0; i < requests; ++i) {
      Client client(tests::port_of(*server_));
      ASSERT_EQ(client.get("/" + small_).body.size(), 600U);
    }
  };
  EXPECT_LE(count(exchange), 2 * requests);
}

// Of our own; what nghttp2 takes from malloc() does not show.
TEST_F(Allocations, NoneOverHttp2) {
  Http2Client client(tests::port_of(*server_));
  const auto exchange = [&] {
    for (int i = 0; i < requests; ++i) ASSERT_EQ(client.get("/" + small_).size(), 600U);
  };
  EXPECT_EQ(count(exchange), 0);
}

TEST_F(Allocations, NoneOverHttp2ManyStreamsAtOnce) {
  Http2Client client(tests::port_of(*server_));
  const std::vector<std::string> targets(requests, "/" + large_);
  const auto exchange = [&] {
    client.ask(targets);
    ASSERT_EQ(client.receive().size(), 40'000U * requests);
  };
  EXPECT_EQ(count(exchange), 0);
}

}  // namespace
}  // namespace h2server
