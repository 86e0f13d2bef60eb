// A warm worker answers GETs of cached files without allocating.
//
// Replaces the global operator new of the whole test program. The new one counts the allocations of
// a thread that asks for it. Sanitizers replace operator new themselves.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "base/sanitizers.h"
#include "content/files/encoded_files.h"
#include "content/files/static_files.h"
#include "content/support.h"
#include "h2server/server.h"
#include "http/file_head.h"
#include "server/client.h"
#include "server/http2_client.h"

namespace {

thread_local bool counting = false;
thread_local std::size_t allocations = 0;

}  // namespace

#if !H2SERVER_SANITIZED

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
using tests::Http2Client;

constexpr int requests = 100;

class Allocations : public testing::Test {
 protected:
  void SetUp() override {
    if (H2SERVER_SANITIZED) GTEST_SKIP() << "sanitizers replace operator new, too";
    // Too long for std::string's inline buffer.
    directory_.write_settled(small_, std::string(600, 's'));
    directory_.write_settled(large_, std::string(40'000, 'l'));
    directory_.write_settled("a_rather_long_directory/index.html", "index");
    server_.emplace(tests::cleartext());
    // So long that the cache never checks the file system again.
    const auto folder = *file::Folder::open(
        directory_.path(), {.make_file = http::make_file, .fresh_ms = std::int64_t{1} << 60});
    server_->add_handler(GET, "/{path...}", content::static_files(folder));
    add_encoded();
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
    Routes wrapped = server_->group("/wrapped");
    for (int i = 0; i < 5; ++i) {
      wrapped.use(Middleware([](Request&) -> std::optional<Response> { return std::nullopt; },
                             [](Request&, Response&) {}));
    }
    wrapped.get("/{path...}", [](Request&) { return Response(204); });
    ASSERT_TRUE(server_->start());
  }

  void add_encoded() {
    const auto folder = *file::Folder::open(
        directory_.path(),
        {.make_file = content::make_negotiated_file, .fresh_ms = std::int64_t{1} << 60});
    const auto files = std::make_shared<const content::EncodedFiles>(folder);
    server_->add_handler(
        GET, "/encoded/{path...}",
        Handler(
            [folder, files](Request& request) -> std::optional<Response> {
              const std::string_view path = request.param("path");
              const auto found = folder->known(path);
              return found ? files->known(request, path, found->file) : std::nullopt;
            },
            [folder, files](Request& request) { return find(*folder, *files, request); }));
  }
  static Task<Response> find(const file::Folder& folder, const content::EncodedFiles& files,
                             Request& request) {
    std::string path(request.param("path"));
    const file::Lookup found = co_await folder.find(path);
    Response response = co_await files.find(request, std::move(path), found.file);
    co_return std::move(response);
  }

  // Returns the number of allocations on the worker's thread during `exchange`. Takes the minimum
  // of several rounds: buffers that grow once, depending on how the bytes arrive, keep their size,
  // but allocations per request recur.
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

// Shows that the counter works.
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

TEST_F(Allocations, NoneForFilesInACoding) {
  directory_.write_settled("sibling_of_a_long_name.txt", std::string(3000, 's'));
  directory_.write_settled("sibling_of_a_long_name.txt.br",
                           content::compress(std::string(3000, 's'), content::Coding::br));
  Client client(tests::port_of(*server_));
  struct Row {
    std::string file;
    std::string accept;
    std::string coding;
  };
  const std::vector<Row> rows = {{large_, "gzip, deflate, br, zstd", "zstd"},
                                 {large_, "gzip, deflate, br", "br"},
                                 {large_, "gzip", "gzip"},
                                 {"sibling_of_a_long_name.txt", "gzip, deflate, br, zstd", "br"}};
  for (const Row& row : rows) {
    const std::string request = "GET /encoded/" + row.file +
                                " HTTP/1.1\r\nHost: a\r\nAccept-Encoding: " + row.accept +
                                "\r\n\r\n";
    const auto exchange = [&] {
      for (int i = 0; i < requests; ++i) {
        client.send(request);
        ASSERT_TRUE(client.receive().says("Content-Encoding: " + row.coding));
      }
    };
    EXPECT_EQ(count(exchange), 0) << row.file << " " << row.accept;
  }
}

TEST_F(Allocations, NoneForPlainMiddleware) {
  Client client(tests::port_of(*server_));
  const auto exchange = [&] {
    for (int i = 0; i < requests; ++i) ASSERT_EQ(client.get("/wrapped/x").status, 204);
  };
  EXPECT_EQ(count(exchange), 0);
}

// Two per connection: the parser's list of lines and the chain's list of pieces.
TEST_F(Allocations, FewForANewConnection) {
  const auto exchange = [&] {
    for (int i = 0; i < requests; ++i) {
      Client client(tests::port_of(*server_));
      ASSERT_EQ(client.get("/" + small_).body.size(), 600U);
    }
  };
  EXPECT_LE(count(exchange), 2 * requests);
}

// Without nghttp2's own, which uses malloc() directly.
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
