// The calls of S3Store that write, against a store on loopback that fails as the tests want it to.
// tests/content/store_contract.h has what they do with stores that work.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "content/s3/s3_store.h"
#include "content/s3/store_stub.h"
#include "h2server/server.h"
#include "h2server/test_client.h"

namespace h2server::content::s3 {
namespace writes_test {

using std::chrono::milliseconds;
using tests::StoreStub;
using Answer = StoreStub::Answer;
using Answers = std::vector<Answer>;
using Kind = StoreError::Kind;

const PartsId parts_id{.key = "a", .id = "MARK.ID"};
const std::vector<StoredPart> one_part = {{.number = 1, .size = 7, .etag = "\"p1\""}};

Answer error(int status, const std::string& code) {
  return {.status = status, .body = "<Error><Code>" + code + "</Code></Error>"};
}

// Of the field line with that name in the head of a request; empty if there is none.
std::string field(const std::string& head, const std::string& name) {
  const std::size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

// What a call yields, in words.
using Call = std::function<Task<std::string>(Store&)>;

std::string shown(const StoreError& error) {
  return "kind " + std::to_string(static_cast<int>(error.kind));
}
std::string shown(Kind kind) { return shown(StoreError{.kind = kind}); }
std::string shown(const StoreResult<ObjectInfo>& result) {
  return result ? result->etag + " " + std::to_string(result->size) : shown(result.error());
}

Task<std::string> put(Store& store, std::string bytes, PutOptions options) {
  const StoreResult<ObjectInfo> info =
      co_await store.put("a", std::move(bytes), std::move(options));
  co_return shown(info);
}
Call put_call(PutOptions options = {}, std::string bytes = "bytes") {
  return [=](Store& store) { return put(store, bytes, options); };
}

Task<std::string> put_twice(Store& store) {
  PutOptions options;
  const std::string first = co_await put(store, "bytes", options);
  std::string second = co_await put(store, "bytes", options);
  co_return first == second ? second : first + ", then " + second;
}

Task<std::string> complete(Store& store, PutOptions options) {
  const StoreResult<ObjectInfo> info =
      co_await store.complete_parts(parts_id, one_part, std::move(options));
  co_return shown(info);
}
Call complete_call(PutOptions options = {}) {
  return [=](Store& store) { return complete(store, options); };
}

Task<std::string> put_part(Store& store) {
  const StoreResult<StoredPart> part = co_await store.put_part(parts_id, 3, "the part");
  co_return part ? part->etag : shown(part.error());
}

Task<std::string> list_parts(Store& store) {
  const StoreResult<std::vector<StoredPart>> all = co_await store.list_parts(parts_id);
  if (!all) co_return shown(all.error());
  std::string text;
  for (const StoredPart& part : *all) {
    text += std::to_string(part.number) + " " + std::to_string(part.size) + " " + part.etag + ";";
  }
  co_return text;
}

Task<std::string> begin_parts(Store& store) {
  PutOptions options;
  options.content_type = "text/plain";
  const StoreResult<PartsId> id = co_await store.begin_parts("a", std::move(options));
  co_return id ? id->id : shown(id.error());
}

Task<std::string> remove(Store& store) {
  const StoreResult<void> removed = co_await store.remove("a");
  co_return removed ? "removed" : shown(removed.error());
}

Task<Response> answer(Store* store, Call call) {
  Task<std::string> calling = call(*store);
  std::string text = co_await std::move(calling);
  co_return Response::text(std::move(text));
}

// Makes the call in a server.
std::string run(const StoreStub& stub, Call call, RetryLimits retries = {}) {
  retries.pause = milliseconds(1);
  retries.pause_max = milliseconds(2);
  auto location =
      make_location({.place = "s3://bucket/pre", .endpoint = stub.url(), .region = "eu-1"});
  EXPECT_TRUE(location) << location.error();
  S3Store store({.location = *std::move(location),
                 .credentials = {.given = {.key_id = "ID", .secret = "SECRET"}},
                 .retries = retries});
  Server server;
  server.get("/", [&store, call](Request&) { return answer(&store, call); });
  TestClient client(server);
  return client.get("/").body;
}

const Answer stored{.fields = {"ETag: \"v1\""}};

// --- whole objects ----------------------------------------------------------------------------

TEST(S3Writes, PutIsSignedWithItsDigest) {
  StoreStub stub(Answers{stored});
  PutOptions options{.content_type = "text/plain", .must_be_new = true};
  EXPECT_EQ(run(stub, put_call(options)), "\"v1\" 5");
  const std::string head = stub.requests().at(0);
  EXPECT_TRUE(head.starts_with("PUT /bucket/pre/a HTTP/1.1\r\n")) << head;
  // printf bytes | sha256sum
  EXPECT_EQ(field(head, "x-amz-content-sha256"),
            "277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9");
  EXPECT_EQ(field(head, "Content-Type"), "text/plain");
  EXPECT_EQ(field(head, "If-None-Match"), "*");
  EXPECT_EQ(field(head, "x-amz-meta-h2server-write").size(), 32U);
  EXPECT_EQ(field(head, "x-amz-checksum-crc32c"), "0G6ckg==");
  EXPECT_EQ(field(head, "Expect"), "");
  EXPECT_TRUE(head.contains("x-amz-content-sha256;x-amz-date;x-amz-meta-h2server-write")) << head;
  EXPECT_EQ(stub.bodies().at(0), "bytes");
}

// The stub never sends the "100 Continue" that the request asks for.
TEST(S3Writes, LargeBodyDoesNotWaitToBeAskedFor) {
  StoreStub stub(Answers{stored});
  const std::string bytes(3'000'000, 'x');
  EXPECT_EQ(run(stub, put_call({}, bytes)), "\"v1\" 3000000");
  EXPECT_TRUE(stub.bodies().at(0) == bytes);
}

TEST(S3Writes, NoFieldIsForged) {
  StoreStub stub(Answers{stored});
  EXPECT_EQ(run(stub, put_call({.content_type = "a/b\r\nX: y"})), "\"v1\" 5");
  EXPECT_EQ(field(stub.requests().at(0), "Content-Type"), "binary/octet-stream");
  EXPECT_EQ(run(stub, put_call({.if_match = "\"a\"\r\nX: y"})), shown(Kind::precondition));
  EXPECT_EQ(stub.requests().size(), 1U);
}

TEST(S3Writes, WhatFailsForAMomentIsTriedAgain) {
  for (const Answer& first : {error(503, "SlowDown"), error(500, "InternalError"),
                              Answer{.closes = true}, error(400, "RequestTimeout")}) {
    StoreStub stub(Answers{first, stored});
    EXPECT_EQ(run(stub, put_call()), "\"v1\" 5");
    EXPECT_EQ(stub.bodies(), (std::vector<std::string>{"bytes", "bytes"}));
  }
}

TEST(S3Writes, BudgetEndsRetries) {
  StoreStub stub(Answers{error(503, "SlowDown")});
  EXPECT_EQ(run(stub, put_call(), {.tries_max = 9, .budget = 11}), shown(Kind::busy));
  EXPECT_EQ(stub.requests().size(), 3U);
}

TEST(S3Writes, ErrorsHaveTheirKinds) {
  struct Row {
    Answer answer;
    Kind kind;
  };
  const std::vector<Row> rows = {
      {error(403, "AccessDenied"), Kind::denied},
      {error(404, "NoSuchBucket"), Kind::denied},
      {error(404, "NoSuchKey"), Kind::absent},
      {error(412, "PreconditionFailed"), Kind::precondition},
      {error(409, "ConditionalRequestConflict"), Kind::precondition},
      {error(400, "BadDigest"), Kind::failed},
      {error(400, "XAmzContentChecksumMismatch"), Kind::failed},
      {error(507, "XMinioStorageFull"), Kind::failed},
      {error(429, "TooManyRequests"), Kind::busy},
      {{.status = 200}, Kind::failed},  // no tag
  };
  for (const Row& row : rows) {
    StoreStub stub(Answers{row.answer});
    EXPECT_EQ(run(stub, put_call()), shown(row.kind)) << row.answer.body;
  }
}

TEST(S3Writes, LastingErrorsAreNotTriedAgain) {
  for (const Answer& answer : {error(400, "EntityTooLarge"), error(507, "XMinioStorageFull")}) {
    StoreStub stub(Answers{answer});
    EXPECT_EQ(run(stub, put_call()), shown(Kind::failed));
    EXPECT_EQ(stub.requests().size(), 1U);
  }
}

// The store gets the object without, and is not asked again.
TEST(S3Writes, ChecksumsThatTheStoreRefuses) {
  StoreStub stub(Answers{error(400, "InvalidArgument"), stored, stored});
  const Call twice = [](Store& store) { return put_twice(store); };
  EXPECT_EQ(run(stub, twice), "\"v1\" 5");
  const std::vector<std::string> heads = stub.requests();
  ASSERT_EQ(heads.size(), 3U);
  EXPECT_NE(field(heads[0], "x-amz-checksum-crc32c"), "");
  EXPECT_EQ(field(heads[1], "x-amz-checksum-crc32c"), "");
  EXPECT_EQ(field(heads[2], "x-amz-checksum-crc32c"), "");
}

TEST(S3Writes, PutThatIsLate) {
  StoreStub stub(Answers{{.silent = true}});
  EXPECT_EQ(run(stub, put_call({.time_max = milliseconds(50)})), shown(Kind::late));
}

// The first request is carried out, but its response is lost.
TEST(S3Writes, FindsItsOwnObjectInTheWay) {
  for (const PutOptions& options : {PutOptions{.must_be_new = true}, {.if_match = "\"v0\""}}) {
    std::string mark;
    StoreStub stub([&mark](const std::string& head, std::size_t number) -> Answer {
      if (number == 0) {
        mark = field(head, "x-amz-meta-h2server-write");
        return {.closes = true};
      }
      if (head.starts_with("PUT ")) return error(412, "PreconditionFailed");
      return {.fields = {"ETag: \"v1\"", "x-amz-meta-h2server-write: " + mark}, .body = "bytes"};
    });
    EXPECT_EQ(run(stub, put_call(options)), "\"v1\" 5");
    EXPECT_EQ(stub.requests().size(), 3U);
  }
}

TEST(S3Writes, AnotherObjectIsInTheWay) {
  const Answer other{.fields = {"ETag: \"v1\"", "x-amz-meta-h2server-write: other"}};
  for (const Answer& found : {other, Answer{.fields = {"ETag: \"v1\""}}, Answer{.status = 404}}) {
    StoreStub stub(Answers{{.closes = true}, error(412, "PreconditionFailed"), found});
    EXPECT_EQ(run(stub, put_call({.must_be_new = true})), shown(Kind::precondition));
  }
}

TEST(S3Writes, NobodyKnowsWhatIsInTheWay) {
  StoreStub stub(Answers{{.closes = true}, error(412, "PreconditionFailed"), {.status = 403}});
  EXPECT_EQ(run(stub, put_call({.must_be_new = true})), shown(Kind::failed));
}

TEST(S3Writes, RemoveOfWhatIsAbsent) {
  for (const Answer& gone : {Answer{.status = 204}, error(404, "NoSuchKey")}) {
    StoreStub stub(Answers{error(503, "SlowDown"), gone});
    EXPECT_EQ(run(stub, remove), "removed");
    EXPECT_TRUE(stub.requests().at(1).starts_with("DELETE /bucket/pre/a HTTP/1.1\r\n"));
  }
  StoreStub stub(Answers{error(404, "NoSuchBucket")});
  EXPECT_EQ(run(stub, remove), shown(Kind::denied));
}

// --- parts ------------------------------------------------------------------------------------

TEST(S3Writes, BeginsParts) {
  const std::string text =
      "<InitiateMultipartUploadResult><UploadId>I.D+/</UploadId></InitiateMultipartUploadResult>";
  StoreStub stub(Answers{{.body = text}});
  const std::string id = run(stub, begin_parts);
  const std::string head = stub.requests().at(0);
  EXPECT_TRUE(head.starts_with("POST /bucket/pre/a?uploads= HTTP/1.1\r\n")) << head;
  EXPECT_EQ(field(head, "Content-Type"), "text/plain");
  EXPECT_EQ(id, field(head, "x-amz-meta-h2server-write") + ".I.D+/");
}

TEST(S3Writes, PutsAPart) {
  StoreStub stub(Answers{{.closes = true}, {.fields = {"ETag: \"p3\""}}});
  EXPECT_EQ(run(stub, put_part), "\"p3\"");
  const std::string head = stub.requests().at(1);
  EXPECT_TRUE(head.starts_with("PUT /bucket/pre/a?partNumber=3&uploadId=ID HTTP/1.1\r\n")) << head;
  EXPECT_EQ(stub.bodies().at(1), "the part");
}

// With a node away, MinIO does not find all that it has. What was there is asked for again.
TEST(S3Writes, WhatWasThereIsLookedForAgain) {
  const auto replace = put_call({.if_match = "\"v0\""});
  struct Row {
    Call call;
    Answer missing;
    Answer found;
    std::string result;
  };
  const Row rows[] = {
      {put_part, error(404, "NoSuchUpload"), {.fields = {"ETag: \"p3\""}}, "\"p3\""},
      {list_parts, error(404, "NoSuchUpload"), {.body = "<ListPartsResult></ListPartsResult>"}, ""},
      {replace, error(404, "NoSuchKey"), stored, "\"v1\" 5"},
  };
  for (const Row& row : rows) {
    StoreStub passing(Answers{row.missing, row.missing, row.found});
    EXPECT_EQ(run(passing, row.call), row.result) << row.missing.body;
    StoreStub gone(Answers{row.missing});
    EXPECT_EQ(run(gone, row.call), shown(Kind::absent)) << row.missing.body;
    EXPECT_EQ(gone.requests().size(), 3U);
  }
  StoreStub unexpected(Answers{error(404, "NoSuchKey")});
  EXPECT_EQ(run(unexpected, put_call()), shown(Kind::absent));
  EXPECT_EQ(unexpected.requests().size(), 1U);
}

const std::string begun =
    "<InitiateMultipartUploadResult><UploadId>ID</UploadId></InitiateMultipartUploadResult>";

// Parts have checksums if the store says that it will have one of the whole object.
TEST(S3Writes, BeginsPartsWithChecksums) {
  const std::string algorithm = "x-amz-checksum-algorithm: CRC32C";
  struct Row {
    Answers answers;
    std::string id;  // without the mark
  };
  const std::vector<Row> rows = {
      {{{.fields = {algorithm, "x-amz-checksum-type: FULL_OBJECT"}, .body = begun}}, "+crc32c.ID"},
      {{{.fields = {algorithm, "x-amz-checksum-type: COMPOSITE"}, .body = begun}}, ".ID"},
      {{{.fields = {algorithm}, .body = begun}}, ".ID"},
      {{{.body = begun}}, ".ID"},
      {{error(400, "InvalidArgument"), {.body = begun}}, ".ID"},
      {{error(501, "NotImplemented"), {.body = begun}}, ".ID"},
  };
  for (const Row& row : rows) {
    StoreStub stub(row.answers);
    const std::string id = run(stub, begin_parts);
    ASSERT_GT(id.size(), 32U) << id;
    EXPECT_EQ(id.substr(32), row.id);
    const std::vector<std::string> heads = stub.requests();
    ASSERT_EQ(heads.size(), row.answers.size());
    EXPECT_EQ(field(heads[0], "x-amz-checksum-algorithm"), "CRC32C");
    EXPECT_EQ(field(heads[0], "x-amz-checksum-type"), "FULL_OBJECT");
    if (heads.size() > 1) {
      EXPECT_EQ(field(heads[1], "x-amz-checksum-type"), "");
    }
  }
}

Task<std::string> put_summed_part(Store& store) {
  PartsId id{.key = "a", .id = "MARK+crc32c.ID"};
  const StoreResult<StoredPart> part = co_await store.put_part(id, 3, "the part");
  if (!part) co_return shown(part.error());
  PutOptions options;
  std::vector<StoredPart> all{*part};
  const StoreResult<ObjectInfo> info =
      co_await store.complete_parts(std::move(id), std::move(all), std::move(options));
  co_return part->checksum + " " + shown(info);
}

TEST(S3Writes, PutsAPartWithItsChecksum) {
  const std::string done =
      "<CompleteMultipartUploadResult><ETag>v1-1</ETag></CompleteMultipartUploadResult>";
  StoreStub stub(Answers{{.fields = {"ETag: \"p3\""}}, {.body = done}});
  EXPECT_EQ(run(stub, put_summed_part), "woZ+qg== \"v1-1\" 8");
  EXPECT_EQ(field(stub.requests().at(0), "x-amz-checksum-crc32c"), "woZ+qg==");
  EXPECT_TRUE(stub.requests().at(0).contains("&uploadId=ID "));
  EXPECT_TRUE(stub.bodies().at(1).contains("<ChecksumCRC32C>woZ+qg==</ChecksumCRC32C>"))
      << stub.bodies().at(1);
}

TEST(S3Writes, ListsPartsByPages) {
  const auto page = [](const std::string& parts, bool more) {
    return Answer{.body = "<ListPartsResult><IsTruncated>" + std::string(more ? "true" : "false") +
                          "</IsTruncated>" + parts + "</ListPartsResult>"};
  };
  const std::string first =
      "<Part><PartNumber>2</PartNumber><ETag>&quot;x&quot;</ETag><Size>5</Size></Part>";
  const std::string second = "<Part><PartNumber>7</PartNumber><ETag>y</ETag><Size>0</Size></Part>";
  StoreStub stub(Answers{page(first, true), page(second, false)});
  EXPECT_EQ(run(stub, list_parts), "2 5 \"x\";7 0 \"y\";");
  EXPECT_TRUE(stub.requests().at(1).contains("?max-parts=1000&part-number-marker=2&uploadId=ID "));
  StoreStub endless(Answers{page(first, true)});
  EXPECT_EQ(run(endless, list_parts), shown(Kind::failed));
}

// With a node away, MinIO says of every second list that it can't read a part that is there.
TEST(S3Writes, ListsPartsThatAreUnreadableNowAndThen) {
  const auto list = [](const std::string& first, const std::string& second) {
    return Answer{.body = "<ListPartsResult><Part><PartNumber>1</PartNumber>" + first +
                          "</Part><Part><PartNumber>2</PartNumber>" + second +
                          "</Part></ListPartsResult>"};
  };
  const std::string x = "<ETag>x</ETag><Size>5</Size>";
  const std::string y = "<ETag>y</ETag><Size>6</Size>";
  const std::string none = "<ETag/><Size>0</Size>";
  StoreStub passing(Answers{list(x, none), list(none, y)});
  EXPECT_EQ(run(passing, list_parts), "1 5 \"x\";2 6 \"y\";");
  StoreStub lasting(Answers{list(x, none)});
  EXPECT_EQ(run(lasting, list_parts), shown(Kind::busy));
  EXPECT_EQ(lasting.requests().size(), 8U);

  const Answer second{.body = "<ListPartsResult><Part><PartNumber>2</PartNumber>" + y +
                              "</Part></ListPartsResult>"};
  StoreStub left_out(Answers{second, list(x, none)});
  EXPECT_EQ(run(left_out, list_parts), "1 5 \"x\";2 6 \"y\";");
  StoreStub missing(Answers{second});
  EXPECT_EQ(run(missing, list_parts), "2 6 \"y\";");
  EXPECT_EQ(missing.requests().size(), 3U);
}

const Answer completed{
    .body = "<?xml version=\"1.0\"?>\n<CompleteMultipartUploadResult "
            "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><ETag>&quot;v1-1&quot;</ETag>"
            "</CompleteMultipartUploadResult>"};

TEST(S3Writes, CompletesParts) {
  StoreStub stub(Answers{completed});
  EXPECT_EQ(run(stub, complete_call({.must_be_new = true})), "\"v1-1\" 7");
  const std::string head = stub.requests().at(0);
  EXPECT_TRUE(head.starts_with("POST /bucket/pre/a?uploadId=ID HTTP/1.1\r\n")) << head;
  EXPECT_EQ(field(head, "If-None-Match"), "*");
  EXPECT_EQ(
      stub.bodies().at(0),
      "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Part>"
      "<ETag>&quot;p1&quot;</ETag><PartNumber>1</PartNumber></Part></CompleteMultipartUpload>");
}

// AWS sends the status before it knows, and spaces until it does.
TEST(S3Writes, CompletionThatFailsAfterItsStatus) {
  StoreStub stub(Answers{{.body = " \n <Error><Code>InternalError</Code></Error>"},
                         {.body = completed.body, .cut = 40},
                         {.body = "  " + completed.body}});
  EXPECT_EQ(run(stub, complete_call()), "\"v1-1\" 7");
  EXPECT_EQ(stub.requests().size(), 3U);
  StoreStub small(Answers{error(400, "EntityTooSmall")});
  EXPECT_EQ(run(small, complete_call()), shown(Kind::failed));
  StoreStub denied(
      Answers{{.body = "<Error><Code>PreconditionFailed</Code></Error>"}, {.status = 404}});
  EXPECT_EQ(run(denied, complete_call({.must_be_new = true})), shown(Kind::precondition));
}

// The first request was carried out.
TEST(S3Writes, CompletionThatWasCarriedOut) {
  const Answer own{.fields = {"ETag: \"v1-1\"", "x-amz-meta-h2server-write: MARK"},
                   .body = "content"};
  const Answer other{.fields = {"ETag: \"v2\"", "x-amz-meta-h2server-write: OTHER"}};
  struct Row {
    Answer refusal;
    Answer found;
    std::string result;
  };
  for (const Row& row : {Row{error(404, "NoSuchUpload"), own, "\"v1-1\" 7"},
                         Row{error(412, "PreconditionFailed"), own, "\"v1-1\" 7"},
                         Row{error(404, "NoSuchUpload"), other, shown(Kind::absent)},
                         Row{error(404, "NoSuchUpload"), {.status = 404}, shown(Kind::absent)},
                         Row{error(412, "PreconditionFailed"), other, shown(Kind::precondition)}}) {
    StoreStub stub(Answers{{.closes = true}, row.refusal, row.found});
    EXPECT_EQ(run(stub, complete_call({.must_be_new = true})), row.result) << row.refusal.body;
    EXPECT_TRUE(stub.requests().at(2).starts_with("HEAD /bucket/pre/a HTTP/1.1\r\n"));
  }
}

}  // namespace writes_test
}  // namespace h2server::content::s3
