// Transfers and S3Store, against a store on loopback that fails as the tests want it to.
#include "content/s3/transfers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/memory/memory_budget.h"
#include "content/s3/s3_store.h"
#include "content/s3/store_stub.h"
#include "h2server/server.h"
#include "h2server/test_client.h"

namespace h2server::content::s3 {
namespace transfers_test {

using std::chrono::milliseconds;
using tests::StoreStub;
using Answer = StoreStub::Answer;
using Answers = std::vector<Answer>;

// Time limit after which a test fails instead of hanging.
constexpr std::chrono::minutes patience(1);

const std::string tag = "\"v1\"";

std::string bytes_of(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

// Answers as a store that has one object, with ranges and If-Match.
Answer object(const std::string& head, const std::string& bytes, const std::string& etag = tag) {
  Answer answer{.fields = {"ETag: " + etag}, .body = bytes};
  if (head.contains("If-Match: ") && !head.contains("If-Match: " + etag)) return {.status = 412};
  const std::size_t at = head.find("Range: bytes=");
  if (at == std::string::npos) return answer;
  const std::size_t first = std::stoul(head.substr(at + 13));
  const std::size_t last = std::stoul(head.substr(head.find('-', at) + 1));
  answer.status = 206;
  answer.fields.push_back("Content-Range: bytes " + std::to_string(first) + "-" +
                          std::to_string(last) + "/" + std::to_string(bytes.size()));
  answer.body = bytes.substr(first, last - first + 1);
  return answer;
}

std::string name_of(const StoreError& error) {
  using enum StoreError::Kind;
  switch (error.kind) {
    case absent:
      return "absent";
    case not_modified:
      return "not_modified";
    case precondition:
      return "precondition";
    case unsatisfiable:
      return "unsatisfiable";
    case denied:
      return "denied";
    case busy:
      return "busy";
    case late:
      return "late";
    case stopped:
      return "stopped";
    case failed:
      return "failed";
  }
  return "?";
}

Response refusal(const StoreError& error) {
  return Response::text(name_of(error) + ": " + error.reason, 500);
}

Task<Response> download(S3Store* store, std::string key, GetOptions options) {
  StoreResult<OpenedObject> opened = co_await store->get(std::move(key), std::move(options));
  if (!opened) co_return refusal(opened.error());
  co_return Response(std::move(opened->body), "text/plain", opened->count);
}

Task<Response> describe(S3Store* store, std::string key) {
  GetOptions options;
  StoreResult<ObjectInfo> info = co_await store->head(std::move(key), std::move(options));
  if (!info) co_return refusal(info.error());
  co_return Response::text(std::to_string(info->size) + " " + info->etag);
}

Task<Response> list(S3Store* store) {
  ListOptions options;
  StoreResult<ListPage> page = co_await store->list(std::move(options));
  if (!page) co_return refusal(page.error());
  std::string names;
  for (const ListedObject& object : page->objects) names += object.name + " ";
  co_return Response::text(names);
}

S3StoreOptions options() {
  return {.location = {},
          .credentials = {.given = {.key_id = "ID", .secret = "SECRET"}},
          .retries = {.pause = milliseconds(1), .pause_max = milliseconds(2)}};
}

// A server whose objects are in the stub.
class Site {
 public:
  explicit Site(const StoreStub& stub, S3StoreOptions options = s3::transfers_test::options(),
                const GetOptions& get = {})
      : store(located(std::move(options), stub)) {
    S3Store* const all = &store;
    server_.get("/list", [all](Request&) { return list(all); });
    server_.get("/head/{key}", [all](Request& request) {
      return describe(all, std::string(request.param("key")));
    });
    server_.get("/{key...}", [all, get](Request& request) {
      return download(all, std::string(request.param("key")), get);
    });
    client_.emplace(server_);
  }
  TestResponse get(const std::string& path = "/a") { return client_->get(path); }
  TestExchange open() { return client_->open({.target = "/a"}); }

  S3Store store;

 private:
  static S3StoreOptions located(S3StoreOptions options, const StoreStub& stub) {
    auto location =
        make_location({.place = "s3://bucket/pre", .endpoint = stub.url(), .region = "eu-1"});
    EXPECT_TRUE(location) << location.error();
    options.location = *std::move(location);
    return options;
  }

  Server server_;
  std::optional<TestClient> client_;
};

std::size_t connections_of(StoreStub& stub) {
  return stub.wait_for([](const auto&) { return true; }).connections;
}

// --- requests ---------------------------------------------------------------------------------

TEST(Transfers, SignsAndKeepsItsConnection) {
  S3StoreOptions with_token = options();
  with_token.credentials.given.session_token = "TOKEN";
  const std::string bytes = bytes_of(1'000'000);
  StoreStub stub([&](const std::string& head, std::size_t) { return object(head, bytes); });
  Site site(stub, with_token);
  for (int i = 0; i < 3; ++i) {
    const TestResponse response = site.get("/a%20b/%C3%BC=+");
    EXPECT_EQ(response.status, 200);
    EXPECT_TRUE(response.complete);
    EXPECT_TRUE(response.body == bytes);
  }
  const std::string request = stub.requests().at(0);
  EXPECT_TRUE(request.starts_with("GET /bucket/pre/a%20b/%C3%BC%3D%2B HTTP/1.1\r\n")) << request;
  EXPECT_TRUE(request.contains("Authorization: AWS4-HMAC-SHA256 Credential=ID/")) << request;
  EXPECT_TRUE(request.contains("/eu-1/s3/aws4_request")) << request;
  EXPECT_TRUE(request.contains("x-amz-content-sha256: e3b0c442")) << request;
  EXPECT_TRUE(request.contains("x-amz-security-token: TOKEN")) << request;
  EXPECT_FALSE(request.contains("SECRET"));
  EXPECT_EQ(connections_of(stub), 1u);
}

TEST(Transfers, SharesConnectionsForWhatIsBrief) {
  struct Row {
    std::string url;
    bool brief;
    std::size_t sent;
    bool shares;
  };
  const std::vector<Row> rows{
      {"https://host/a", true, 0, true},       {"https://host/a", true, 65'536, true},
      {"https://host/a", true, 65'537, false}, {"https://host/a", false, 0, false},
      {"http://host/a", true, 0, false},
  };
  for (const Row& row : rows) {
    const TransferRequest request{.url = row.url,
                                  .body = std::make_shared<const std::string>(row.sent, 'x'),
                                  .brief = row.brief};
    EXPECT_EQ(may_share(request, TransferLimits()), row.shares) << row.url << " " << row.sent;
  }
  EXPECT_TRUE(may_share({.url = "https://host/a", .brief = true}, TransferLimits()));
}

TEST(Transfers, AsksForRangesAndConditions) {
  const std::string bytes = bytes_of(100);
  const GetOptions part{.conditions = {.if_match = tag, .if_none_match = "\"v2\""},
                        .range = "bytes=10-19"};
  StoreStub stub([&](const std::string& head, std::size_t) { return object(head, bytes); });
  Site site(stub, options(), part);
  EXPECT_EQ(site.get().body, bytes.substr(10, 10));
  const std::string request = stub.requests().at(0);
  EXPECT_TRUE(request.contains("\r\nIf-Match: \"v1\"\r\n")) << request;
  EXPECT_TRUE(request.contains("\r\nIf-None-Match: \"v2\"\r\n")) << request;
  EXPECT_TRUE(request.contains("\r\nRange: bytes=10-19\r\n")) << request;
}

TEST(Transfers, AsksForHeads) {
  StoreStub stub(Answers{{.fields = {"ETag: " + tag}, .body = "four"},
                         {.status = 404},
                         {.fields = {"ETag: " + tag}, .body = "four"}});
  Site site(stub);
  EXPECT_EQ(site.get("/head/a").body, "4 \"v1\"");
  EXPECT_EQ(site.get("/head/a").body, "absent: status 404");
  EXPECT_EQ(site.get("/head/a").body, "4 \"v1\"");
  EXPECT_TRUE(stub.requests().at(0).starts_with("HEAD /bucket/pre/a "));
  EXPECT_EQ(connections_of(stub), 1u);
}

TEST(Transfers, Lists) {
  const std::string page =
      "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>pre/x</Key>"
      "<Size>3</Size><LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>"
      "</ListBucketResult>";
  StoreStub stub(
      Answers{{.body = page}, {.body = "<Other/>"}, {.body = std::string(5 << 20, ' ')}});
  Site site(stub);
  EXPECT_EQ(site.get("/list").body, "x ");
  EXPECT_EQ(site.get("/list").body, "failed: the response is not a list");
  EXPECT_EQ(site.get("/list").body, "failed: the list is too long");
}

TEST(Transfers, RefusesWhatIsNoKey) {
  StoreStub stub(Answers{{.body = "x"}});
  Site site(stub);
  EXPECT_EQ(site.get("/" + std::string(1100, 'k')).body, "absent: ");
  EXPECT_TRUE(stub.requests().empty());
}

TEST(Transfers, NeedsCredentials) {
  S3StoreOptions without = options();
  without.credentials = {.given = {}, .file = "/nowhere/credentials"};
  StoreStub stub(Answers{{.body = "x"}});
  Site site(stub, without);
  const std::string body = site.get().body;
  EXPECT_TRUE(body.starts_with("denied: no credentials: AWS_ACCESS_KEY_ID")) << body;
  EXPECT_TRUE(stub.requests().empty());
}

// --- retries ----------------------------------------------------------------------------------

struct RetryCase {
  std::vector<Answer> answers;
  std::size_t requests;
  std::string body;  // the beginning of it
};

TEST(Transfers, RetriesWhatMaySucceed) {
  const Answer good{.fields = {"ETag: " + tag}, .body = "good"};
  const std::string denied = "<Error><Code>AccessDenied</Code><Message>no</Message></Error>";
  const std::vector<RetryCase> cases{
      {{good}, 1, "good"},
      {{{.status = 503}, good}, 2, "good"},
      {{{.status = 500}, {.status = 502}, good}, 3, "good"},
      {{{.closes = true}, good}, 2, "good"},
      {{{.status = 429, .fields = {"Retry-After: 0"}}, good}, 2, "good"},
      {{{.status = 503}}, 3, "busy: status 503"},
      {{{.status = 504}}, 3, "failed: status 504"},
      {{{.status = 503, .fields = {"Retry-After: 20"}}}, 1, "busy: status 503"},
      {{{.status = 403, .body = denied}}, 1, "denied: status 403, AccessDenied: no"},
      {{{.status = 404}}, 1, "absent"},
      {{{.status = 412}}, 1, "precondition"},
      {{{.status = 301}}, 1, "denied"},
      {{{.status = 304, .fields = {"ETag: " + tag}}}, 1, "not_modified"},
      {{{.status = 206, .body = "x"}}, 1, "failed: the response has no valid Content-Range"},
      {{{.fields = {"X: " + std::string(70'000, 'x')}}}, 3, "failed: the head of the response"},
  };
  for (const RetryCase& one : cases) {
    StoreStub stub(one.answers);
    Site site(stub);
    const std::string body = site.get().body;
    EXPECT_TRUE(body.starts_with(one.body)) << body << "\n" << one.body;
    EXPECT_EQ(stub.requests().size(), one.requests) << one.body;
  }
}

TEST(Transfers, LooksAgainForWhatIsExpected) {
  StoreStub stub(Answers{{.status = 404}, {.fields = {"ETag: " + tag}, .body = "good"}});
  Site site(stub, options(), {.expected = true});
  EXPECT_EQ(site.get().body, "good");
  StoreStub gone(Answers{{.status = 404}});
  Site without(gone, options(), {.expected = true});
  EXPECT_EQ(without.get().body, "absent: status 404");
  EXPECT_EQ(gone.requests().size(), 3U);
}

TEST(Transfers, RetriesFromABudget) {
  S3StoreOptions with_budget = options();
  with_budget.retries.budget = 10;
  StoreStub stub([](const std::string&, std::size_t number) {
    return number < 4 || number >= 9 ? Answer{.status = 500} : Answer{.body = "good"};
  });
  Site site(stub, with_budget);
  site.get();  // three requests
  site.get();  // one, since the budget is used up
  EXPECT_EQ(stub.requests().size(), 4u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(site.get().body, "good");  // each gives one back
  EXPECT_EQ(stub.requests().size(), 9u);
  site.get();  // one retry
  EXPECT_EQ(stub.requests().size(), 11u);
  site.get();  // none
  EXPECT_EQ(stub.requests().size(), 12u);
}

// --- a second request -------------------------------------------------------------------------

S3StoreOptions hedged() {
  S3StoreOptions soon = options();
  soon.retries.hedge_after = milliseconds(1);
  return soon;
}

TEST(Transfers, AsksTwiceWhatIsSlow) {
  const std::string bytes = bytes_of(1'000'000);
  StoreStub stub([&](const std::string& head, std::size_t number) {
    return number == 0 ? Answer{.silent = true} : object(head, bytes);
  });
  Site site(stub, hedged());
  const TestResponse response = site.get();
  EXPECT_TRUE(response.complete);
  EXPECT_TRUE(response.body == bytes);
  // The first one ends; each had its own connection.
  const auto counts = stub.wait_for([](const auto& now) { return now.left == 1; });
  EXPECT_EQ(counts.connections, 2u);
  EXPECT_TRUE(stub.requests().at(1).starts_with("GET /bucket/pre/a "));
}

TEST(Transfers, AsksTwiceForHeads) {
  StoreStub stub(Answers{{.silent = true}, {.fields = {"ETag: " + tag}, .body = "four"}});
  Site site(stub, hedged());
  EXPECT_EQ(site.get("/head/a").body, "4 \"v1\"");
}

TEST(Transfers, AsksTwiceFromItsBudget) {
  S3StoreOptions poor = hedged();
  poor.retries.budget = 9;  // a second request takes ten
  StoreStub stub(Answers{{.silent = true}});
  // The time may be over before the request arrives.
  for (milliseconds time(300); stub.requests().empty() && time < patience; time *= 2) {
    Site site(stub, poor, {.time_max = time});
    EXPECT_EQ(site.get().body, "late: ");
  }
  EXPECT_EQ(stub.requests().size(), 1u);
}

// Neither answers: both end with their reader.
TEST(Transfers, BothRequestsEndWithTheirReader) {
  StoreStub stub([](const std::string& head, std::size_t) {
    return head.contains("/pre/a ") ? Answer{.silent = true} : Answer{.status = 404};
  });
  Site site(stub, hedged());
  {
    const TestExchange exchange = site.open();
    const auto asked = [&stub] {
      return std::ranges::count_if(stub.requests(),
                                   [](const auto& head) { return head.contains("/pre/a "); });
    };
    while (asked() < 2) site.get("/b");  // a request lets timers pass
  }
  stub.wait_for([](const auto& counts) { return counts.left >= 2; });
}

// Pieces that wait for their reader are memory of bodies.
TEST(Transfers, WhatNobodyReadsCounts) {
  const std::string bytes = bytes_of(5'000'000);
  StoreStub stub([&](const std::string& head, std::size_t) {
    return head.contains("/pre/a ") ? object(head, bytes) : Answer{.status = 404};
  });
  const auto held = [] { return base::MemoryBudget::of_process().held(base::MemoryOwner::bodies); };
  const std::uint64_t before = held();
  Site site(stub);
  {
    const TestExchange exchange = site.open();
    const auto until = std::chrono::steady_clock::now() + patience;
    const auto goes_on = [&until] { return std::chrono::steady_clock::now() < until; };
    while (held() < before + 3 * TransferLimits().piece_bytes && goes_on()) site.get("/b");
    EXPECT_GE(held(), before + 3 * TransferLimits().piece_bytes);
    EXPECT_LE(held(), before + 4 * TransferLimits().piece_bytes);
  }
  const auto until = std::chrono::steady_clock::now() + patience;
  while (held() > before && std::chrono::steady_clock::now() < until) site.get("/b");
  EXPECT_LE(held(), before);
}

TEST(Transfers, GivesUpAtItsTime) {
  StoreStub stub(Answers{{.silent = true}});
  milliseconds time(50);
  // The time may be over before the request arrives.
  for (; stub.requests().empty() && time < patience; time *= 2) {
    Site site(stub, options(), {.time_max = time});
    EXPECT_EQ(site.get().body, "late: ");
  }
  ASSERT_FALSE(stub.requests().empty());
  stub.wait_for([](const auto& counts) { return counts.left >= 1; });
}

TEST(Transfers, NamesWhyItCannotConnect) {
  std::optional<StoreStub> stub(std::in_place, std::vector<Answer>{{.body = "x"}});
  Site site(*stub);
  stub.reset();
  EXPECT_EQ(site.get().body, "failed: can't connect: Connection refused");
}

// --- bodies that go on ------------------------------------------------------------------------

TEST(Transfers, GoesOnWhereABodyBreaksOff) {
  const std::string bytes = bytes_of(2'000'000);
  for (const std::size_t cut : {0u, 1u, 70'000u, 1'000'000u, 1'999'999u}) {
    StoreStub stub([&](const std::string& head, std::size_t number) {
      if (number == 1) return Answer{.status = 500};
      Answer answer = object(head, bytes);
      if (number == 0) answer.cut = cut;
      if (number == 2) answer.cut = answer.body.size() / 2;
      return answer;
    });
    SCOPED_TRACE(cut);
    Site site(stub);
    const TestResponse response = site.get();
    EXPECT_TRUE(response.complete);
    EXPECT_TRUE(response.body == bytes);
    const std::vector<std::string> requests = stub.requests();
    ASSERT_EQ(requests.size(), 4u);
    EXPECT_TRUE(requests[1].contains("\r\nIf-Match: \"v1\"\r\n")) << requests[1];
    const std::string range = "\r\nRange: bytes=" + std::to_string(cut) + "-1999999\r\n";
    EXPECT_TRUE(requests[1].contains(range)) << requests[1];
  }
}

TEST(Transfers, GoesOnWithinARange) {
  const std::string bytes = bytes_of(1000);
  const GetOptions part{.range = "bytes=100-899"};
  StoreStub stub([&](const std::string& head, std::size_t number) {
    Answer answer = object(head, bytes);
    if (number == 0) answer.cut = 50;
    return answer;
  });
  Site site(stub, options(), part);
  const TestResponse response = site.get();
  EXPECT_TRUE(response.complete);
  EXPECT_TRUE(response.body == bytes.substr(100, 800));
  EXPECT_TRUE(stub.requests().at(1).contains("\r\nRange: bytes=150-899\r\n"));
}

// Each is what the store answers when it is asked for the rest.
TEST(Transfers, AbortsWhatCannotGoOn) {
  const std::string bytes = bytes_of(1000);
  const std::vector<std::string> part{"ETag: " + tag, "Content-Range: bytes 500-999/1000"};
  const std::string rest = bytes.substr(500);
  const std::vector<Answer> cases{
      {.status = 412},
      {.status = 404},
      {.status = 403},
      {.status = 416},
      {.fields = {"ETag: " + tag}, .body = bytes},  // not the part
      {.status = 206, .fields = {part[0], "Content-Range: bytes 0-499/1000"}, .body = rest},
      {.status = 206, .fields = {"ETag: \"v2\"", part[1]}, .body = rest},
      {.status = 206, .fields = {part[1]}, .body = rest},
  };
  for (const Answer& other : cases) {
    StoreStub stub(Answers{{.fields = {"ETag: " + tag}, .body = bytes, .cut = 500}, other});
    Site site(stub);
    const TestResponse response = site.get();
    EXPECT_FALSE(response.complete) << other.status;
    EXPECT_TRUE(bytes.starts_with(response.body)) << other.status;
    EXPECT_EQ(stub.requests().size(), 2u) << other.status;
  }
}

TEST(Transfers, AbortsWhatHasNoTag) {
  StoreStub stub(Answers{{.body = bytes_of(1000), .cut = 500}});
  Site site(stub);
  EXPECT_FALSE(site.get().complete);
  EXPECT_EQ(stub.requests().size(), 1u);
}

TEST(Transfers, AbortsWhatStalls) {
  for (const Answer& rest :
       {Answer{.closes = true}, Answer{.status = 500}, Answer{.silent = true}}) {
    // The time may be over before the second request arrives.
    std::size_t requests = 0;
    for (milliseconds stall(200); requests < 2 && stall < patience; stall *= 2) {
      StoreStub stub(
          Answers{{.fields = {"ETag: " + tag}, .body = bytes_of(1000), .cut = 500}, rest});
      S3StoreOptions impatient = options();
      impatient.retries.stall_max = stall;
      Site site(stub, impatient);
      EXPECT_FALSE(site.get().complete);
      requests = stub.requests().size();
    }
    EXPECT_GE(requests, 2u);
  }
}

// --- waits that end early ---------------------------------------------------------------------

TEST(Transfers, EndsWithItsReader) {
  const std::string bytes = bytes_of(1000);
  const std::vector<Answer> answers{
      {.silent = true},
      {.fields = {"ETag: " + tag}, .body = bytes, .cut = 500, .hangs = true},
  };
  for (const Answer& answer : answers) {
    StoreStub stub(Answers{answer});
    Site site(stub);
    {
      TestExchange exchange = site.open();
      stub.wait_for_requests(1);
      if (answer.hangs) {
        EXPECT_EQ(exchange.read(), bytes.substr(0, 500));
      }
    }
    stub.wait_for([](const auto& counts) { return counts.left == 1; });
  }
}

TEST(Transfers, TakesWhatItsReaderTakes) {
  const std::string bytes = bytes_of(64 << 20);
  StoreStub stub([&](const std::string& head, std::size_t) { return object(head, bytes); });
  Site site(stub);
  TestExchange exchange = site.open();
  std::string received = exchange.read();
  EXPECT_LE(received.size(), TransferLimits().piece_bytes);
  const auto counts = stub.wait_for([](const auto& now) { return now.stalled || now.whole; });
  EXPECT_FALSE(counts.whole);
  EXPECT_LT(counts.sent, bytes.size() / 2);  // most of it is in buffers of the kernel
  for (std::string piece = exchange.read(); !piece.empty(); piece = exchange.read()) {
    EXPECT_LE(piece.size(), TransferLimits().piece_bytes);
    received += piece;
  }
  EXPECT_TRUE(received == bytes);
  EXPECT_EQ(stub.requests().size(), 1u);
}

// Its reader has not begun, but the store is done with it.
TEST(Transfers, FreesTheConnectionOfASmallBody) {
  const std::string bytes = bytes_of(700'000);
  StoreStub stub([&](const std::string& head, std::size_t) { return object(head, bytes); });
  Site site(stub);
  TestExchange slow = site.open();
  EXPECT_EQ(slow.head().status, 200);
  stub.wait_for([](const auto& now) { return now.whole; });
  EXPECT_TRUE(site.get().body == bytes);
  EXPECT_TRUE(slow.rest().body == bytes);
}

TEST(Transfers, ManyAtOnce) {
  const std::string bytes = bytes_of(3'000'000);
  StoreStub stub([&](const std::string& head, std::size_t) { return object(head, bytes); });
  Site site(stub);
  std::vector<TestExchange> exchanges;
  for (int i = 0; i < 20; ++i) exchanges.push_back(site.open());
  std::vector<std::string> received(exchanges.size());
  for (bool any = true; any;) {
    any = false;
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      if (received[i].size() == bytes.size()) continue;
      received[i] += exchanges[i].read();
      any = true;
    }
  }
  for (const std::string& one : received) EXPECT_TRUE(one == bytes);
}

TEST(Transfers, RefusesTooMany) {
  S3StoreOptions few = options();
  few.transfers.transfers_max = 2;
  StoreStub stub(Answers{{.silent = true}});
  Site site(stub, few);
  {
    const TestExchange first = site.open();
    const TestExchange second = site.open();
    stub.wait_for_requests(2);
    EXPECT_EQ(site.get().body, "busy: too many transfers");
  }
  stub.wait_for([](const auto& counts) { return counts.left == 2; });
  TestExchange third = site.open();
  stub.wait_for_requests(3);
}

TEST(Transfers, StopEndsAll) {
  StoreStub stub([](const std::string&, std::size_t number) {
    return number < 50 ? Answer{.silent = true}
                       : Answer{.body = bytes_of(1000), .cut = 500, .hangs = true};
  });
  Site site(stub);
  std::vector<TestExchange> exchanges;
  for (int i = 0; i < 100; ++i) exchanges.push_back(site.open());
  stub.wait_for_requests(100);
  site.store.stop();
  stub.wait_for([](const auto& counts) { return counts.left == 100; });
  std::size_t refused = 0;
  for (TestExchange& exchange : exchanges) {
    const TestResponse response = exchange.rest();
    refused += response.body == "stopped: " ? 1 : 0;
    EXPECT_TRUE(response.body == "stopped: " || !response.complete);
  }
  EXPECT_GE(refused, 50u);
  EXPECT_EQ(site.get().body, "stopped: ");
}

TEST(Transfers, StartsNoThreadBeforeItIsAsked) {
  Transfers unused({.region = "eu-1", .credentials = {}});
  unused.stop();
  unused.stop();
}

}  // namespace transfers_test
}  // namespace h2server::content::s3
