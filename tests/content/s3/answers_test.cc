#include "content/s3/answers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::content::s3 {
namespace answers_test {

using Kind = StoreError::Kind;
using Lines = std::vector<Response::Line>;

// Returns "SIZE FIRST+COUNT", or what is wrong.
std::string part_of(const AnswerHead& head) {
  const Result<ObjectHead, std::string_view> object = object_head(head);
  if (!object) return std::string(object.error());
  return std::to_string(object->info.size) + " " + std::to_string(object->first) + "+" +
         std::to_string(object->count);
}

TEST(S3Answers, PartsOfObjects) {
  const std::string no_range = "the response has no valid Content-Range";
  const std::vector<std::pair<AnswerHead, std::string>> rows = {
      {{200, {{"content-length", "5"}}}, "5 0+5"},
      {{200, {{"Content-Length", " 0 "}}}, "0 0+0"},
      {{200, {{"Content-Length", "5"}, {"Content-Range", "bytes 1-2/3"}}}, "5 0+5"},
      {{200, {}}, "the response has no Content-Length"},
      {{200, {{"Content-Length", "-1"}}}, "the response has no Content-Length"},
      {{204, {{"Content-Length", "0"}}}, "the response has an unexpected status"},
      {{206, {{"Content-Range", "bytes 1-2/30"}}}, "30 1+2"},
      {{206, {{"Content-Range", "bytes 1-2/30"}, {"Content-Length", "2"}}}, "30 1+2"},
      {{206, {{"Content-Range", "bytes 0-29/30"}, {"Content-Length", "30"}}}, "30 0+30"},
      {{206, {{"Content-Range", "bytes 1-2/30"}, {"Content-Length", "3"}}},
       "Content-Range and Content-Length contradict each other"},
      {{206, {{"Content-Length", "2"}}}, no_range},
      {{206, {{"Content-Range", "bytes 2-1/30"}}}, no_range},
      {{206, {{"Content-Range", "bytes 1-30/30"}}}, no_range},
      {{206, {{"Content-Range", "bytes 1-2/*"}}}, no_range},
      {{206, {{"Content-Range", "bytes */30"}}}, no_range},
      {{206, {{"Content-Range", "lines 1-2/30"}}}, no_range},
      {{206, {{"Content-Range", "bytes 1-2"}}}, no_range},
      {{206, {{"Content-Range", "bytes 1/2-3"}}}, no_range},
      {{206, {{"Content-Range", "bytes 0-18446744073709551615/18446744073709551616"}}}, no_range},
  };
  for (const auto& [head, out] : rows) EXPECT_EQ(part_of(head), out);
}

ObjectInfo info_with(Lines fields) {
  fields.push_back({"Content-Length", "1"});
  return object_head({200, std::move(fields)}).value().info;
}

TEST(S3Answers, DescriptionsOfObjects) {
  const ObjectInfo info = info_with({{"etag", "\"9a0364b9e99bb480dd25e1f0284c8555\""},
                                     {"last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"},
                                     {"content-type", "text/HTML;charset=utf-8"},
                                     {"cache-control", "max-age=60"},
                                     {"content-encoding", "gzip"},
                                     {"content-disposition", "inline"},
                                     {"content-language", "de"},
                                     {"expires", "0"},
                                     {"x-amz-request-id", "1"},
                                     {"server", "MinIO"}});
  EXPECT_EQ(info.etag, "\"9a0364b9e99bb480dd25e1f0284c8555\"");
  EXPECT_EQ(info.modified_s, 784111777);
  EXPECT_EQ(info.content_type, "text/html; charset=utf-8");
  std::string fields;
  for (const Response::Line& line : info.fields) fields += line.name + ": " + line.value + "\n";
  EXPECT_EQ(fields, "Content-Encoding: gzip\nContent-Language: de\nContent-Disposition: inline\n"
                    "Cache-Control: max-age=60\nExpires: 0\n");
}

TEST(S3Answers, OddDescriptions) {
  for (const std::string_view tag : {"abc", "W/\"abc\"", "\"a\"b\"", "\"", "\"a b\""}) {
    EXPECT_EQ(info_with({{"ETag", std::string(tag)}}).etag, "") << tag;
  }
  EXPECT_EQ(info_with({{"Last-Modified", "yesterday"}}).modified_s, 0);
  EXPECT_EQ(info_with({{"Last-Modified", "Sun, 06 Nov 1904 08:49:37 GMT"}}).modified_s, 0);
  for (const std::string_view type :
       {"binary/octet-stream", "", "text", "a\x01/b", "text/html; x"}) {
    EXPECT_EQ(info_with({{"Content-Type", std::string(type)}}).content_type, "") << type;
  }
  EXPECT_EQ(info_with({{"Content-Type", "application/octet-stream"}}).content_type,
            "application/octet-stream");
  EXPECT_TRUE(info_with({{"Content-Encoding", "aws-chunked"}}).fields.empty());
  EXPECT_EQ(info_with({{"Content-Encoding", "aws-chunked,gzip"}}).fields.at(0).value, "gzip");
  EXPECT_TRUE(info_with({{"Cache-Control", ""}, {"Expires", "a\x01"}}).fields.empty());
}

// The texts are those of the documentation of the S3 API and of MinIO.
constexpr std::string_view no_such_key =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>NoSuchKey</Code>"
    "<Message>The resource you requested does not exist</Message><Resource>/mybucket/x</Resource>"
    "<RequestId>4442587FB7D0A2F9</RequestId></Error>";

std::string error_text(const std::string& code, const std::string& message = "m") {
  return "<Error><Code>" + code + "</Code><Message>" + message + "</Message></Error>";
}

TEST(S3Answers, Errors) {
  struct Row {
    int status;
    std::string body;
    Kind kind;
    std::string reason;
  };
  const std::vector<Row> rows = {
      {404, std::string(no_such_key), Kind::absent,
       "status 404, NoSuchKey: The resource you requested does not exist"},
      {404, "", Kind::absent, "status 404"},
      {404, "<html>not found", Kind::absent, "status 404"},
      {404, error_text("NoSuchBucket"), Kind::denied, "status 404, NoSuchBucket: m"},
      {403, error_text("AccessDenied"), Kind::denied, "status 403, AccessDenied: m"},
      {403, "", Kind::denied, "status 403"},
      {401, "", Kind::denied, "status 401"},
      {301, error_text("PermanentRedirect"), Kind::denied, "status 301, PermanentRedirect: m"},
      {400, error_text("AuthorizationHeaderMalformed"), Kind::denied,
       "status 400, AuthorizationHeaderMalformed: m"},
      {400, error_text("ExpiredToken"), Kind::denied, "status 400, ExpiredToken: m"},
      {400, error_text("KeyTooLongError"), Kind::absent, "status 400, KeyTooLongError: m"},
      {400, error_text("RequestTimeout"), Kind::failed, "status 400, RequestTimeout: m"},
      {304, "", Kind::not_modified, "status 304"},
      {409, error_text("OperationAborted"), Kind::failed, "status 409, OperationAborted: m"},
      {499, error_text("ClientDisconnected"), Kind::failed, "status 499, ClientDisconnected: m"},
      {412, error_text("PreconditionFailed"), Kind::precondition,
       "status 412, PreconditionFailed: m"},
      {416, error_text("InvalidRange"), Kind::unsatisfiable, "status 416, InvalidRange: m"},
      {429, "", Kind::busy, "status 429"},
      {500, error_text("InternalError"), Kind::failed, "status 500, InternalError: m"},
      {500, error_text("SlowDown"), Kind::busy, "status 500, SlowDown: m"},
      {502, "", Kind::failed, "status 502"},
      {503, error_text("SlowDown"), Kind::busy, "status 503, SlowDown: m"},
      {504, "", Kind::failed, "status 504"},
      {599, "", Kind::failed, "status 599"},
      // One line, without the signature of the request.
      {403, error_text("A", "x&#10;y\xc2\x85") + "", Kind::denied, "status 403, A: x y\xc2\x85"},
      {403, "<Error><Code>A</Code><AWSAccessKeyId>ID</AWSAccessKeyId></Error>", Kind::denied,
       "status 403, A"},
      {403, error_text("A", std::string(400, 'x')), Kind::denied,
       "status 403, A: " + std::string(300, 'x')},
  };
  for (const Row& row : rows) {
    const StoreError error = store_error({row.status, {}}, row.body);
    EXPECT_EQ(error.kind, row.kind) << row.status << row.body;
    EXPECT_EQ(error.reason, row.reason);
    const bool again = row.kind == Kind::busy || row.kind == Kind::failed;
    EXPECT_EQ(may_be_retried(error), again && !error.lasting) << row.status;
  }
}

TEST(S3Answers, ErrorsThatLast) {
  struct Row {
    int status;
    std::string_view code;
    bool lasting;
  };
  const std::vector<Row> rows = {
      {400, "EntityTooSmall", true},    {400, "EntityTooLarge", true},
      {400, "InvalidPart", false},  // MinIO, while a node is away
      {400, "InvalidPartOrder", true},  {400, "MalformedXML", true},
      {507, "XMinioStorageFull", true}, {507, "", true},
      {501, "NotImplemented", true},    {200, "InvalidPart", false},
      {400, "BadDigest", false},        {400, "IncompleteBody", false},
      {400, "RequestTimeout", false},   {500, "InternalError", false},
      {503, "SlowDown", false},         {502, "", false},
  };
  for (const Row& row : rows) {
    const std::string body = "<Error><Code>" + std::string(row.code) + "</Code></Error>";
    const StoreError error = store_error({row.status, {}}, body);
    EXPECT_EQ(error.lasting, row.lasting) << row.status << row.code;
    EXPECT_EQ(may_be_retried(error), !row.lasting) << row.status << row.code;
  }
}

TEST(S3Answers, RefusalsOfChecksums) {
  struct Row {
    int status;
    std::string_view code;
    std::string_view message;
    bool refuses;
  };
  const std::vector<Row> rows = {
      {400, "InvalidArgument", "", true},
      {400, "InvalidRequest", "Checksum algorithm is not supported", true},
      {400, "XAmzContentChecksumMismatch", "", false},  // another body arrived
      {501, "NotImplemented", "", true},
      {400, "InvalidRequest", "something else", false},
      {400, "KeyTooLongError", "", false},
      {403, "AccessDenied", "checksum", false},
      {500, "InternalError", "checksum", false},
  };
  for (const Row& row : rows) {
    const std::string body = "<Error><Code>" + std::string(row.code) + "</Code><Message>" +
                             std::string(row.message) + "</Message></Error>";
    EXPECT_EQ(refuses_checksum(store_error({row.status, {}}, body)), row.refuses) << body;
  }
}

TEST(S3Answers, WhatErrorsCarry) {
  const StoreError unchanged =
      store_error({304, {{"ETag", "\"a\""}, {"Cache-Control", "no-cache"}}}, "");
  EXPECT_EQ(unchanged.info.etag, "\"a\"");
  EXPECT_EQ(unchanged.info.fields.size(), 1U);
  EXPECT_EQ(store_error({416, {}},
                        "<Error><Code>InvalidRange</Code><RangeRequested>bytes=9-</RangeRequested>"
                        "<ActualObjectSize>7</ActualObjectSize></Error>")
                .info.size,
            7U);
  const auto wait_of = [](const std::string& value) {
    return store_error({503, {{"Retry-After", value}}}, "").retry_after;
  };
  EXPECT_EQ(wait_of("2"), std::chrono::seconds(2));
  EXPECT_EQ(wait_of("99999999999"), std::chrono::hours(1));
  EXPECT_EQ(wait_of("soon"), std::chrono::seconds(0));
  EXPECT_EQ(store_error({301, {{"x-amz-bucket-region", "eu-west-1"}}}, "").reason,
            "status 301 (the bucket is in the region eu-west-1)");
}

// An error may be cut at any byte: then there is at least the status.
TEST(S3Answers, CutErrors) {
  for (std::size_t size = 0; size < no_such_key.size(); ++size) {
    const StoreError error = store_error({404, {}}, no_such_key.substr(0, size));
    EXPECT_EQ(error.kind, Kind::absent);
    EXPECT_EQ(error.reason, "status 404");
  }
}

// --- lists ------------------------------------------------------------------------------------

// Returns "FOLDER/ …, NAME SIZE TIME …, >NEXT", or what is wrong.
std::string listed(std::string_view body, std::string_view prefix = "") {
  const Result<ListPage, std::string_view> page = list_page(body, prefix);
  if (!page) return std::string(page.error());
  std::string out;
  for (const std::string& folder : page->folders) out += folder + "/ ";
  for (const ListedObject& object : page->objects) {
    out += object.name + " " + std::to_string(object.size) + " " +
           std::to_string(object.modified_s) + " ";
  }
  return page->next.empty() ? out : out + ">" + page->next;
}

std::string list_of(const std::string& content) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
         content + "</ListBucketResult>";
}

std::string object_of(const std::string& key, const std::string& size = "1") {
  return "<Contents><Key>" + key + "</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified>" +
         "<ETag>&quot;x&quot;</ETag><Size>" + size + "</Size></Contents>";
}

std::string folder_of(const std::string& prefix) {
  return "<CommonPrefixes><Prefix>" + prefix + "</Prefix></CommonPrefixes>";
}

TEST(S3Answers, Lists) {
  const std::string time = " 1255369830 ";
  const std::string url = "<EncodingType>url</EncodingType>";
  struct Row {
    std::string content;
    std::string prefix;
    std::string out;
  };
  const std::vector<Row> rows = {
      {"", "", ""},
      {"<IsTruncated>false</IsTruncated>" + object_of("a") + folder_of("b/"), "", "b/ a 1" + time},
      {object_of("p/a") + object_of("p/b", "20") + folder_of("p/q/"), "p/",
       "q/ a 1" + time + "b 20" + time},
      // The order of elements differs; blanks between them don't count.
      {folder_of("c/") + "\n  " + object_of("a") + "\n" + url, "", "c/ a 1" + time},
      {url + object_of("%C3%BC+%2B%25"), "", "\xc3\xbc +% 1" + time},
      {object_of("%C3+"), "", "%C3+ 1" + time},  // without an encoding
      {url + object_of("p%2Fa") + folder_of("p%2Fb%2F"), "p/", "b/ a 1" + time},
      {object_of("a&amp;&lt;"), "", "a&< 1" + time},
      // Objects that stand for folders, and names that no path has.
      {object_of("p/") + object_of("p/a/"), "p/", ""},
      {object_of(".") + object_of("..") + folder_of("../") + folder_of("/"), "", ""},
      {"<IsTruncated>true</IsTruncated><NextContinuationToken>x+/=</NextContinuationToken>" +
           object_of("a"),
       "", "a 1" + time + ">x+/="},
      {"<NextContinuationToken>x</NextContinuationToken>", "", ""},
      {"<IsTruncated>true</IsTruncated>", "", "a list that goes on has no token for it"},
      {object_of("a"), "p/", "a listed key does not begin with the prefix"},
      {url + object_of("%"), "", "a listed key does not begin with the prefix"},
      {object_of("a", "x"), "", "a listed object has no size"},
  };
  for (const Row& row : rows) EXPECT_EQ(listed(list_of(row.content), row.prefix), row.out);
}

TEST(S3Answers, TimesOfLists) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"1970-01-01T00:00:00Z", "0"},
      {"1970-01-01T00:00:01.999Z", "1"},
      {"2024-02-29T12:00:00.000Z", "1709208000"},
      {"2023-02-29T12:00:00.000Z", "0"},
      {"2024-02-29 12:00:00.000Z", "0"},
      {"2024-02-29T24:00:00.000Z", "0"},
      {"2024-02-29T12:00:00", "0"},
      {"2024-02-29T12:00:00+01:00", "0"},
      {"", "0"},
  };
  for (const auto& [text, seconds] : rows) {
    const std::string object =
        "<Contents><Key>a</Key><LastModified>" + text + "</LastModified><Size>1</Size></Contents>";
    EXPECT_EQ(listed(list_of(object)), "a 1 " + seconds + " ") << text;
  }
}

TEST(S3Answers, CutLists) {
  const std::string whole = list_of(folder_of("b/") + object_of("a"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(list_page(std::string_view(whole).substr(0, size), "")) << size;
  }
  EXPECT_EQ(listed(no_such_key), "the response is not a list");
}

TEST(S3Answers, LargestPage) {
  std::string objects;
  for (int i = 0; i < 1000; ++i) {
    std::string key;
    for (int j = 0; j < 1024; ++j) key += "%C3";
    objects += object_of(key) + "\n";
  }
  const std::string page = list_of("<EncodingType>url</EncodingType>" + objects);
  ASSERT_LT(page.size(), AnswerLimits::list_bytes_max);
  EXPECT_EQ(list_page(page, "").value().objects.size(), 1000U);
}

}  // namespace answers_test
}  // namespace h2server::content::s3
