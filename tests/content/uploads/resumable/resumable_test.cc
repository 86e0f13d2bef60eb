#include "content/uploads/resumable/resumable.h"

#include "content/resumable_support.h"
#include "content/storage/file_digest.h"
#include "content/uploads/area/resumable_fields.h"
#include "content/uploads/resumable/upload_metadata.h"
#include "http/fields/digest_fields.h"

namespace h2server::content {
namespace resumable_test {

using tests::Asking;
using tests::body_of;
using tests::field_of;
using tests::FieldList;
using Files = std::map<std::string, std::string>;

std::string digest_field_of(const std::string& text) {
  Sha256 digest;
  digest.update(text);
  return http::digest_field(digest.finish());
}

// --- fields -------------------------------------------------------------------------------------

TEST(ResumableFields, Items) {
  const std::vector<std::pair<std::string, std::optional<bool>>> booleans = {
      {"?1", true},       {"?0", false},       {" ?1 ", true},
      {"?1;a=b", true},   {"1", std::nullopt}, {"?2", std::nullopt},
      {"", std::nullopt}, {"?", std::nullopt}, {"true", std::nullopt}};
  for (const auto& [text, value] : booleans) EXPECT_EQ(parse_item_boolean(text), value) << text;
  const std::vector<std::pair<std::string, std::optional<std::uint64_t>>> integers = {
      {"0", 0},
      {"25", 25},
      {"25;a", 25},
      {"999999999999999", 999'999'999'999'999},
      {"1000000000000000", std::nullopt},
      {"-1", std::nullopt},
      {"1.0", std::nullopt},
      {"", std::nullopt},
      {"?1", std::nullopt},
      {"\"1\"", std::nullopt}};
  for (const auto& [text, value] : integers) EXPECT_EQ(parse_item_integer(text), value) << text;
  EXPECT_EQ(upload_limit(0, 60), "max-age=60");
  EXPECT_EQ(upload_limit(1000, -1), "max-size=1000, max-age=0");
}

TEST(UploadMetadata, Dispositions) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"attachment; filename=a.txt", "a.txt"},
      {"attachment; filename=\"a; b.txt\"", "a; b.txt"},
      {"attachment; filename=\"a\\\"b\"", "a\"b"},
      {"inline;FILENAME = \"x\" ; size=3", "x"},
      {"attachment; filename=\"x\"; filename*=UTF-8''%c3%a9.txt", "\xc3\xa9.txt"},
      {"attachment; filename*=utf-8'en'a%20b; filename=x", "a b"},
      {"attachment; filename*=latin1''a; filename=x", "x"},
      {"attachment; filename*=UTF-8''%zz; filename=x", "x"},
      {"attachment; filename*=x", ""},
      {"attachment", ""},
      {"", ""},
      {";;;", ""},
      {"attachment; filename", ""},
      {"attachment; filename=\"", "\""},
  };
  for (const auto& [field, name] : rows) EXPECT_EQ(file_name_of_disposition(field), name) << field;
}

TEST(UploadMetadata, Pairs) {
  struct Row {
    std::string field;
    std::optional<std::vector<std::string>> pairs;  // key=value
  };
  using Pairs = std::vector<std::string>;
  const std::vector<Row> rows = {
      {"", Pairs{}},
      {"filename YQ==", Pairs{"filename=a"}},
      {"filename YQ==,is_confidential", Pairs{"filename=a", "is_confidential="}},
      {"a YQ==, b  YQ== ", Pairs{"a=a", "b=a"}},
      {"a ,b", Pairs{"a=", "b="}},
      {"a YQ", std::nullopt},
      {"a Y Q==", std::nullopt},
      {"a,a", std::nullopt},
      {"\xc3\xa9 YQ==", std::nullopt},
  };
  for (const Row& row : rows) {
    const auto found = parse_upload_metadata(row.field);
    ASSERT_EQ(found.has_value(), row.pairs.has_value()) << row.field;
    if (!found) continue;
    Pairs pairs;
    for (const UploadMetadata& one : *found) pairs.push_back(one.key + "=" + one.value);
    EXPECT_EQ(pairs, *row.pairs) << row.field;
  }
}

// --- the protocol -------------------------------------------------------------------------------

class Resumable : public tests::ResumableTest {
 protected:
  Response create(const std::string& complete, std::vector<std::string> body, FieldList more = {},
                  const std::string& name = "a") {
    more.emplace_back("upload-complete", complete);
    const std::string target = name.empty() ? "/uploads" : "/uploads?name=" + name;
    return ask(POST, target, {.fields = std::move(more), .body = std::move(body)});
  }
  std::string make(FieldList more = {}, const std::string& name = "a") {
    const Response response = create("?0", {}, std::move(more), name);
    EXPECT_EQ(response.status(), 201) << body_of(response);
    EXPECT_EQ(field_of(response, "Upload-Complete"), "?0");
    return field_of(response, "Location");
  }
  static FieldList patch_fields(const std::string& offset, const std::string& complete,
                                FieldList more = {}) {
    more.emplace_back("content-type", "application/partial-upload");
    more.emplace_back("upload-offset", offset);
    more.emplace_back("upload-complete", complete);
    return more;
  }
  Response patch(const std::string& url, const std::string& offset, const std::string& complete,
                 std::string body, FieldList more = {}) {
    const Asking asking{.fields = patch_fields(offset, complete, std::move(more)),
                        .body = {std::move(body)}};
    return ask(PATCH, url, asking);
  }
};

TEST_F(Resumable, InOneRequest) {
  const Response made = create("?1", {"hel", "lo"});
  EXPECT_EQ(made.status(), 201);
  EXPECT_EQ(field_of(made, "Upload-Complete"), "?1");
  EXPECT_EQ(field_of(made, "Upload-Offset"), "5");
  EXPECT_EQ(field_of(made, "Location"), "/files/a");
  EXPECT_EQ(field_of(made, "Repr-Digest"), digest_field_of("hello"));
  EXPECT_NE(body_of(made).find("\"name\":\"a\""), std::string::npos);
  EXPECT_EQ(files(), (Files{{"a", "hello"}}));
  EXPECT_EQ(create("?1", {}, {}, "empty").status(), 201);
  EXPECT_EQ(directory_.read("empty"), "");
}

TEST_F(Resumable, InPieces) {
  const std::string url = make();
  const Response first = patch(url, "0", "?0", "hello ");
  EXPECT_EQ(first.status(), 204);
  EXPECT_EQ(field_of(first, "Upload-Complete"), "?0");
  EXPECT_EQ(field_of(first, "Upload-Offset"), "6");
  restart();
  const Response between = ask(HEAD, url);
  EXPECT_EQ(between.status(), 204);
  EXPECT_EQ(field_of(between, "Upload-Offset"), "6");
  EXPECT_EQ(field_of(between, "Upload-Complete"), "?0");
  EXPECT_EQ(field_of(between, "Upload-Length"), "-");
  EXPECT_EQ(field_of(between, "Cache-Control"), "no-store");
  EXPECT_TRUE(field_of(between, "Upload-Limit").starts_with("max-age="));
  const Response last = patch(url, "6", "?1", "world");
  EXPECT_EQ(last.status(), 201);
  EXPECT_EQ(field_of(last, "Upload-Complete"), "?1");
  EXPECT_EQ(field_of(last, "Location"), "/files/a");
  EXPECT_EQ(field_of(last, "Repr-Digest"), digest_field_of("hello world"));
  EXPECT_EQ(files(), (Files{{"a", "hello world"}}));
  const Response after = ask(HEAD, url);
  EXPECT_EQ(field_of(after, "Upload-Offset"), "11");
  EXPECT_EQ(field_of(after, "Upload-Length"), "11");
  EXPECT_EQ(field_of(after, "Upload-Complete"), "?1");
}

// Section 4.1.2: offset and length do not make an upload complete.
TEST_F(Resumable, OnlyTheClientCompletes) {
  const std::string url = make({{"upload-length", "5"}});
  EXPECT_EQ(patch(url, "0", "?0", "hello").status(), 204);
  EXPECT_EQ(field_of(ask(HEAD, url), "Upload-Complete"), "?0");
  EXPECT_EQ(files(), Files{});
  EXPECT_EQ(patch(url, "5", "?1", "").status(), 201);
  EXPECT_EQ(files(), (Files{{"a", "hello"}}));
}

TEST_F(Resumable, OldClientsMayNotSayThatItIsComplete) {
  const FieldList version = {{"upload-draft-interop-version", "6"}};
  const std::string url = make({{"upload-length", "5"}});
  EXPECT_EQ(patch(url, "0", "?0", "hell", version).status(), 204);
  const Response last = patch(url, "4", "?0", "o", version);
  EXPECT_EQ(field_of(last, "Upload-Complete"), "?1");
  EXPECT_EQ(files(), (Files{{"a", "hello"}}));
}

TEST_F(Resumable, Problems) {
  const std::string url = make({{"upload-length", "5"}});
  EXPECT_EQ(patch(url, "0", "?0", "ab").status(), 204);
  struct Row {
    FieldList fields;
    std::string body;
    int status;
    std::string type = "";
  };
  const std::vector<Row> rows = {
      {patch_fields("3", "?0"), "c", 409, "mismatching-upload-offset"},
      {patch_fields("0", "?1"), "abcde", 409, "mismatching-upload-offset"},
      {patch_fields("2", "?1"), "c", 400, "inconsistent-upload-length"},
      {patch_fields("2", "?0"), "cdef", 400},
      {patch_fields("2", "?0", {{"upload-length", "6"}}), "c", 400, "inconsistent-upload-length"},
      {patch_fields("2", "?1", {{"upload-length", "5"}}), "c", 400, "inconsistent-upload-length"},
      {patch_fields("2", "1"), "c", 400},
      {patch_fields("x", "?0"), "c", 400},
      {patch_fields("2", "?0", {{"content-digest", "sha-256=x"}}), "c", 400},
      {patch_fields("2", "?0", {{"content-digest", digest_field_of("x")}}), "c", 400},
      {{{"upload-offset", "2"}, {"upload-complete", "?0"}}, "c", 415},
  };
  for (const Row& row : rows) {
    const Response response = ask(PATCH, url, {.fields = row.fields, .body = {row.body}});
    EXPECT_EQ(response.status(), row.status) << body_of(response);
    EXPECT_NE(body_of(response).find(row.type), std::string::npos) << body_of(response);
    EXPECT_EQ(bytes_of(url), "ab");
    if (row.status == 409) {
      EXPECT_EQ(field_of(response, "Upload-Offset"), "2");
    }
  }
  const std::string interop = "upload-draft-interop-version";
  const FieldList old = {{interop, "5"}, {"upload-offset", "2"}, {"upload-complete", "?1"}};
  EXPECT_EQ(ask(PATCH, url, {.fields = old, .body = {"cde"}}).status(), 201);
  const Response more = patch(url, "5", "?1", "f");
  EXPECT_EQ(more.status(), 400);
  EXPECT_NE(body_of(more).find("inconsistent-upload-length"), std::string::npos);
  const Response again = patch(url, "5", "?1", "");
  EXPECT_EQ(again.status(), 400);
  EXPECT_NE(body_of(again).find("completed-upload"), std::string::npos);
  EXPECT_EQ(files(), (Files{{"a", "abcde"}}));
}

// Section 4.1.3: it is not enough to look at Content-Length.
TEST_F(Resumable, MoreThanTheLength) {
  const std::string url = make({{"upload-length", "5"}});
  const Asking asking{.fields = patch_fields("0", "?0"), .body = {"abc", "def"}, .sized = false};
  const Response response = ask(PATCH, url, asking);
  EXPECT_EQ(response.status(), 400);
  EXPECT_NE(body_of(response).find("inconsistent-upload-length"), std::string::npos);
  EXPECT_EQ(ask(HEAD, url).status(), 404) << "the upload is invalid";
  EXPECT_EQ(directory_.names(), std::vector<std::string>{});
}

TEST_F(Resumable, RefusedCreations) {
  directory_.write("taken", "old");
  restart({.file_bytes_max = 10});
  EXPECT_EQ(create("?1", {"x"}, {}, "taken").status(), 409);
  EXPECT_EQ(create("?1", {"x"}, {}, "h2_tmp_x").status(), 400);
  EXPECT_EQ(create("?1", {"x"}, {{"upload-length", "2"}}).status(), 400);
  EXPECT_EQ(create("?0", {"xyz"}, {{"upload-length", "2"}}).status(), 400);
  EXPECT_EQ(create("?0", {}, {{"upload-length", "11"}}).status(), 413);
  EXPECT_EQ(create("?1", {std::string(11, 'x')}).status(), 413);
  EXPECT_EQ(create("yes", {"x"}).status(), 400);
  EXPECT_EQ(create("?1", {"x"}, {{"sec-fetch-site", "cross-site"}}).status(), 403);
  EXPECT_EQ(create("?1", {"x"}, {{"repr-digest", digest_field_of("y")}}).status(), 400);
  EXPECT_EQ(ask(POST, "/uploads", {.body = {"x"}}).status(), 400);
  const Asking cut{
      .fields = {{"upload-complete", "?1"}}, .body = {"x"}, .failure = Error{EPROTO, {}}};
  ask(POST, "/uploads?name=cut", cut);
  EXPECT_EQ(files(), (Files{{"taken", "old"}}));
  EXPECT_EQ(pending(), 0U) << "nobody knows these uploads";
}

TEST_F(Resumable, NamesAndDigests) {
  const FieldList fields = {{"content-disposition", "attachment; filename=\"x y\""},
                            {"repr-digest", digest_field_of("hello")}};
  const std::string url = make(fields, "");
  EXPECT_EQ(patch(url, "0", "?0", "hel", {{"content-digest", digest_field_of("hel")}}).status(),
            204);
  EXPECT_EQ(patch(url, "3", "?1", "lo").status(), 201);
  EXPECT_EQ(files(), (Files{{"x y", "hello"}}));
  const std::string other = make(fields, "b");
  EXPECT_EQ(patch(other, "0", "?1", "jello").status(), 400);
  EXPECT_EQ(ask(HEAD, other).status(), 404);
  EXPECT_EQ(files(), (Files{{"x y", "hello"}}));
}

TEST_F(Resumable, CutOff) {
  const std::string url = make();
  const Asking cut{.fields = patch_fields("0", "?1"),
                   .body = {"hel", "lo"},
                   .failure = Error{ECONNRESET, {}},
                   .sized = false};
  ask(PATCH, url, cut);
  EXPECT_EQ(field_of(ask(HEAD, url), "Upload-Offset"), "5");
  EXPECT_EQ(field_of(ask(HEAD, url), "Upload-Complete"), "?0");
  EXPECT_EQ(files(), Files{});
  EXPECT_EQ(patch(url, "5", "?1", "").status(), 201);
}

TEST_F(Resumable, ATakenName) {
  const std::string url = make();
  directory_.write("a", "theirs");
  const Response refused = patch(url, "0", "?1", "hello");
  EXPECT_EQ(refused.status(), 409);
  EXPECT_EQ(field_of(refused, "Upload-Complete"), "?1") << "the upload itself is well";
  EXPECT_EQ(patch(url + "?name=b", "5", "?1", "").status(), 201);
  EXPECT_EQ(files(), (Files{{"a", "theirs"}, {"b", "hello"}}));
}

TEST_F(Resumable, ANameThatIsTakenNow) {
  const std::string url = make();
  {
    const auto other = directory_of_server_->names().reserve("a");
    const Response refused = patch(url, "0", "?1", "hello");
    EXPECT_EQ(refused.status(), 409);
    EXPECT_EQ(field_of(refused, "Upload-Complete"), "?1");
    EXPECT_EQ(files(), Files{});
  }
  EXPECT_EQ(patch(url, "5", "?1", "").status(), 201);
  EXPECT_EQ(files(), (Files{{"a", "hello"}}));
}

TEST_F(Resumable, Cancellation) {
  const std::string url = make();
  EXPECT_EQ(patch(url, "0", "?0", "hello").status(), 204);
  EXPECT_EQ(ask(DELETE, url, {.fields = {{"sec-fetch-site", "cross-site"}}}).status(), 403);
  EXPECT_EQ(ask(DELETE, url).status(), 204);
  EXPECT_EQ(ask(HEAD, url).status(), 404);
  EXPECT_EQ(directory_.names(), std::vector<std::string>{});
}

TEST_F(Resumable, Abilities) {
  restart({.file_bytes_max = 77});
  const Response response = ask(OPTIONS, "/uploads");
  EXPECT_EQ(field_of(response, "Accept-Patch"), "application/partial-upload");
  EXPECT_EQ(field_of(response, "Upload-Limit"), "max-size=77, max-age=86400");
}

TEST_F(Resumable, Progress) {
  const std::string url = make({{"upload-length", "5"}}, "n");
  EXPECT_EQ(patch(url, "0", "?0", "he").status(), 204);
  const std::string id = url.substr(url.rfind('/') + 1);
  const std::string json = body_of(ask(GET, url));
  const std::string expected = "{\"id\":\"" + id +
                               "\",\"name\":\"n\",\"offset\":2,\"length\":5,\"complete\":false,"
                               "\"expires\":\"";
  EXPECT_EQ(json.substr(0, expected.size()), expected);
  EXPECT_EQ(patch(url, "2", "?1", "llo").status(), 201);
  const std::string after = body_of(ask(GET, url));
  EXPECT_NE(after.find("\"complete\":true"), std::string::npos) << after;
  EXPECT_NE(after.find("\"url\":\"/files/n\""), std::string::npos) << after;
  EXPECT_EQ(ask(GET, "/uploads/x").status(), 404);
}

// A part of a file must not become the file.
TEST_F(Resumable, PutOfAPart) {
  Routes routes(*sink_, "", nullptr);
  routes.put("/files/{path...}", resumable_put(service_, [](Request&) { return Response(299); }));
  const std::string complete = "upload-complete";
  EXPECT_EQ(ask(PUT, "/files/a", {.body = {"x"}}).status(), 299);
  const Response part = ask(PUT, "/files/a", {.fields = {{complete, "?0"}}, .body = {"he"}});
  EXPECT_EQ(part.status(), 201);
  EXPECT_EQ(files(), Files{});
  EXPECT_EQ(patch(field_of(part, "Location"), "2", "?1", "llo").status(), 201);
  EXPECT_EQ(files(), (Files{{"a", "hello"}}));
  EXPECT_EQ(ask(PUT, "/files/b", {.fields = {{complete, "?1"}}, .body = {"b"}}).status(), 201);
  EXPECT_EQ(files(), (Files{{"a", "hello"}, {"b", "b"}}));
  EXPECT_EQ(ask(PUT, "/files/..", {.fields = {{complete, "?0"}}}).status(), 400);
  const tests::FieldList foreign = {{complete, "?1"}, {"sec-fetch-site", "cross-site"}};
  EXPECT_EQ(ask(PUT, "/files/c", {.fields = foreign}).status(), 403);
}

// One store is behind both protocols.
TEST_F(Resumable, BothProtocols) {
  const std::string url = make({{"upload-length", "5"}});
  EXPECT_EQ(patch(url, "0", "?0", "he").status(), 204);
  const FieldList tus = {{"tus-resumable", "1.0.0"},
                         {"content-type", "application/offset+octet-stream"},
                         {"upload-offset", "2"}};
  EXPECT_EQ(ask(PATCH, url, {.fields = tus, .body = {"llo"}}).status(), 204);
  EXPECT_EQ(files(), (Files{{"a", "hello"}}));
}

}  // namespace resumable_test
}  // namespace h2server::content
