#include "content/cache/object_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "content/files/store_files.h"
#include "content/memory_store.h"
#include "content/support.h"
#include "file/support.h"
#include "h2server/completion.h"
#include "h2server/server.h"
#include "h2server/test_client.h"

namespace h2server::content {
namespace object_cache_test {

using Kind = StoreError::Kind;
using Load = ObjectCache::Load;
using file::Lookup;
using tests::bytes_of;
using Calls = std::vector<std::string>;

constexpr std::int64_t hour_ms = 3'600'000;
constexpr ObjectCacheLimits kept_long{.fresh_ms = hour_ms, .object_bytes_max = 100};

http::MediaTypesRef built_in_types() { return std::make_shared<const http::MediaTypes>(); }

class ObjectCacheTest : public testing::Test {
 protected:
  ObjectCacheTest() { use(kept_long); }

  void use(const ObjectCacheLimits& limits) {
    objects_.reset();
    objects_.emplace(store_, built_in_types(), limits, cache_, budget_);
  }
  void put(const std::string& key, std::string bytes, std::string tag = "\"t\"") {
    store_->objects[key] = {std::move(bytes), {.etag = std::move(tag), .modified_s = 784111777}};
  }
  StoreResult<ObjectCache::Found> find(std::string key, Load load = Load::yes) {
    store_->calls.clear();
    return tests::run_now(objects_->find(std::move(key), load));
  }
  // Returns null if there is no file.
  FileRef file(std::string key) {
    StoreResult<ObjectCache::Found> found = find(std::move(key));
    return found ? std::move(found->file) : nullptr;
  }
  // Of what is fresh.
  std::optional<Lookup::Kind> known(std::string_view key) {
    const std::optional<Lookup> lookup = objects_->known(key);
    return lookup ? std::optional(lookup->kind) : std::nullopt;
  }
  void wait_until_stale(std::string_view key) {
    while (objects_->known(key)) std::this_thread::yield();
  }

  const std::shared_ptr<tests::MemoryStore> store_ = std::make_shared<tests::MemoryStore>();
  file::Cache cache_;
  CopyBudget budget_{1000};
  std::optional<ObjectCache> objects_;
};

TEST_F(ObjectCacheTest, KeepsSmallObjects) {
  for (const std::size_t size : {0U, 1U, 100U, 101U}) {
    const bool small = size <= 100;
    const std::string key = "of-" + std::to_string(size) + ".txt";
    put(key, std::string(size, 'x'));
    const StoreResult<ObjectCache::Found> first = find(key);
    ASSERT_TRUE(first.has_value()) << size;
    EXPECT_EQ(store_->calls, Calls{"get " + key});
    EXPECT_EQ(first->file != nullptr, small) << size;
    EXPECT_EQ(first->opened.has_value(), !small) << "for the caller to send";
    EXPECT_EQ(known(key), small ? Lookup::Kind::file : Lookup::Kind::unkept);
    const StoreResult<ObjectCache::Found> second = find(key);
    EXPECT_EQ(store_->calls, Calls());
    EXPECT_EQ(second->file, first->file);
    EXPECT_FALSE(second->opened.has_value()) << "the caller asks for it as its client does";
    if (!small) continue;
    EXPECT_EQ(bytes_of(*first->file), std::string(size, 'x'));
    EXPECT_EQ(first->file->etag(), "\"t\"");
    EXPECT_EQ(first->file->content_type(), "text/plain; charset=utf-8");
  }
}

TEST_F(ObjectCacheTest, ComparesWhatIsStale) {
  use({.fresh_ms = 1});
  put("a", "content");
  const FileRef first = file("a");
  wait_until_stale("a");
  EXPECT_EQ(find("a", Load::no)->file, first) << "304: the same";
  EXPECT_EQ(store_->calls, Calls{"get a"});
  wait_until_stale("a");
  put("a", "changed", "\"u\"");
  const FileRef second = file("a");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(bytes_of(*second), "changed");
  EXPECT_EQ(bytes_of(*first), "content") << "it lives as long as it is being sent";
  EXPECT_EQ(store_->calls, Calls{"get a"});
  wait_until_stale("a");
  // The same content, with other fields.
  store_->objects["a"].info.modified_s += 1;
  store_->objects["a"].info.fields = {{"Cache-Control", "no-store"}};
  const FileRef third = file("a");
  EXPECT_EQ(store_->calls, (Calls{"get a", "get a"}));
  EXPECT_NE(third, second);
  wait_until_stale("a");
  store_->objects.erase("a");
  EXPECT_EQ(find("a").error().kind, Kind::absent);
}

TEST_F(ObjectCacheTest, ObjectsWithoutTagsAreReadAgain) {
  use({.fresh_ms = 1});
  put("a", "content", "");
  const FileRef first = file("a");
  wait_until_stale("a");
  const FileRef second = file("a");
  ASSERT_NE(second, nullptr);
  EXPECT_NE(second, first);
  EXPECT_EQ(second->etag(), "");
}

TEST_F(ObjectCacheTest, RemembersFolders) {
  put("sub/a", "x");
  for (const auto& [key, is_folder] : {std::pair("sub", true), {"gone", false}}) {
    for (const Calls& calls : {Calls{"list " + std::string(key) + "/"}, Calls()}) {
      store_->calls.clear();
      EXPECT_EQ(tests::run_now(objects_->is_folder(key)), is_folder);
      EXPECT_EQ(store_->calls, calls);
    }
  }
  EXPECT_EQ(known("sub/"), Lookup::Kind::directory);
  store_->failure = StoreError{.kind = Kind::failed};
  EXPECT_FALSE(tests::run_now(objects_->is_folder("other")));
  EXPECT_EQ(known("other/"), std::nullopt);
}

TEST_F(ObjectCacheTest, HasNoAnswerWhenTheStoreHasNone) {
  use({.fresh_ms = 1, .stale_ms = hour_ms});
  put("a", "content");
  const FileRef first = file("a");
  for (const Kind kind : {Kind::denied, Kind::busy, Kind::late, Kind::stopped, Kind::failed}) {
    wait_until_stale("a");
    store_->failure = StoreError{.kind = kind};
    const StoreResult<ObjectCache::Found> found = find("a");
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.error().kind, kind);
    EXPECT_EQ(known("a"), std::nullopt);
    store_->failure.reset();
    EXPECT_EQ(file("a"), first);
  }
}

// A store that sends another count of bytes than it says.
class LyingStore final : public Store {
 public:
  explicit LyingStore(std::string bytes) : bytes_(std::move(bytes)) {}
  Task<StoreResult<OpenedObject>> get(std::string, GetOptions) override {
    OpenedObject opened{.info = {.size = 10}, .count = count};
    opened.body = std::make_unique<tests::FakeBody>(std::vector{bytes_});
    co_return opened;
  }
  Task<StoreResult<ObjectInfo>> head(std::string, GetOptions) override {
    co_return std::unexpected(StoreError());
  }
  Task<StoreResult<ListPage>> list(ListOptions) override {
    co_return std::unexpected(StoreError());
  }

  std::uint64_t count = 10;

 private:
  const std::string bytes_;
};

TEST_F(ObjectCacheTest, KeepsNothingThatIsNotWhole) {
  put("a", "content");
  store_->body_failure = Error{ECONNRESET, "test"};
  EXPECT_EQ(find("a").error().kind, Kind::failed);
  store_->body_failure = Error{ECANCELED, "test"};
  EXPECT_EQ(find("a").error().kind, Kind::stopped);
  EXPECT_EQ(known("a"), std::nullopt);
  for (const std::string bytes : {"123456789", "12345678901"}) {
    ObjectCache objects(std::make_shared<LyingStore>(bytes), built_in_types(), kept_long, cache_,
                        budget_);
    EXPECT_EQ(tests::run_now(objects.find("a", Load::yes)).error().kind, Kind::failed) << bytes;
  }
  const auto part = std::make_shared<LyingStore>("12345");
  part->count = 5;
  ObjectCache objects(part, built_in_types(), kept_long, cache_, budget_);
  EXPECT_EQ(tests::run_now(objects.find("a", Load::yes)).error().kind, Kind::failed);
  EXPECT_EQ(budget_.used(), 0U);
}

// As for a response that is made of them. What throws holds up nobody.
TEST_F(ObjectCacheTest, FieldsThatCanNotBeSent) {
  put("a", "content");
  store_->objects["a"].info.fields = {{"Cache-Control", "a\r\nSet-Cookie: b"}};
  Server server;
  server.get("/{path...}", [this](Request& request) -> Task<Response> {
    StoreResult<ObjectCache::Found> found =
        co_await objects_->find(std::string(request.param("path")), Load::yes);
    co_return request.reply_ok_with_file(std::move(found->file));
  });
  TestClient client(server);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.get("/a").status, 500);
  EXPECT_EQ(budget_.used(), 0U);
  EXPECT_EQ(known("a"), std::nullopt);
}

TEST_F(ObjectCacheTest, IsBounded) {
  for (int i = 0; i < 20; ++i) put(std::to_string(i), std::string(90, 'x'));
  std::vector<FileRef> sent;
  for (int i = 0; i < 20; ++i) {
    const StoreResult<ObjectCache::Found> found = find(std::to_string(i));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->file != nullptr, i < 11) << i;
    EXPECT_EQ(found->opened.has_value(), i >= 11) << i << ": sent without being kept";
    sent.push_back(found->file);
  }
  EXPECT_EQ(budget_.used(), 990U);
  objects_.reset();
  EXPECT_EQ(cache_.entries(), 0U);
  EXPECT_EQ(budget_.used(), 990U) << "they are being sent";
  sent.clear();
  EXPECT_EQ(budget_.used(), 0U);
}

TEST_F(ObjectCacheTest, SharesTheBoundOfTheFileCache) {
  file::Cache small({.bytes_max = 300});
  ObjectCache objects(store_, built_in_types(), kept_long, small, budget_);
  for (int i = 0; i < 20; ++i) {
    put(std::to_string(i), std::string(90, 'x'));
    EXPECT_NE(tests::run_now(objects.find(std::to_string(i), Load::yes))->file, nullptr);
    EXPECT_LE(small.bytes(), 300U);
  }
  EXPECT_EQ(budget_.used(), 270U);
}

TEST_F(ObjectCacheTest, KeepsNothingIfNothingIsFresh) {
  use({.fresh_ms = 0});
  put("sub/a", "content");
  const StoreResult<ObjectCache::Found> found = find("sub/a");
  EXPECT_TRUE(found.has_value() && found->file == nullptr && !found->opened);
  EXPECT_EQ(store_->calls, Calls());
  EXPECT_TRUE(tests::run_now(objects_->is_folder("sub")));
  EXPECT_EQ(cache_.entries(), 0U);
}

// --- several requests ---------------------------------------------------------------------------

// A store with one object, at all keys. A get() for which `gated` is set waits for `open`.
class GatedStore final : public Store {
 public:
  Task<StoreResult<OpenedObject>> get(std::string, GetOptions options) override {
    ++gets;
    if (gated) {
      Completion<void> gate;
      open.emplace(gate.completer());
      const Result<void> opened = co_await gate;
      if (!opened) co_return std::unexpected(StoreError{.kind = Kind::stopped});
    }
    if (failure) co_return std::unexpected(*failure);
    if (options.conditions.if_none_match == tag) {
      co_return std::unexpected(StoreError{.kind = Kind::not_modified});
    }
    OpenedObject answer{.info = {.size = 7, .etag = tag}, .count = 7};
    answer.body = std::make_unique<tests::FakeBody>(std::vector<std::string>{"con", "tent"});
    co_return answer;
  }
  Task<StoreResult<ObjectInfo>> head(std::string, GetOptions) override {
    co_return std::unexpected(StoreError());
  }
  Task<StoreResult<ListPage>> list(ListOptions) override { co_return ListPage(); }

  bool gated = true;
  int gets = 0;
  std::optional<Completer<void>> open = {};
  std::optional<StoreError> failure = {};
  std::string tag = "\"t\"";
};

class SharedLoads : public testing::Test {
 protected:
  // Routes all paths to a cache with these limits.
  TestClient& serve(const ObjectCacheLimits& limits) {
    objects_ = std::make_shared<ObjectCache>(store_, built_in_types(), limits);
    server_.get("/{path...}", [objects = objects_](Request& request) -> Task<Response> {
      StoreResult<ObjectCache::Found> found =
          co_await objects->find(std::string(request.param("path")), Load::yes);
      if (!found) co_return Response(502);
      if (found->file == nullptr) co_return Response::text("ask");
      co_return request.reply_ok_with_file(std::move(found->file));
    });
    return client_.emplace(server_);
  }
  void wait_until_stale() {
    while (objects_->known("a")) std::this_thread::yield();
  }

  const std::shared_ptr<GatedStore> store_ = std::make_shared<GatedStore>();
  std::shared_ptr<ObjectCache> objects_;
  Server server_;
  std::optional<TestClient> client_;
};

TEST_F(SharedLoads, OneForAll) {
  TestClient& client = serve({.fresh_ms = hour_ms});
  std::vector<TestExchange> exchanges;
  for (int i = 0; i < 5; ++i) exchanges.push_back(client.open({.target = "/a"}));
  EXPECT_EQ(store_->gets, 1);
  (*store_->open)();
  for (TestExchange& exchange : exchanges) EXPECT_EQ(exchange.rest().body, "content");
  EXPECT_EQ(client.get("/a").body, "content");
  EXPECT_EQ(store_->gets, 1);
}

TEST_F(SharedLoads, OneFailureForAll) {
  TestClient& client = serve({.fresh_ms = hour_ms});
  TestExchange first = client.open({.target = "/a"});
  TestExchange second = client.open({.target = "/a"});
  store_->failure = StoreError{.kind = Kind::failed};
  (*store_->open)();
  EXPECT_EQ(first.rest().status, 502);
  EXPECT_EQ(second.rest().status, 502);
  EXPECT_EQ(store_->gets, 1);
}

TEST_F(SharedLoads, GoOnWhenTheFirstClientLeaves) {
  TestClient& client = serve({.fresh_ms = hour_ms});
  auto first = std::make_optional(client.open({.target = "/a"}));
  TestExchange second = client.open({.target = "/a"});
  TestExchange third = client.open({.target = "/a"});
  store_->gated = false;
  first.reset();
  EXPECT_EQ(second.rest().body, "content");
  EXPECT_EQ(third.rest().body, "content");
  EXPECT_EQ(store_->gets, 2);
}

TEST_F(SharedLoads, TheFirstGoesOnWhenOthersLeave) {
  TestClient& client = serve({.fresh_ms = hour_ms});
  TestExchange first = client.open({.target = "/a"});
  static_cast<void>(client.open({.target = "/a"}));
  (*store_->open)();
  EXPECT_EQ(first.rest().body, "content");
}

TEST_F(SharedLoads, AreNotSharedForLong) {
  TestClient& client = serve({.fresh_ms = hour_ms, .share_ms = 0});
  TestExchange first = client.open({.target = "/a"});
  store_->gated = false;
  EXPECT_EQ(client.get("/a").body, "content");
  EXPECT_EQ(store_->gets, 2);
  (*store_->open)();
  EXPECT_EQ(first.rest().body, "content");
}

TEST_F(SharedLoads, OthersAreAnsweredWhileOneCompares) {
  TestClient& client = serve({.fresh_ms = 1, .stale_ms = hour_ms, .share_ms = hour_ms});
  store_->gated = false;
  EXPECT_EQ(client.get("/a").body, "content");
  wait_until_stale();
  store_->gated = true;
  TestExchange first = client.open({.target = "/a"});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.get("/a").body, "content");
  EXPECT_EQ(store_->gets, 2);
  (*store_->open)();
  EXPECT_EQ(first.rest().body, "content");
}

TEST_F(SharedLoads, OthersWaitForWhatIsTooOld) {
  TestClient& client = serve({.fresh_ms = 1, .stale_ms = 0, .share_ms = hour_ms});
  store_->gated = false;
  EXPECT_EQ(client.get("/a").body, "content");
  wait_until_stale();
  store_->gated = true;
  store_->failure = StoreError{.kind = Kind::late};
  TestExchange first = client.open({.target = "/a"});
  TestExchange second = client.open({.target = "/a"});
  (*store_->open)();
  EXPECT_EQ(first.rest().status, 502);
  EXPECT_EQ(second.rest().status, 502) << "nothing that is older";
  EXPECT_EQ(store_->gets, 2);
}

// --- several workers ----------------------------------------------------------------------------

// A store whose objects change all the time. Their content is their tag.
class ChangingStore final : public Store {
 public:
  Task<StoreResult<OpenedObject>> get(std::string key, GetOptions options) override {
    const int count = gets.fetch_add(1);
    const std::string tag = "\"" + key + std::to_string(count / 3) + "\"";
    if (options.conditions.if_none_match == tag) {
      co_return std::unexpected(StoreError{.kind = Kind::not_modified});
    }
    if (count % 7 == 0) co_return std::unexpected(StoreError{.kind = Kind::absent});
    OpenedObject opened{.info = {.size = tag.size(), .etag = tag}, .count = tag.size()};
    opened.body = std::make_unique<tests::FakeBody>(std::vector{tag});
    co_return opened;
  }
  Task<StoreResult<ObjectInfo>> head(std::string, GetOptions) override {
    co_return std::unexpected(StoreError());
  }
  Task<StoreResult<ListPage>> list(ListOptions) override { co_return ListPage(); }

  std::atomic<int> gets{0};
};

TEST(ObjectCacheWorkers, ServeWholeObjects) {
  constexpr int rounds = 2000;
  const auto store = std::make_shared<ChangingStore>();
  const Handler handler = store_files(store, {.fresh = std::chrono::milliseconds(1)});
  std::array<std::thread, 4> workers;
  std::atomic<int> served{0};
  for (std::thread& worker : workers) {
    worker = std::thread([&handler, &served] {
      Server server;
      server.get("/{path...}", handler);
      TestClient client(server);
      for (int i = 0; i < rounds; ++i) {
        const TestResponse response = client.get("/key" + std::to_string(i % 3));
        if (response.status == 404) continue;
        EXPECT_EQ(response.body, response.field("etag").value_or(""));
        served.fetch_add(1);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_GT(served.load(), 0);
  EXPECT_LT(store->gets.load(), 4 * rounds);
}

}  // namespace object_cache_test
}  // namespace h2server::content
