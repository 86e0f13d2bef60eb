#include "h2server/response.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "base/memory/arena.h"
#include "file/support.h"
#include "h2server/cookies.h"
#include "http/file_head.h"
#include "http/h2/response_fields.h"

namespace h2server {
namespace response_test {

class Nothing final : public BodySource {
 public:
  Task<Result<std::string_view>> read() override { co_return std::string_view(); }
};

Response streamed(std::optional<std::uint64_t> size = std::nullopt) {
  return Response(std::make_unique<Nothing>(), "a/b", size);
}

// RFC 9110, 15: interim responses, invalid numbers, and classes that clients do not understand.
TEST(Response, RefusesAStatusThatNoResponseHas) {
  for (const int status : {-200, -1, 0, 1, 20, 99, 100, 101, 103, 199, 600, 999, 1000, 20000}) {
    EXPECT_THROW(Response{status}, std::invalid_argument) << status;
    EXPECT_THROW(Response(status, "body"), std::invalid_argument) << status;
  }
  for (const int status : {200, 204, 299, 304, 418, 500, 599}) {
    EXPECT_EQ(Response(status).status(), status);
    EXPECT_EQ(Response(status, "body").status(), status);
  }
  EXPECT_EQ(Response().status(), 200);
}

TEST(Response, RefusesABodyThatIsNotThere) {
  const FileRef file = tests::text_file("content");
  EXPECT_THROW(Response{FileRef{}}, std::invalid_argument);
  EXPECT_THROW(Response(std::unique_ptr<BodySource>(), "a/b"), std::invalid_argument);
  Response response(200, "before");
  const auto part = [&](const FileRef& of, std::uint64_t first, std::uint64_t count) {
    response.set_body(Response::FilePart{of, first, count});
  };
  EXPECT_THROW(response.set_body(Response::Streamed{}), std::invalid_argument);
  EXPECT_THROW(part(nullptr, 0, 0), std::invalid_argument);
  EXPECT_THROW(part(file, 0, 8), std::invalid_argument);
  EXPECT_THROW(part(file, 8, 0), std::invalid_argument);
  EXPECT_THROW(part(file, 1, ~std::uint64_t{0}), std::invalid_argument);
  EXPECT_EQ(response.size(), 6U) << "nothing has changed";
  EXPECT_NO_THROW(part(file, 7, 0));
  EXPECT_NO_THROW(part(file, 0, 7));
}

TEST(Response, TakesFieldsThatAreFields) {
  Response response(201);
  response.add("X-Empty", "").add("x", "a b\tc").add("X", "caf\xc3\xa9");
  ASSERT_EQ(response.fields().size(), 3U);
  EXPECT_EQ(response.fields()[1].name, "x");
  EXPECT_EQ(response.fields()[1].value, "a b\tc");
}

TEST(Response, RefusesWhatWouldBreakOut) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "a"},        {"a b", "c"},         {"a:", "b"},   {"a\r\nb", "c"},
      {"a", "b\r\nc"},  {"a", "b\nc"},        {"a", "b\rc"}, {"a", std::string("b\0c", 3)},
      {"a", "b\x7f"},   {"a", " b"},          {"a", "b "},   {"a", "\tb"},
      {":status", "2"}, {"caf\xc3\xa9", "b"},
  };
  Response response;
  for (const auto& [name, value] : rows) {
    EXPECT_THROW(response.add(name, value), std::invalid_argument) << name << ": " << value;
  }
  EXPECT_TRUE(response.fields().empty());
  EXPECT_THROW(Response(200, "body", "text/html\r\nX: y"), std::invalid_argument);
}

TEST(Response, IsDescribedByAFileOnlyWhileItIsThatFile) {
  const FileRef file = tests::text_file("content");
  Response response(file);
  EXPECT_EQ(response.described_by(), file.get());
  response.set_body(Response::FilePart{file, 0, 3});
  EXPECT_EQ(response.described_by(), nullptr);
  EXPECT_EQ(response.size(), 3U);

  Response replaced(file);
  replaced.set_body("text");
  EXPECT_EQ(replaced.described_by(), nullptr);

  Response changed(file);
  changed.body() = "text";
  EXPECT_EQ(changed.described_by(), nullptr);
}

std::string own_fields_of(const Response& response) {
  std::string all;
  for (const Response::Line& line : response.fields()) all += line.name + "=" + line.value + ";";
  return all;
}

TEST(Response, ChangesItsFields) {
  Response response(200);
  response.add("A", "1").add("b", "2").add("a", "3").add("C", "4");
  EXPECT_EQ(response.find("a"), "1");
  EXPECT_EQ(response.find("B"), "2");
  EXPECT_EQ(response.find("ab"), std::nullopt);
  EXPECT_EQ(response.find(""), std::nullopt);
  response.replace("a", "5");
  EXPECT_EQ(own_fields_of(response), "b=2;C=4;a=5;");
  response.replace("D", "6").remove("B").remove("none");
  EXPECT_EQ(own_fields_of(response), "C=4;a=5;D=6;");
  response.replace("C", response.fields()[0].value);  // a view of what is replaced
  EXPECT_EQ(own_fields_of(response), "a=5;D=6;C=4;");
  for (const char* const name : {"Date", "content-length", "a b", ""}) {
    EXPECT_THROW(response.replace(name, "1"), std::invalid_argument) << name;
  }
  EXPECT_THROW(response.replace("a", "b\n"), std::invalid_argument);
  EXPECT_EQ(own_fields_of(response), "a=5;D=6;C=4;") << "nothing has changed";
}

TEST(Response, IsChangedInPlaceOrPassedOn) {
  const auto make = [] {
    return Response(201, "a").add("X", "1").add("X", "2").replace("Y", "3").remove("content-type");
  };
  Response response = make().set_cookie({.name = "b"});
  EXPECT_EQ(response.status(), 201);
  EXPECT_EQ(std::get<std::string>(response.body()), "a");
  EXPECT_EQ(own_fields_of(response), "X=1;X=2;Y=3;Set-Cookie=b=; Path=/; HttpOnly; SameSite=Lax;");
  EXPECT_EQ(&response.add("Z", "4").replace("Z", "5").remove("Z"), &response);
}

TEST(Response, ChangesItsStatus) {
  Response response(200, "body");
  response.set_status(404);
  EXPECT_EQ(response.status(), 404);
  for (const int status : {0, 100, 199, 600}) {
    EXPECT_THROW(response.set_status(status), std::invalid_argument) << status;
  }
  EXPECT_EQ(response.status(), 404);
  EXPECT_EQ(std::get<std::string>(response.body()), "body");
  EXPECT_EQ(own_fields_of(response), "Content-Type=text/plain; charset=utf-8;");
}

// The fields of a whole file are in its precomputed head until one of them, or the status, changes.
TEST(Response, ChangesWhatAFileSays) {
  const FileRef file = tests::text_file("content");
  const std::string type = "Content-Type=text/html; charset=utf-8;";
  const std::string validators = "Last-Modified=" + std::string(file->last_modified()) +
                                 ";ETag=" + std::string(file->etag()) + ";";
  const auto asked = [&](auto change) {
    Response response(file);
    response.add("X", "y");
    change(response);
    EXPECT_EQ(response.size(), 7U);
    return (response.described_by() != nullptr ? "file;" : "") + own_fields_of(response);
  };
  EXPECT_EQ(Response(file).find("eTag"), file->etag());
  EXPECT_EQ(Response(file).find("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(Response(file).add("X", "y").find("x"), "y");
  EXPECT_EQ(Response(file).find("x"), std::nullopt);

  EXPECT_EQ(asked([](Response& response) { response.set_status(200); }), "file;X=y;");
  EXPECT_EQ(asked([](Response& response) { response.replace("x", "z"); }), "file;x=z;");
  EXPECT_EQ(asked([](Response& response) { response.remove("X"); }), "file;");
  EXPECT_EQ(asked([](Response& response) { response.set_status(404); }),
            type + validators + "Accept-Ranges=bytes;X=y;");
  EXPECT_EQ(asked([](Response& response) { response.remove("accept-ranges"); }),
            type + validators + "X=y;");
  EXPECT_EQ(asked([](Response& response) { response.replace("content-type", "a/b"); }),
            validators + "Accept-Ranges=bytes;X=y;content-type=a/b;");
}

// --- http/h2/response_fields.h ----------------------------------------------------------------

std::string text_of(const http::h2::PreparedHead& head) {
  std::string all;
  const auto add = [&](const Field& field) {
    all.append(field.name).append("=").append(field.value).append(";");
  };
  for (const http::h2::hpack::HashedField& shared : head.shared) add(shared.field);
  for (const Field& field : head.own.fields) add(field);
  return all;
}

std::string h2_fields_of(const Response& response) {
  base::Arena arena;
  std::vector<Field> fields = {{"left", "over"}};
  const http::h2::ResponseHead head = http::h2::response_head(response, arena, fields);
  std::string all;
  if (head.prepared != nullptr) all += "prepared:" + text_of(*head.prepared);
  for (const Field& field : head.fields)
    all.append(field.name).append("=").append(field.value) += ";";
  return all;
}

TEST(ResponseFields, BeginWithTheStatus) {
  EXPECT_EQ(h2_fields_of(Response(404, "hello", "text/html")),
            ":status=404;server=h2server;content-length=5;content-type=text/html;");
  EXPECT_EQ(h2_fields_of(Response(204)), ":status=204;server=h2server;");
  EXPECT_EQ(h2_fields_of(Response(304)), ":status=304;server=h2server;");
  EXPECT_EQ(h2_fields_of(Response(200)), ":status=200;server=h2server;content-length=0;");
}

TEST(ResponseFields, HaveNoLengthThatNobodyKnows) {
  EXPECT_EQ(h2_fields_of(streamed()), ":status=200;server=h2server;content-type=a/b;");
  EXPECT_EQ(h2_fields_of(streamed(7)),
            ":status=200;server=h2server;content-length=7;content-type=a/b;");
}

TEST(Response, RefusesFieldsThatTheServerSets) {
  for (const char* const name : {"Date", "content-length", "CONNECTION", "Transfer-Encoding"}) {
    Response response(200);
    EXPECT_THROW(response.add(name, "1"), std::invalid_argument) << name;
  }
}

TEST(ResponseFields, AreInLowerCaseWithoutTheConnections) {
  Response response(200);
  response.add("X-Y", "Z").add("KEEP-ALIVE", "1");
  response.add("Upgrade", "h3").add("Proxy-Connection", "x");
  EXPECT_EQ(h2_fields_of(response), ":status=200;server=h2server;content-length=0;x-y=Z;");
}

TEST(ResponseFields, OfAFileAreItsOwn) {
  const FileRef page = tests::text_file("content");
  Response response(page);
  response.add("X", "y");
  EXPECT_EQ(h2_fields_of(response),
            fmt::format("prepared:content-type={};accept-ranges=bytes;"
                        "content-length=7;last-modified={};etag={};x=y;",
                        page->content_type(), page->last_modified(), page->etag()));
}

TEST(ResponseFields, OfAFileWithAnotherStatus) {
  const FileRef page = tests::text_file("content");
  Response response(page);
  response.set_status(404);
  response.remove("etag").remove("last-modified").remove("accept-ranges");
  EXPECT_EQ(h2_fields_of(response),
            ":status=404;server=h2server;content-length=7;content-type=text/html; charset=utf-8;");
}

}  // namespace response_test
}  // namespace h2server
