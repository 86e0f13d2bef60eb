#include "content/files/store_files.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "content/files/store_listings.h"
#include "content/store_files_support.h"
#include "content/support.h"
#include "h2server/completion.h"
#include "h2server/server.h"
#include "h2server/test_client.h"

namespace h2server::content {
namespace store_files_test {

using Kind = StoreError::Kind;
using tests::Asked;
using tests::body_of;
using tests::Calls;
using tests::Conditional;
using tests::conditional;
using tests::date;
using tests::earlier;
using tests::field_of;
using tests::name_of;

class StoreFiles : public tests::StoreFilesTest {};

TEST_F(StoreFiles, Targets) {
  struct Row {
    std::string_view target;
    int status;
    std::string body;
  };
  const std::vector<Row> rows = {
      {"/", 200, "<h1>root"},
      {"/?x=/sub", 200, "<h1>root"},
      {"/index.html", 200, "<h1>root"},
      {"/a.txt", 200, "0123456789"},
      {"/a.txt?x", 200, "0123456789"},
      {"/%61.txt", 200, "0123456789"},
      {"/./a.txt", 200, "0123456789"},
      {"http://host/a.txt", 200, "0123456789"},
      {"/sub/", 200, "<h1>sub"},
      {"/a%20b/%c3%bc.bin", 200, "ue"},
      {"/empty", 200, ""},
      {"/.well-known/x", 200, "w"},
      {"/.hidden", 404, ""},
      {"/sub/.hidden/x", 404, ""},
      {"/sub/.hidden", 404, ""},
      {"/bare/", 404, ""},  // no index, no listing
      {"/a.txt/", 404, ""},
      {"/gone", 404, ""},
      {"/gone/", 404, ""},
      {"//a.txt", 404, ""},  // a key, but none that the store has
      {"/../a.txt", 400, ""},
      {"/a.txt%00", 400, ""},
      {"/sub%2findex.html", 400, ""},
  };
  for (const Row& row : rows) {
    const Response response = ask(row.target);
    EXPECT_EQ(response.status(), row.status) << row.target;
    if (row.status == 200) {
      EXPECT_EQ(body_of(response), row.body) << row.target;
    }
  }
}

TEST_F(StoreFiles, Fields) {
  store_->objects["a.txt"].info.fields = {{"Content-Encoding", "gzip"},
                                          {"Cache-Control", "max-age=60"}};
  for (const Method method : {Method::GET, Method::HEAD}) {
    const Response response = ask("/a.txt", {}, method);
    EXPECT_EQ(field_of(response, "Content-Type"), "text/plain; charset=utf-8");
    EXPECT_EQ(field_of(response, "ETag"), "\"t\"");
    EXPECT_EQ(field_of(response, "Last-Modified"), date);
    EXPECT_EQ(field_of(response, "Accept-Ranges"), "bytes");
    EXPECT_EQ(field_of(response, "Content-Encoding"), "gzip");
    EXPECT_EQ(field_of(response, "Cache-Control"), "max-age=60");
    EXPECT_EQ(response.size(), 10U);
    EXPECT_EQ(store_->calls, Calls{method == Method::GET ? "get a.txt" : "head a.txt"});
  }
  store_->objects["a.txt"].info = {.content_type = "text/x"};
  const Response bare = ask("/a.txt");
  EXPECT_EQ(field_of(bare, "Content-Type"), "text/x");
  EXPECT_EQ(field_of(bare, "ETag"), "-");
  EXPECT_EQ(field_of(bare, "Last-Modified"), "-");
}

// RFC 9110, 8.8.2.1.
TEST_F(StoreFiles, TimesInTheFutureAreNow) {
  store_->objects["a.txt"].info.modified_s = 253402300799;
  EXPECT_NE(field_of(ask("/a.txt"), "Last-Modified"), "Fri, 31 Dec 9999 23:59:59 GMT");
}

TEST_F(StoreFiles, Downloads) {
  store_->objects["a.txt"].info.fields = {{"Content-Disposition", "inline"}};
  EXPECT_EQ(field_of(ask("/a.txt"), "Content-Disposition"), "inline");
  EXPECT_EQ(field_of(ask("/a.txt?download"), "Content-Disposition"),
            "attachment; filename=\"a.txt\"");
}

TEST_F(StoreFiles, PreconditionsAndRanges) {
  for (const Conditional& row : conditional) {
    const Response response = ask("/a.txt", row.fields);
    EXPECT_EQ(response.status(), row.status) << name_of(row);
    EXPECT_EQ(field_of(response, "Content-Range"), row.content_range) << name_of(row);
    if (row.status == 200 || row.status == 206) {
      EXPECT_EQ(body_of(response), row.body) << name_of(row);
      EXPECT_EQ(response.size(), row.body.size()) << name_of(row);
    }
    if (row.status == 304 || row.status == 206) {
      EXPECT_EQ(field_of(response, "ETag"), "\"t\"") << name_of(row);
      EXPECT_EQ(field_of(response, "Last-Modified"), date) << name_of(row);
    }
  }
}

// A Range may be ignored, an If-Range may not.
TEST_F(StoreFiles, StoresThatIgnoreWhatTheyAreAsked) {
  store_->ignores_ranges = true;
  for (const Conditional& row : conditional) {
    const Response response = ask("/a.txt", row.fields);
    const bool whole = row.body == "0123456789";  // "bytes=0-"
    EXPECT_EQ(response.status(), row.status == 206 && !whole ? 200 : row.status) << name_of(row);
  }
  store_->ignores_ranges = false;
  store_->ignores_if_match = true;
  for (const Conditional& row : conditional) {
    const Response response = ask("/a.txt", row.fields);
    EXPECT_EQ(response.status(), row.status) << name_of(row);
    EXPECT_EQ(field_of(response, "Content-Range"), row.content_range) << name_of(row);
  }
  store_->shift = 1;  // the part is not the one that was asked for
  EXPECT_EQ(body_of(ask("/a.txt", {{"range", "bytes=2-4"}})), "0123456789");
}

TEST_F(StoreFiles, WhatTheStoreIsAsked) {
  const std::vector<std::pair<std::vector<Field>, Calls>> rows = {
      {{{"range", "bytes=2-4"}}, {"get a.txt bytes=2-4"}},
      {{{"range", "bytes=2-4"}, {"if-range", "\"t\""}}, {"get a.txt bytes=2-4"}},
      {{{"range", "bytes=2-4"}, {"if-range", "\"x\""}}, {"get a.txt bytes=2-4", "get a.txt"}},
      {{{"range", "bytes=2-4"}, {"if-range", date}}, {"get a.txt"}},
      {{{"range", "bytes=2-4,6-7"}}, {"get a.txt"}},
      {{{"range", "bytes=20-"}}, {"get a.txt bytes=20-", "get a.txt"}},
  };
  for (const auto& [fields, calls] : rows) {
    EXPECT_EQ(ask("/a.txt", fields).size().has_value(), true);
    EXPECT_EQ(store_->calls, calls) << fields.back().value;
  }
}

TEST_F(StoreFiles, ConditionsOfHead) {
  for (const Conditional& row : conditional) {
    const bool ranged = row.status == 206 || row.status == 416;
    EXPECT_EQ(ask("/a.txt", row.fields, Method::HEAD).status(), ranged ? 200 : row.status)
        << name_of(row);
  }
}

TEST_F(StoreFiles, DatesNeedADate) {
  store_->objects["a.txt"].info.modified_s = 0;
  EXPECT_EQ(ask("/a.txt", {{"if-modified-since", date}}).status(), 200);
  EXPECT_EQ(ask("/a.txt", {{"if-unmodified-since", earlier}}).status(), 200);
  EXPECT_EQ(ask("/a.txt", {{"range", "bytes=2-4"}, {"if-range", date}}).status(), 200);
}

TEST_F(StoreFiles, NotModifiedHasItsFields) {
  store_->objects["a.txt"].info.fields = {
      {"Content-Language", "de"}, {"Cache-Control", "max-age=60"}, {"Expires", std::string(date)}};
  for (const std::string_view tags : {"\"t\"", "\"x\", \"t\""}) {
    const Response response = ask("/a.txt", {{"if-none-match", tags}});
    EXPECT_EQ(response.status(), 304);
    EXPECT_EQ(response.fields().size(), 4U);
    EXPECT_EQ(field_of(response, "Cache-Control"), "max-age=60");
    EXPECT_EQ(field_of(response, "Expires"), date);
  }
}

TEST_F(StoreFiles, FoldersAreRedirectedTo) {
  const std::vector<std::pair<std::string_view, std::string>> rows = {
      {"/sub", "/sub/"},   {"/sub?a=b", "/sub/?a=b"},    {"/%73ub", "/%73ub/"},
      {"/bare", "/bare/"}, {"http://evil/sub", "/sub/"}, {"/a%20b", "/a%20b/"},
      {"/.//sub", "-"},
  };
  for (const auto& [target, location] : rows) {
    const Response response = ask(target);
    EXPECT_EQ(response.status(), location == "-" ? 404 : 301) << target;
    EXPECT_EQ(field_of(response, "Location"), location) << target;
  }
  // An object comes first.
  put("sub", "object");
  EXPECT_EQ(body_of(ask("/sub")), "object");
}

TEST_F(StoreFiles, FirstIndexThatExists) {
  use({.index = {"a.html", "index.html", "x.txt"}});
  EXPECT_EQ(body_of(ask("/sub/")), "<h1>sub");
  EXPECT_EQ(store_->calls, (Calls{"get sub/a.html", "get sub/index.html"}));
  EXPECT_EQ(body_of(ask("/bare/")), "x");
  use({.index = {}});
  EXPECT_EQ(ask("/sub/").status(), 404);
}

TEST_F(StoreFiles, Fallback) {
  use({.fallback = "index.html"});
  const Field html{"accept", "text/html,*/*"};
  for (const std::string_view target : {"/gone", "/gone/x", "/bare/", "/gone/"}) {
    const Response page = ask(target, {html});
    EXPECT_EQ(page.status(), 200) << target;
    EXPECT_EQ(body_of(page), "<h1>root");
    EXPECT_EQ(field_of(page, "Vary"), "Accept");
    const Response data = ask(target, {{"accept", "application/json"}});
    EXPECT_EQ(data.status(), 404);
    EXPECT_EQ(field_of(data, "Vary"), "Accept");
  }
  EXPECT_EQ(body_of(ask("/a.txt", {html})), "0123456789");
  EXPECT_EQ(ask("/sub", {html}).status(), 301);
  EXPECT_EQ(ask("/.hidden", {html}).status(), 404);
  store_->failure = StoreError{.kind = Kind::failed, .reason = "test"};
  EXPECT_EQ(ask("/gone", {html}).status(), 502);
}

TEST_F(StoreFiles, FailuresOfTheStore) {
  using std::chrono::milliseconds;
  struct Row {
    StoreError error;
    int status;
    std::string retry_after = "-";
  };
  const std::vector<Row> rows = {
      {{.kind = Kind::absent}, 404},
      {{.kind = Kind::denied, .reason = "test"}, 502},
      {{.kind = Kind::failed, .reason = "test"}, 502},
      {{.kind = Kind::precondition, .reason = "test"}, 502},
      {{.kind = Kind::unsatisfiable, .reason = "test"}, 502},
      {{.kind = Kind::late}, 504},
      {{.kind = Kind::busy}, 503, "1"},
      {{.kind = Kind::busy, .retry_after = milliseconds(2001)}, 503, "3"},
      {{.kind = Kind::stopped}, 503, "1"},
  };
  for (const Row& row : rows) {
    store_->failure = row.error;
    for (const Method method : {Method::GET, Method::HEAD}) {
      for (const std::string_view target : {"/a.txt", "/", "/gone"}) {
        const Response response = ask(target, {}, method);
        EXPECT_EQ(response.status(), row.status) << target;
        EXPECT_EQ(field_of(response, "Retry-After"), row.retry_after);
      }
    }
  }
}

TEST_F(StoreFiles, BodiesThatBreakAreNotComplete) {
  store_->body_failure = Error{ECONNRESET, "test"};
  Server server;
  server.get("/{path...}", handler_);
  TestClient client(server);
  const TestResponse response = client.get("/a.txt");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "01234");
  EXPECT_FALSE(response.complete);
  store_->body_failure.reset();
  EXPECT_TRUE(client.get("/a.txt").complete);
}

// --- listings ---------------------------------------------------------------------------------

TEST_F(StoreFiles, Listings) {
  use({.listing = true});
  const Field json{"accept", "application/json"};
  const auto names = [&](std::string_view target) {
    const Response response = ask(target, {json});
    std::string all;
    const std::string body = body_of(response);
    for (std::size_t at = 0; (at = body.find("\"name\":\"", at)) != body.npos;) {
      at += 8;
      all += body.substr(at, body.find('"', at) - at) + " ";
    }
    return std::to_string(response.status()) + " " + all;
  };
  EXPECT_EQ(names("/bare/"), "200 x.txt ");
  EXPECT_EQ(names("/a%20b/"), "200 \xc3\xbc.bin ");
  EXPECT_EQ(names("/gone/"), "404 ");
  EXPECT_EQ(names("/.hidden/"), "404 ");
  store_->objects.erase("index.html");
  EXPECT_EQ(names("/"), "200 a b bare sub a.txt empty ");  // folders first
  EXPECT_EQ(store_->calls, (Calls{"get index.html", "list "}));
  EXPECT_EQ(names("/"), "200 a b bare sub a.txt empty ");
  EXPECT_EQ(store_->calls, (Calls{"get index.html"}));  // it is fresh
  const Response page = ask("/bare/", {{"accept", "text/html"}});
  EXPECT_EQ(field_of(page, "Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(body_of(page).find("x.txt"), std::string::npos);
  // A store knows no times of folders.
  EXPECT_NE(body_of(ask("/", {json})).find("{\"name\":\"sub\",\"type\":\"directory\"},"),
            std::string::npos);
  EXPECT_NE(body_of(ask("/", {{"accept", "text/html"}})).find("<td><time></time></td>"),
            std::string::npos);
  use({.listing = true, .hidden = true});
  EXPECT_EQ(names("/"), "200 .well-known a b bare sub .hidden a.txt empty ");
  use({.listing = true});
  store_->failure = StoreError{.kind = Kind::busy};
  EXPECT_EQ(names("/bare/"), "503 ");
}

FolderEntriesRef listed(StoreListings& listings, const std::string& prefix) {
  const StoreResult<FolderEntriesRef> found = tests::run_now(listings.find(prefix));
  return found ? *found : nullptr;
}

TEST_F(StoreFiles, ListingsOfSeveralPages) {
  for (int i = 0; i < 7; ++i) put("many/" + std::to_string(i), "x");
  put("many/f/1", "x");
  put("many/f/2", "x");
  store_->page_entries = 3;
  StoreListings whole(store_, false);
  const FolderEntriesRef entries = listed(whole, "many/");
  ASSERT_NE(entries, nullptr);
  EXPECT_EQ(store_->calls.size(), 3U);
  ASSERT_EQ(entries->entries.size(), 8U);
  EXPECT_EQ(entries->entries[0].name, "f");
  EXPECT_EQ(entries->folders, 1U);
  EXPECT_EQ(entries->bytes, 7U);
  EXPECT_FALSE(entries->incomplete);
  StoreListings bounded(store_, false, {.pages_max = 2});
  const FolderEntriesRef first = listed(bounded, "many/");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->entries.size(), 6U);
  EXPECT_TRUE(first->incomplete);
}

// A folder with hidden objects only exists, and is empty.
TEST_F(StoreFiles, ListingsWithoutEntries) {
  StoreListings listings(store_, false);
  EXPECT_EQ(listed(listings, "gone/"), nullptr);
  const FolderEntriesRef entries = listed(listings, "sub/.hidden/");
  ASSERT_NE(entries, nullptr);
  put("dots/.x", "x");
  ASSERT_NE(listed(listings, "dots/"), nullptr);
  EXPECT_TRUE(listed(listings, "dots/")->entries.empty());
}

// A store whose first list waits until the test lets it go on.
class GatedStore final : public Store {
 public:
  Task<StoreResult<OpenedObject>> get(std::string, GetOptions) override {
    co_return std::unexpected(StoreError{.kind = Kind::absent});
  }
  Task<StoreResult<ObjectInfo>> head(std::string, GetOptions) override {
    co_return std::unexpected(StoreError{.kind = Kind::absent});
  }
  Task<StoreResult<ListPage>> list(ListOptions) override {
    if (++lists == 1) {
      Completion<void> gate;
      open.emplace(gate.completer());
      const Result<void> opened = co_await gate;
      if (!opened) co_return std::unexpected(StoreError{.kind = Kind::stopped});
    }
    ListPage page;
    page.objects.push_back({"a", 1, 0});
    co_return page;
  }

  int lists = 0;
  std::optional<Completer<void>> open = {};
};

TEST(StoreListings, AreReadOnceForSeveralRequests) {
  const auto store = std::make_shared<GatedStore>();
  Server server;
  server.get("/{path...}", store_files(store, {.listing = true}));
  TestClient client(server);
  TestExchange first = client.open({.target = "/"});
  TestExchange second = client.open({.target = "/"});
  ASSERT_EQ(store->lists, 1);
  (*store->open)();
  EXPECT_EQ(first.rest().status, 200);
  EXPECT_EQ(second.rest().status, 200);
  EXPECT_EQ(store->lists, 1);
}

TEST(StoreListings, GoOnWhenTheirReaderLeaves) {
  const auto store = std::make_shared<GatedStore>();
  Server server;
  server.get("/{path...}", store_files(store, {.listing = true}));
  TestClient client(server);
  auto first = std::make_optional(client.open({.target = "/"}));
  TestExchange second = client.open({.target = "/"});
  ASSERT_EQ(store->lists, 1);
  first.reset();
  EXPECT_EQ(second.rest().status, 200);
  EXPECT_EQ(store->lists, 2);
}

}  // namespace store_files_test
}  // namespace h2server::content
