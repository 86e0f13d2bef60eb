#include "content/files/static_files.h"

#include "content/support.h"
#include "file/folder.h"
#include "http/exchange.h"
#include "http/fields/target.h"
#include "http/file_head.h"

namespace h2server::content {
namespace static_files_test {

using tests::Asked;
using tests::body_of;
using tests::field_of;

class StaticFiles : public testing::Test {
 protected:
  StaticFiles() {
    directory_.write_settled("index.html", "<h1>root");
    directory_.write_settled("a.txt", "0123456789", 784111777);
    directory_.write("sub/index.html", "<h1>sub");
    directory_.write("bare/x.txt", "x");
    directory_.write("a b/index.html", "<h1>a b");
    directory_.write("odd/index.html/x", "x");
    const FilesOptions options{.compress = false};
    folder_ = *file::Folder::open(directory_.path(), folder_options(options));
    handler_ = static_files(folder_, options);
  }

  // Answers a request for `target` as if routed by "/{path...}".
  Response ask(std::string_view target, std::vector<Field> fields = {},
               Method method = Method::GET) {
    asked_ = Asked();
    arena_.clear();
    const std::optional<http::Target> parsed = http::parse_target(target, arena_);
    if (!parsed) return Response(400);
    asked_.head.method = method;
    asked_.head.target = target;
    asked_.head.path = parsed->path;
    asked_.head.query = parsed->query;
    asked_.params.add("path", parsed->path.substr(1));
    for (const Field& field : fields) asked_.head.fields.add(field.name, field.value);
    return asked_.answer(*handler_);
  }

  tests::TemporaryDirectory directory_;
  std::shared_ptr<const file::Folder> folder_;
  std::optional<Handler> handler_;
  Asked asked_;
  base::Arena arena_;
};

TEST_F(StaticFiles, Targets) {
  struct Row {
    std::string_view target;
    int status;
    std::string body;
  };
  const std::vector<Row> rows = {
      {"/", 200, "<h1>root"},
      {"/?x=/sub", 200, "<h1>root"},
      {"//", 200, "<h1>root"},
      {"/index.html", 200, "<h1>root"},
      {"/a.txt", 200, "0123456789"},
      {"/a.txt?x", 200, "0123456789"},
      {"/%61.txt", 200, "0123456789"},
      {"//a.txt", 200, "0123456789"},
      {"http://host/a.txt", 200, "0123456789"},
      {"http://host", 200, "<h1>root"},
      {"/sub/", 200, "<h1>sub"},
      {"/sub/.", 200, "<h1>sub"},
      {"/./sub/%2e/index.html", 200, "<h1>sub"},
      {"/./a.txt", 200, "0123456789"},
      {"/a.txt/.", 404, ""},  // not a directory
      {"/a%20b/", 200, "<h1>a b"},
      {"/bare/", 404, ""},   // no index
      {"/odd/", 404, ""},    // its index is a directory
      {"/a.txt/", 404, ""},  // not a directory
      {"/gone", 404, ""},
      {"/gone/", 404, ""},
      {"/../a.txt", 400, ""},
      {"/sub/%2e%2e/a.txt", 400, ""},
      {"/a.txt%00.html", 400, ""},
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

// The slash is inserted before the query, nothing is decoded or encoded, and no Location names a
// host.
TEST_F(StaticFiles, DirectoriesAreRedirectedTo) {
  const std::vector<std::pair<std::string_view, std::string>> rows = {
      {"/sub", "/sub/"},
      {"/sub?", "/sub/"},
      {"/sub?a=b", "/sub/?a=b"},
      {"/sub?a=/b?c", "/sub/?a=/b?c"},
      {"/%73ub", "/%73ub/"},
      {"/a%20b?x=%20y", "/a%20b/?x=%20y"},
      {"/bare", "/bare/"},
      {"//sub", "/sub/"},
      {"////sub?x", "/sub/?x"},
      {"/./sub", "/sub/"},
      {"/.//sub", "/sub/"},
      {"//.//%2e/%2E//./sub?x", "/sub/?x"},
      {"http://evil/.//sub", "/sub/"},
      {"/odd/./index.html", "/odd/./index.html/"},
      {"/odd//index.html", "/odd//index.html/"},
      {"http://evil/sub", "/sub/"},
      {"http://evil//sub?x", "/sub/?x"},
      {"HTTPS://evil:8080/sub", "/sub/"},
      {"/sub?http://evil/", "/sub/?http://evil/"},
      {"http://evil/sub?://other/", "/sub/?://other/"},
  };
  for (const auto& [target, location] : rows) {
    const Response response = ask(target);
    EXPECT_EQ(response.status(), 301) << target;
    EXPECT_EQ(field_of(response, "Location"), location) << target;
  }
}

TEST_F(StaticFiles, PreconditionsAndRanges) {
  const FileRef file = folder_->find_now("a.txt").file;
  ASSERT_NE(file, nullptr);
  const std::string_view tag = file->etag();
  constexpr std::string_view date = "Sun, 06 Nov 1994 08:49:37 GMT";
  constexpr std::string_view earlier = "Sun, 06 Nov 1994 08:49:36 GMT";
  struct Row {
    std::vector<Field> fields;
    int status;
    std::string body;  // for 200 and 206
    std::string content_range = "-";
  };
  const std::vector<Row> rows = {
      {{{"if-none-match", tag}}, 304, ""},
      {{{"if-none-match", "*"}}, 304, ""},
      {{{"if-none-match", "\"other\""}}, 200, "0123456789"},
      // Several lines of a list field form one list.
      {{{"if-none-match", "\"other\""}, {"If-None-Match", tag}}, 304, ""},
      {{{"if-none-match", tag}, {"x", "y"}, {"if-none-match", "\"other\""}}, 304, ""},
      {{{"if-none-match", "\"a\""}, {"if-none-match", ""}, {"if-none-match", tag}}, 304, ""},
      {{{"if-none-match", tag}, {"if-none-match", "broken"}}, 200, "0123456789"},
      {{{"if-none-match", "\"a\""}, {"if-none-match", "\"b\""}}, 200, "0123456789"},
      {{{"if-match", "\"other\""}, {"if-match", tag}}, 200, "0123456789"},
      {{{"if-match", "\"a\""}, {"if-match", "\"b\""}}, 412, ""},
      {{{"if-match", tag}, {"if-none-match", "\"a\""}, {"if-none-match", tag}}, 304, ""},
      // Repeated lines of a field that is not a list are ignored.
      {{{"if-modified-since", date}, {"if-modified-since", date}}, 200, "0123456789"},
      {{{"if-unmodified-since", earlier}, {"if-unmodified-since", date}}, 200, "0123456789"},
      {{{"range", "bytes=2-4"}, {"range", "bytes=2-4"}}, 200, "0123456789"},
      {{{"range", "bytes=2-4"}, {"if-range", tag}, {"if-range", tag}}, 200, "0123456789"},
      {{{"if-modified-since", date}}, 304, ""},
      {{{"if-modified-since", earlier}}, 200, "0123456789"},
      {{{"if-match", tag}}, 200, "0123456789"},
      {{{"if-match", "\"other\""}}, 412, ""},
      {{{"if-unmodified-since", earlier}}, 412, ""},
      {{{"range", "bytes=2-4"}}, 206, "234", "bytes 2-4/10"},
      {{{"range", "bytes=-3"}}, 206, "789", "bytes 7-9/10"},
      {{{"range", "bytes=9-99"}}, 206, "9", "bytes 9-9/10"},
      {{{"range", "bytes=10-"}}, 416, "", "bytes */10"},
      {{{"range", "bytes=0-1,3-4"}}, 206, "01234", "bytes 0-4/10"},
      {{{"range", "bytes=7-,0-1,20-"}}, 200, "0123456789"},
      {{{"range", "bytes=20-,10-"}}, 416, "", "bytes */10"},
      {{{"range", "lines=1-2"}}, 200, "0123456789"},
      {{{"range", "bytes=2-4"}, {"if-range", tag}}, 206, "234", "bytes 2-4/10"},
      {{{"range", "bytes=2-4"}, {"if-range", "\"other\""}}, 200, "0123456789"},
      {{{"range", "bytes=2-4"}, {"if-none-match", tag}}, 304, ""},
      {{{"range", "bytes=99-"}, {"if-match", "\"other\""}}, 412, ""},
  };
  for (const Row& row : rows) {
    const std::string name = testing::PrintToString(std::string(row.fields[0].name)) + " " +
                             std::string(row.fields[0].value);
    const Response response = ask("/a.txt", row.fields);
    EXPECT_EQ(response.status(), row.status) << name;
    EXPECT_EQ(field_of(response, "Content-Range"), row.content_range) << name;
    if (row.status == 200 || row.status == 206) {
      EXPECT_EQ(body_of(response), row.body) << name;
    }
    EXPECT_EQ(response.described_by() != nullptr, row.status == 200) << name;
    if (row.status == 304 || row.status == 206) {
      EXPECT_EQ(field_of(response, "ETag"), tag) << name;
      EXPECT_EQ(field_of(response, "Last-Modified"), date) << name;
    }
  }
}

TEST_F(StaticFiles, SeveralRanges) {
  directory_.write_settled("b.txt", std::string(1000, 'x'), 784111777);
  const FileRef file = folder_->find_now("b.txt").file;
  ASSERT_NE(file, nullptr);
  constexpr std::string_view date = "Sun, 06 Nov 1994 08:49:37 GMT";
  constexpr std::string_view earlier = "Sun, 06 Nov 1994 08:49:36 GMT";
  const Field several{"range", "bytes=0-1,-1"};
  const std::vector<std::pair<std::vector<Field>, int>> rows = {
      {{several}, 206},
      {{several, {"if-range", file->etag()}}, 206},
      {{several, {"if-range", date}}, 206},
      {{several, {"if-range", "\"other\""}}, 200},
      {{several, {"if-range", earlier}}, 200},
      {{several, {"if-none-match", file->etag()}}, 304},
      {{several, {"if-match", "\"other\""}}, 412},
      {{several, several}, 200},
  };
  for (const auto& [fields, status] : rows) {
    const Response response = ask("/b.txt", fields);
    const std::string name(fields.back().value);
    EXPECT_EQ(response.status(), status) << name;
    EXPECT_EQ(std::holds_alternative<Response::Streamed>(response.body()), status == 206) << name;
    EXPECT_EQ(field_of(response, "Content-Type").starts_with("multipart/byteranges; boundary="),
              status == 206)
        << name;
  }
}

TEST_F(StaticFiles, RangesAreForGetOnly) {
  EXPECT_EQ(ask("/a.txt", {{"range", "bytes=0-0,-1"}}, Method::HEAD).status(), 200);
  EXPECT_EQ(ask("/a.txt", {{"range", "bytes=2-4"}}, Method::HEAD).status(), 200);
  EXPECT_EQ(ask("/a.txt", {{"range", "bytes=99-"}}, Method::HEAD).status(), 200);
}

TEST_F(StaticFiles, RangesOfAnIndex) {
  const Response response = ask("/sub/", {{"range", "bytes=4-"}});
  EXPECT_EQ(response.status(), 206);
  EXPECT_EQ(body_of(response), "sub");
  EXPECT_EQ(field_of(response, "Content-Type"), "text/html; charset=utf-8");
}

// Each mapped file keeps a descriptor. The first one uses the thread's spare descriptor.
TEST_F(StaticFiles, ShortOfDescriptorsTheAnswerIs503) {
  directory_.write("large1", std::string(100'000, 'x'));
  directory_.write("large2", std::string(100'000, 'x'));
  tests::on_a_new_thread([this] {
    // UBSan uses descriptors when it first sees a type, so that happens here.
    EXPECT_EQ(ask("/gone").status(), 404);
    const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
    EXPECT_EQ(ask("/a.txt").status(), 200);
    EXPECT_EQ(ask("/large1").status(), 200);
    const Response response = ask("/large2");
    EXPECT_EQ(response.status(), 503);
    EXPECT_EQ(field_of(response, "Retry-After"), "1");
  });
}

}  // namespace static_files_test
}  // namespace h2server::content
