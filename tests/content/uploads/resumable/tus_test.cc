#include "content/uploads/resumable/tus.h"

#include "base/clock.h"
#include "base/text/base64.h"
#include "content/resumable_support.h"
#include "content/storage/file_digest.h"
#include "content/uploads/resumable/tus_fields.h"

namespace h2server::content {
namespace tus_test {

using tests::Asking;
using tests::body_of;
using tests::field_of;
using tests::FieldList;
using Files = std::map<std::string, std::string>;

template <class Digest>
std::string base64_digest(const std::string& text) {
  Digest digest;
  digest.update(text);
  const auto value = digest.finish();
  return base::encode_base64({reinterpret_cast<const char*>(value.data()), value.size()});
}

FieldList with(FieldList more) {
  more.emplace_back("tus-resumable", "1.0.0");
  return more;
}

class Tus : public tests::ResumableTest {
 protected:
  Response create(FieldList fields, std::vector<std::string> body = {}) {
    if (!body.empty()) fields.emplace_back("content-type", "application/offset+octet-stream");
    return ask(POST, "/uploads", {.fields = with(std::move(fields)), .body = std::move(body)});
  }
  // Returns its path.
  std::string make(const std::string& length, const std::string& name = "a", FieldList more = {}) {
    more.emplace_back("upload-length", length);
    if (!name.empty()) {
      more.emplace_back("upload-metadata", "filename " + base::encode_base64(name));
    }
    const Response response = create(std::move(more));
    EXPECT_EQ(response.status(), 201) << body_of(response);
    return field_of(response, "Location");
  }
  Response patch(const std::string& url, const std::string& offset, std::string body,
                 FieldList more = {}) {
    return ask(PATCH, url,
               {.fields = patch_fields(offset, std::move(more)), .body = {std::move(body)}});
  }
  static FieldList patch_fields(const std::string& offset, FieldList more = {}) {
    more.emplace_back("content-type", "application/offset+octet-stream");
    more.emplace_back("upload-offset", offset);
    return with(std::move(more));
  }
  Response head(const std::string& url) { return ask(HEAD, url, {.fields = with({})}); }
};

// --- fields -------------------------------------------------------------------------------------

TEST(TusFields, Concat) {
  const std::string a(32, 'a');
  const std::string b(32, 'b');
  using Ids = std::vector<std::string>;
  struct Row {
    std::string value;
    Concatenation kind;  // none: malformed
    Ids ids = {};
  };
  const std::vector<Row> rows = {
      {"partial", Concatenation::partial},
      {"final;/uploads/" + a, Concatenation::final, {a}},
      {"final;/uploads/" + a + " /uploads/" + b, Concatenation::final, {a, b}},
      {"final;https://h:1/uploads/" + a + "  /uploads/" + b, Concatenation::final, {a, b}},
      {"final;/uploads/" + a + " /uploads/" + a, Concatenation::none},  // counted once
      {"final;", Concatenation::none},
      {"final", Concatenation::none},
      {"", Concatenation::none},
      {"Partial", Concatenation::none},
      {"final;/elsewhere/" + a, Concatenation::none},
      {"final;" + a, Concatenation::none},
      {"final;/uploads/../x", Concatenation::none},
      {"final;/uploads/" + a + " /uploads/" + a + " /uploads/" + a, Concatenation::none},
  };
  for (const Row& row : rows) {
    const auto concat = parse_upload_concat(row.value, "/uploads", 2);
    EXPECT_EQ(concat ? concat->kind : Concatenation::none, row.kind) << row.value;
    EXPECT_EQ(concat ? concat->ids : Ids{}, row.ids) << row.value;
  }
}

TEST(TusFields, Checksum) {
  const std::vector<std::pair<std::string, bool>> rows = {
      {"sha1 " + base64_digest<Sha1>("x"), true},
      {"sha256 " + base64_digest<Sha256>("x"), true},
      {"sha512 " + base64_digest<Sha512>("x"), true},
      {"sha1 " + base64_digest<Sha256>("x"), false},
      {"md5 " + base64_digest<Sha1>("x"), false},
      {"sha1", false},
      {"sha1 ?", false},
      {"", false},
  };
  for (const auto& [value, valid] : rows) {
    auto checksum = parse_upload_checksum(value);
    EXPECT_EQ(checksum.has_value(), valid) << value;
    if (!checksum) continue;
    checksum->update("x");
    EXPECT_TRUE(checksum->matches()) << value;
  }
}

// --- core ---------------------------------------------------------------------------------------

TEST_F(Tus, Versions) {
  const std::vector<std::pair<Method, std::string>> rows = {
      {POST, "/uploads"}, {HEAD, make("3")}, {PATCH, make("3", "b")}, {DELETE, make("3", "c")}};
  for (const auto& [method, url] : rows) {
    const Response response = ask(method, url, {.fields = {{"tus-resumable", "0.2.2"}}});
    EXPECT_EQ(response.status(), 412) << url;
    EXPECT_EQ(field_of(response, "Tus-Version"), "1.0.0");
  }
  const Response missing = head("/uploads/" + std::string(32, '0'));
  EXPECT_EQ(missing.status(), 404);
  EXPECT_EQ(field_of(missing, "Tus-Resumable"), "1.0.0") << "errors say it, too";
}

TEST_F(Tus, Options) {
  restart({.file_bytes_max = 1000});
  for (const std::string url : {"/uploads", "/uploads/x"}) {
    const Response response = ask(OPTIONS, url);
    EXPECT_EQ(response.status(), 204);
    EXPECT_EQ(field_of(response, "Tus-Version"), "1.0.0");
    EXPECT_EQ(field_of(response, "Tus-Max-Size"), "1000");
    EXPECT_EQ(field_of(response, "Tus-Extension"), std::string(tus_extensions) + ",concatenation");
    EXPECT_EQ(field_of(response, "Tus-Checksum-Algorithm"), "sha1,sha256,sha512");
    EXPECT_NE(field_of(response, "Allow"), "-");
  }
}

TEST_F(Tus, InPieces) {
  const std::string url = make("11", "a b.txt");
  EXPECT_EQ(field_of(head(url), "Upload-Offset"), "0");
  const Response first = patch(url, "0", "hello ");
  EXPECT_EQ(first.status(), 204);
  EXPECT_EQ(field_of(first, "Upload-Offset"), "6");
  EXPECT_EQ(field_of(first, "Tus-Resumable"), "1.0.0");
  EXPECT_EQ(bytes_of(url), "hello ");
  EXPECT_EQ(files(), Files{}) << "it has no name before it is whole";
  const Response between = head(url);
  EXPECT_EQ(between.status(), 200);
  EXPECT_EQ(field_of(between, "Upload-Offset"), "6");
  EXPECT_EQ(field_of(between, "Upload-Length"), "11");
  EXPECT_EQ(field_of(between, "Upload-Metadata"), "filename " + base::encode_base64("a b.txt"));
  EXPECT_EQ(field_of(between, "Cache-Control"), "no-store");
  const Response last = patch(url, "6", "world");
  EXPECT_EQ(last.status(), 204);
  EXPECT_EQ(field_of(last, "Upload-Offset"), "11");
  EXPECT_EQ(field_of(first, "Repr-Digest"), "-");
  const std::string digest = "sha-256=:" + base64_digest<Sha256>("hello world") + ":";
  EXPECT_EQ(field_of(last, "Repr-Digest"), digest);
  EXPECT_EQ(field_of(head(url), "Repr-Digest"), digest);
  EXPECT_EQ(files(), (Files{{"a b.txt", "hello world"}}));
  EXPECT_EQ(stored_, std::vector<std::string>{"a b.txt"});
  EXPECT_EQ(pending(), 0U);
}

// The client that missed the last response learns that the file is stored, also from a new server.
TEST_F(Tus, StoredUploadsAreRemembered) {
  const std::string url = make("5");
  EXPECT_EQ(patch(url, "0", "hello").status(), 204);
  for (int i = 0; i < 2; ++i, restart()) {
    EXPECT_EQ(field_of(head(url), "Upload-Offset"), "5");
    EXPECT_EQ(field_of(head(url), "Upload-Length"), "5");
    EXPECT_EQ(patch(url, "5", "").status(), 204);
    EXPECT_EQ(patch(url, "0", "hello").status(), 409);
  }
  EXPECT_EQ(files(), (Files{{"a", "hello"}}));
  EXPECT_EQ(ask(DELETE, url, {.fields = with({})}).status(), 204);
  EXPECT_EQ(head(url).status(), 404);
  EXPECT_EQ(files(), (Files{{"a", "hello"}})) << "the file stays";
}

// What arrived before the line broke is kept.
TEST_F(Tus, CutOff) {
  for (const auto& [error, status] : {std::pair(ECONNRESET, 400), std::pair(ETIMEDOUT, 408)}) {
    const std::string url = make("11", "of " + std::to_string(status));
    const Asking asking{.fields = patch_fields("0"),
                        .body = {"hel", "lo "},
                        .failure = Error{error, {}},
                        .sized = false};
    EXPECT_EQ(ask(PATCH, url, asking).status(), status);
    EXPECT_EQ(field_of(head(url), "Upload-Offset"), "6");
    EXPECT_EQ(patch(url, "6", "world").status(), 204);
  }
  EXPECT_EQ(files(), (Files{{"of 400", "hello world"}, {"of 408", "hello world"}}));
}

TEST_F(Tus, RefusedAppends) {
  const std::string url = make("5");
  EXPECT_EQ(patch(url, "0", "ab").status(), 204);
  struct Row {
    FieldList fields;
    std::string body;
    int status;
  };
  const std::vector<Row> rows = {
      {patch_fields("0"), "cde", 409},
      {patch_fields("3"), "cde", 409},
      {patch_fields("2"), "cdef", 413},
      {patch_fields("-2"), "c", 400},
      {patch_fields("x"), "c", 400},
      {patch_fields("2", {{"upload-length", "6"}}), "c", 400},
      {patch_fields("2", {{"upload-checksum", "crc x"}}), "c", 400},
      {with({{"upload-offset", "2"}, {"content-type", "text/plain"}}), "c", 415},
      {with({{"upload-offset", "2"}}), "c", 415},
      {with({{"content-type", "application/offset+octet-stream"}}), "c", 400},
  };
  for (const Row& row : rows) {
    const Response response = ask(PATCH, url, {.fields = row.fields, .body = {row.body}});
    EXPECT_EQ(response.status(), row.status) << body_of(response);
    EXPECT_EQ(bytes_of(url), "ab");
  }
  EXPECT_EQ(patch("/uploads/" + std::string(32, 'f'), "0", "x").status(), 404);
  EXPECT_EQ(patch("/uploads/x", "0", "x").status(), 404);
  // Without Content-Length, the excess shows later.
  const Asking asking{.fields = patch_fields("2"), .body = {"cdef"}, .sized = false};
  EXPECT_EQ(ask(PATCH, url, asking).status(), 413);
  EXPECT_EQ(bytes_of(url), "ab");
  EXPECT_EQ(patch(url, "2", "cde").status(), 204);
  EXPECT_EQ(files(), (Files{{"a", "abcde"}}));
}

TEST_F(Tus, OneRequestAtATime) {
  const std::string url = make("5");
  const auto open = store_->open(url.substr(url.rfind('/') + 1));
  ASSERT_TRUE(open);
  EXPECT_EQ(patch(url, "0", "hello").status(), 423);
  EXPECT_EQ(ask(DELETE, url, {.fields = with({})}).status(), 423);
  EXPECT_EQ(head(url).status(), 200);
}

// --- creation -----------------------------------------------------------------------------------

TEST_F(Tus, RefusedCreations) {
  directory_.write("taken", "old");
  directory_.write("folder/x", "");
  restart({.file_bytes_max = 1000});
  const std::string taken = "filename " + base::encode_base64("taken");
  const std::string folder = "filename " + base::encode_base64("folder");
  const std::string dots = "filename " + base::encode_base64("..");
  struct Row {
    FieldList fields;
    int status;
  };
  const std::vector<Row> rows = {
      {{}, 400},
      {{{"upload-length", "x"}}, 400},
      {{{"upload-length", "-1"}}, 400},
      {{{"upload-defer-length", "2"}}, 400},
      {{{"upload-length", "5"}, {"upload-defer-length", "1"}}, 400},
      {{{"upload-length", "1001"}}, 413},
      {{{"upload-length", "5"}, {"upload-metadata", "filename ?"}}, 400},
      {{{"upload-length", "5"}, {"upload-metadata", "a,a"}}, 400},
      {{{"upload-length", "5"}, {"upload-metadata", dots}}, 400},
      {{{"upload-length", "5"}, {"upload-metadata", std::string(4097, 'a')}}, 400},
      {{{"upload-length", "5"}, {"upload-metadata", taken}}, 409},
      {{{"upload-length", "5"}, {"upload-metadata", folder}}, 409},
      {{{"upload-length", "5"}, {"upload-concat", "both"}}, 400},
      {{{"upload-length", "5"}, {"sec-fetch-site", "cross-site"}}, 403},
      {{{"upload-length", "5"}, {"origin", "http://elsewhere"}}, 403},
  };
  for (const Row& row : rows) {
    const Response response = create(row.fields);
    EXPECT_EQ(response.status(), row.status) << row.fields.back().second << body_of(response);
  }
  EXPECT_EQ(pending(), 0U);
  EXPECT_EQ(create({{"upload-length", "5"}, {"origin", "http://here"}}).status(), 201);
}

TEST_F(Tus, Names) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"filename " + base::encode_base64("../../etc/passwd"), "passwd"},
      {"filetype " + base::encode_base64("x") + ",name " + base::encode_base64("n"), "n"},
      {"filename " + base::encode_base64("\xc3\xa9.txt"), "\xc3\xa9.txt"},
  };
  for (const auto& [metadata, name] : rows) {
    const Response made = create({{"upload-length", "0"}, {"upload-metadata", metadata}});
    EXPECT_EQ(made.status(), 201) << body_of(made);
    EXPECT_TRUE(directory_.read(name)) << name;
  }
  const std::string url = make("0", "");
  EXPECT_TRUE(directory_.read(url.substr(url.rfind('/') + 1))) << "without a name the id";
  const Response asked =
      ask(POST, "/uploads?name=q%20r", {.fields = with({{"upload-length", "0"}})});
  EXPECT_EQ(asked.status(), 201);
  EXPECT_TRUE(directory_.read("q r"));
}

TEST_F(Tus, WithUpload) {
  const Response whole = create({{"upload-length", "5"}}, {"hel", "lo"});
  EXPECT_EQ(whole.status(), 201);
  EXPECT_EQ(field_of(whole, "Upload-Offset"), "5");
  EXPECT_EQ(files().size(), 1U);
  EXPECT_EQ(files().begin()->second, "hello");
  const Response part = create({{"upload-length", "9"}}, {"hello"});
  EXPECT_EQ(field_of(part, "Upload-Offset"), "5");
  EXPECT_EQ(bytes_of(field_of(part, "Location")), "hello");
  const FieldList fields = with({{"upload-length", "5"}, {"content-type", "text/plain"}});
  EXPECT_EQ(ask(POST, "/uploads", {.fields = fields, .body = {"hello"}}).status(), 415);
  EXPECT_EQ(create({{"upload-length", "4"}}, {"hello"}).status(), 413);
  EXPECT_EQ(pending(), 1U) << "nobody knows the last one";
}

TEST_F(Tus, DeferredLength) {
  const Response made = create({{"upload-defer-length", "1"}});
  const std::string url = field_of(made, "Location");
  EXPECT_EQ(field_of(head(url), "Upload-Defer-Length"), "1");
  EXPECT_EQ(field_of(head(url), "Upload-Length"), "-");
  EXPECT_EQ(patch(url, "0", "hello").status(), 204);
  EXPECT_EQ(patch(url, "5", "", {{"upload-length", "4"}}).status(), 400);
  restart();
  EXPECT_EQ(patch(url, "5", " you", {{"upload-length", "9"}}).status(), 204);
  EXPECT_EQ(files().begin()->second, "hello you");
}

// --- the end ------------------------------------------------------------------------------------

TEST_F(Tus, ATakenName) {
  const std::string url = make("5");
  directory_.write("a", "theirs");
  EXPECT_EQ(patch(url, "0", "hello").status(), 409);
  EXPECT_EQ(head(url).status(), 409) << "an offset at the end would mean that it is stored";
  EXPECT_EQ(files(), (Files{{"a", "theirs"}}));
  EXPECT_EQ(patch(url + "?name=b", "5", "").status(), 204) << "under another name";
  EXPECT_EQ(files(), (Files{{"a", "theirs"}, {"b", "hello"}}));
  EXPECT_EQ(field_of(head(url), "Upload-Offset"), "5");
  restart({.overwrite = true});
  EXPECT_EQ(patch(make("2"), "0", "my").status(), 204);
  EXPECT_EQ(files(), (Files{{"a", "my"}, {"b", "hello"}}));
}

// An upload of another kind, or a change by WebDAV, is taking the name.
TEST_F(Tus, ANameThatIsTakenNow) {
  restart({.overwrite = true});
  const std::string url = make("5");
  {
    const auto other = directory_of_server_->names().reserve("a");
    EXPECT_EQ(patch(url, "0", "hello").status(), 409);
    EXPECT_EQ(head(url).status(), 409);
    EXPECT_EQ(files(), Files{});
    EXPECT_EQ(pending(), 1U) << "the upload itself is well";
    EXPECT_EQ(ask(POST, "/uploads",
                  {{{"Tus-Resumable", "1.0.0"},
                    {"Upload-Length", "5"},
                    {"Upload-Metadata", "filename YQ=="}}})
                  .status(),
              409)
        << "before anything is sent in vain";
    EXPECT_EQ(pending(), 1U);
  }
  EXPECT_EQ(field_of(head(url), "Upload-Offset"), "5");
  EXPECT_EQ(files(), (Files{{"a", "hello"}}));
  EXPECT_TRUE(directory_of_server_->names().reserve("a")) << "it is free again";
}

// The client's bytes are not lost: it may end the upload once the lock has gone.
TEST_F(Tus, ALockIsWaitedFor) {
  const std::int64_t now_ms = base::monotonic_ms();
  LockTable& locks = directory_of_server_->locks();
  const auto lock = locks.add({.path = "", .deep = true}, now_ms);
  ASSERT_TRUE(lock);
  const Response made = create({{"upload-length", "5"}}, {"hello"});
  EXPECT_EQ(made.status(), 423);
  EXPECT_EQ(pending(), 1U);
  const std::string url = field_of(made, "Location");
  EXPECT_EQ(head(url).status(), 423) << "an offset at the end would mean that it is stored";
  EXPECT_EQ(locks.remove("", lock->token, "", now_ms), LockTable::Removal::done);
  EXPECT_EQ(field_of(head(url), "Upload-Offset"), "5");
  EXPECT_EQ(files().begin()->second, "hello");
}

// A server that is killed between the last byte and the rename leaves a whole upload.
TEST_F(Tus, WhatIsWholeIsStoredByTheNextRequest) {
  const std::string url = make("5");
  directory_.write("h2_tmp_upload_" + url.substr(url.rfind('/') + 1), "hello");
  restart();
  const Response found = head(url);
  EXPECT_EQ(field_of(found, "Upload-Offset"), "5");
  EXPECT_NE(field_of(found, "Repr-Digest"), "-");
  EXPECT_EQ(files(), (Files{{"a", "hello"}}));
}

// --- checksum, termination ----------------------------------------------------------------------

TEST_F(Tus, Checksums) {
  const std::string url = make("6");
  const std::string right = "sha1 " + base64_digest<Sha1>("abc");
  EXPECT_EQ(patch(url, "0", "abx", {{"upload-checksum", right}}).status(), 460);
  EXPECT_EQ(field_of(head(url), "Upload-Offset"), "0");
  EXPECT_EQ(bytes_of(url), "");
  EXPECT_EQ(patch(url, "0", "abc", {{"upload-checksum", right}}).status(), 204);
  // An unverified piece is not kept, whether the client leaves or the server is killed.
  const Asking cut{.fields = patch_fields("3", {{"upload-checksum", right}}),
                   .body = {"ab"},
                   .failure = Error{ECONNRESET, {}}};
  ask(PATCH, url, cut);
  EXPECT_EQ(field_of(head(url), "Upload-Offset"), "3");
  {
    const auto open = store_->open(url.substr(url.rfind('/') + 1));
    ASSERT_TRUE((*open)->begin_checked());
    ASSERT_TRUE((*open)->append("xy"));
  }
  restart();
  EXPECT_EQ(field_of(head(url), "Upload-Offset"), "3");
  EXPECT_EQ(patch(url, "3", "abc", {{"upload-checksum", right}}).status(), 204);
  EXPECT_EQ(files(), (Files{{"a", "abcabc"}}));
}

TEST_F(Tus, Termination) {
  const std::string url = make("6");
  EXPECT_EQ(patch(url, "0", "abc").status(), 204);
  EXPECT_EQ(ask(DELETE, url, {.fields = with({{"origin", "http://x"}})}).status(), 403);
  EXPECT_EQ(ask(DELETE, url, {.fields = with({})}).status(), 204);
  EXPECT_EQ(ask(DELETE, url, {.fields = with({})}).status(), 404);
  EXPECT_EQ(head(url).status(), 404);
  EXPECT_EQ(directory_.names(), std::vector<std::string>{});
}

TEST_F(Tus, MethodsOfPoorClients) {
  const std::string url = make("3");
  FieldList fields = patch_fields("0", {{"x-http-method-override", "PATCH"}});
  EXPECT_EQ(ask(POST, url, {.fields = fields, .body = {"abc"}}).status(), 204);
  EXPECT_EQ(files(), (Files{{"a", "abc"}}));
  fields = with({{"x-http-method-override", "DELETE"}});
  EXPECT_EQ(ask(POST, url, {.fields = fields}).status(), 204);
  EXPECT_EQ(ask(POST, url, {.fields = with({})}).status(), 405);
}

// --- concatenation ------------------------------------------------------------------------------

class TusConcatenation : public Tus {
 protected:
  std::string part(const std::string& content) {
    const std::string url =
        make(std::to_string(content.size()), "", {{"upload-concat", "partial"}});
    EXPECT_EQ(patch(url, "0", content).status(), 204);
    return url;
  }
  Response join(const std::string& urls, const std::string& name = "whole") {
    return create({{"upload-concat", "final;" + urls},
                   {"upload-metadata", "filename " + base::encode_base64(name)}});
  }
};

TEST_F(TusConcatenation, Parts) {
  const std::string a = part("hello ");
  const std::string b = part("world");
  EXPECT_EQ(files(), Files{});
  EXPECT_EQ(field_of(head(a), "Upload-Concat"), "partial");
  EXPECT_EQ(field_of(head(a), "Upload-Offset"), "6");
  restart();
  const Response made = join(a + " " + b);
  EXPECT_EQ(made.status(), 201) << body_of(made);
  EXPECT_EQ(files(), (Files{{"whole", "hello world"}}));
  EXPECT_EQ(stored_, std::vector<std::string>{"whole"});
  const std::string url = field_of(made, "Location");
  const Response known = head(url);
  EXPECT_EQ(field_of(known, "Upload-Concat"), "final;" + a + " " + b);
  EXPECT_EQ(field_of(known, "Upload-Offset"), "11");
  EXPECT_EQ(field_of(known, "Upload-Length"), "11");
  EXPECT_EQ(patch(url, "11", "").status(), 403);
  EXPECT_EQ(head(a).status(), 404);
  EXPECT_EQ(pending(), 0U);
}

TEST_F(TusConcatenation, Refused) {
  const std::string a = part("hello");
  const std::string open = make("5", "", {{"upload-concat", "partial"}});
  const std::string plain = make("5", "plain");
  directory_.write("taken", "x");
  EXPECT_EQ(join(a + " " + open).status(), 400) << "not whole";
  EXPECT_EQ(join(a + " " + plain).status(), 400) << "not partial";
  EXPECT_EQ(join(a + " /uploads/" + std::string(32, '0')).status(), 400) << "unknown";
  EXPECT_EQ(join(a, "taken").status(), 409);
  EXPECT_EQ(create({{"upload-concat", "final;" + a}, {"upload-length", "5"}}).status(), 400);
  EXPECT_EQ(files(), (Files{{"taken", "x"}}));
  EXPECT_EQ(join(a + " " + a).status(), 400) << "the same part twice";
  EXPECT_EQ(files(), (Files{{"taken", "x"}}));
}

}  // namespace tus_test
}  // namespace h2server::content
