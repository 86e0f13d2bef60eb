#include "content/uploads/access/upload_access.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text/base64.h"
#include "content/uploads/access/upload_quota.h"
#include "content/uploads/receive/upload_intent.h"
#include "h2server/authentication.h"
#include "h2server/test_client.h"

namespace h2server::content {
namespace upload_access_test {

using Lines = std::vector<Response::Line>;

constexpr std::int64_t far_s = 9'000'000'000;

LinkSigner::Key key() {
  LinkSigner::Key key;
  key.fill(7);
  return key;
}

UploadToken token(std::string text, AccessMode mode, std::uint64_t quota_bytes = 0) {
  return {.name = text, .digest = net::sha256(text), .mode = mode, .quota_bytes = quota_bytes};
}

Response::Line bearer(const std::string& token) { return {"Authorization", "Bearer " + token}; }
Response::Line basic(const std::string& password) {
  return {"Authorization", "Basic " + base::encode_base64("me:" + password)};
}
Response::Line cookie(const std::string& token) { return {"Cookie", "h2server_upload=" + token}; }
const Response::Line from_page{"Accept", "text/html,*/*"};

// A server whose routes need one right each and answer with those that the request has.
class UploadAccessTest : public testing::Test {
 protected:
  void start(UploadAccessOptions options = {}) {
    for (const auto mode : {AccessMode::drop, AccessMode::read, AccessMode::full}) {
      options.tokens.push_back(token(name_of(mode), mode));
    }
    options.link_key = key();
    access_ = make_upload_access(std::move(options));
    const auto guarded = [this](Right right) {
      return server_.with(upload_access(access_, right));
    };
    guarded(Right::list).get("/files", rights);
    guarded(Right::read).get("/files/{path...}", rights);
    guarded(Right::upload).put("/files/{path...}", upload);
    guarded(Right::upload).post("/files", upload);
    guarded(Right::upload).post("/uploads", upload);
    guarded(Right::upload).post("/uploads/{id}", upload);
    guarded(Right::upload).get("/uploads/{id}", rights);
    guarded(Right::upload).patch("/uploads/{id}", upload);
    guarded(Right::manage).del("/files/{path...}", rights);
    server_.with(upload_access(access_, Right::list | Right::upload)).get("/either", rights);
    client_.emplace(server_);
  }

  static const char* name_of(AccessMode mode) {
    return mode == AccessMode::drop ? "drop" : mode == AccessMode::read ? "read" : "full";
  }
  static Response rights(Request& request) {
    std::string text(token_name(request));
    for (const auto& [right, name] :
         {std::pair(Right::list, " list"), std::pair(Right::read, " read"),
          std::pair(Right::upload, " upload"), std::pair(Right::manage, " manage")}) {
      if (may(request, right)) text += name;
    }
    return Response::text(text);
  }
  // "X-Status" asks for a status, "X-Location" for a Location; "X-Made" says that the file may be
  // there.
  static Response upload(Request& request) {
    Response response(std::stoi(std::string(request.field("x-status").value_or("201"))));
    if (request.field("x-made")) request.attach(MayHaveStored{});
    if (const auto url = request.field("x-location")) response.add("Location", std::string(*url));
    return response;
  }

  TestResponse ask(Method method, std::string target, Lines fields = {}, std::string body = {}) {
    return client_->send({.method = method,
                          .target = std::move(target),
                          .fields = std::move(fields),
                          .body = std::move(body)});
  }
  // A PUT with a Content-Length.
  int put(const std::string& token, const std::string& body, Lines fields = {}) {
    fields.push_back(bearer(token));
    fields.push_back({"Content-Length", std::to_string(body.size())});
    return ask(PUT, "/files/a", std::move(fields), body).status;
  }

  Server server_;
  UploadAccessRef access_;
  std::optional<TestClient> client_;
};

TEST_F(UploadAccessTest, Rights) {
  start();
  struct Row {
    Method method;
    std::string target;
    int drop, read, full;
  };
  const std::vector<Row> rows = {
      {GET, "/files", 403, 200, 200},     {GET, "/files/a", 403, 200, 200},
      {PUT, "/files/a", 201, 403, 201},   {POST, "/files", 201, 403, 201},
      {POST, "/uploads", 201, 403, 201},  {PATCH, "/uploads/1", 201, 403, 201},
      {GET, "/uploads/1", 200, 403, 200}, {DELETE, "/files/a", 403, 403, 200},
      {GET, "/either", 200, 200, 200},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ask(row.method, row.target).status, 401) << row.target;
    EXPECT_EQ(ask(row.method, row.target, {bearer("drop")}).status, row.drop) << row.target;
    EXPECT_EQ(ask(row.method, row.target, {bearer("read")}).status, row.read) << row.target;
    EXPECT_EQ(ask(row.method, row.target, {bearer("full")}).status, row.full) << row.target;
  }
  EXPECT_EQ(ask(GET, "/either", {bearer("drop")}).body, "drop upload");
  EXPECT_EQ(ask(GET, "/either", {bearer("read")}).body, "read list read");
  EXPECT_EQ(ask(GET, "/either", {bearer("full")}).body, "full list read upload manage");
}

TEST_F(UploadAccessTest, WaysOfATokenToCome) {
  start();
  struct Row {
    Lines fields;
    std::string query;
    int status;
  };
  const std::vector<Row> rows = {
      {{bearer("read")}, "", 200},
      {{basic("read")}, "", 200},
      {{cookie("read")}, "", 200},
      {{}, "?token=read", 200},
      {{}, "?a=b&token=read&c", 200},
      {{}, "?token=%72ead", 200},
      {{bearer("Read")}, "", 401},
      {{bearer("rea")}, "", 401},
      {{bearer("readd")}, "", 401},
      {{bearer(std::string(2000, 'a'))}, "", 401},
      {{basic("wrong")}, "", 401},
      {{cookie("wrong")}, "", 401},
      {{}, "?token=wrong", 401},
      {{}, "?token=", 401},
      {{}, "?TOKEN=read", 401},
      {{{"Authorization", "Bearer"}}, "", 401},
      {{{"Authorization", "Digest read"}}, "", 401},
      {{{"Cookie", "h2server_upload=read; a=b"}}, "", 200},
      {{{"Cookie", "other=read"}}, "", 401},
      // What is sent on purpose goes before what a browser adds.
      {{bearer("wrong"), cookie("read")}, "", 401},
      {{cookie("wrong"), bearer("read")}, "", 200},
      {{cookie("wrong")}, "?token=read", 200},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ask(GET, "/files" + row.query, row.fields).status, row.status)
        << row.query << (row.fields.empty() ? "" : row.fields[0].value);
  }
}

TEST_F(UploadAccessTest, ABrowserGetsACookieForItsToken) {
  start();
  struct Row {
    std::string target;
    std::string location;
  };
  const std::vector<Row> rows = {
      {"/files?token=full", "/files"},
      {"/files?token=full&sort=name", "/files?sort=name"},
      {"/files?sort=name&token=full&x=%20", "/files?sort=name&x=%20"},
      {"/files?token=full&token=other", "/files"},
      {"/files/a%20b?token=full", "/files/a%20b"},
  };
  for (const Row& row : rows) {
    const TestResponse response = ask(GET, row.target, {from_page});
    EXPECT_EQ(response.status, 303) << row.target;
    EXPECT_EQ(response.field("location"), row.location);
    EXPECT_EQ(response.field("set-cookie"),
              "h2server_upload=full; Path=/; HttpOnly; SameSite=Strict");
    EXPECT_EQ(response.field("cache-control"), "no-store");
    EXPECT_EQ(response.field("referrer-policy"), "no-referrer");
  }
  EXPECT_EQ(ask(GET, "/files?token=wrong", {from_page}).field("set-cookie"), std::nullopt);
}

TEST_F(UploadAccessTest, ALinkFromAnotherSiteLeadsOnByAPage) {
  start();
  const TestResponse response =
      ask(GET, "/files?token=full&a=%22", {from_page, {"Sec-Fetch-Site", "cross-site"}});
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.field("set-cookie"));
  EXPECT_NE(response.body.find("content=\"0; url=/files?a=%22\""), std::string::npos);
}

// A page of another site causes the request.
TEST_F(UploadAccessTest, OtherSites) {
  start();
  struct Row {
    Method method;
    Response::Line credentials;
    Response::Line origin;
    int status;
  };
  const Response::Line other{"Sec-Fetch-Site", "cross-site"};
  const Response::Line same_site{"Sec-Fetch-Site", "same-site"};
  const Response::Line own{"Sec-Fetch-Site", "same-origin"};
  const Response::Line user{"Sec-Fetch-Site", "none"};
  const std::vector<Row> rows = {
      {PUT, cookie("full"), other, 401},
      {PUT, cookie("full"), same_site, 401},
      {PUT, cookie("full"), own, 201},
      {PUT, cookie("full"), user, 201},
      {PUT, cookie("full"), {"Origin", "http://evil.example"}, 401},
      {PUT, cookie("full"), {"Origin", "http://localhost"}, 201},
      {PUT, cookie("full"), {"Origin", "null"}, 401},
      {GET, cookie("full"), other, 401},
      {GET, cookie("full"), own, 200},
      {PUT, basic("full"), other, 403},
      {PUT, basic("full"), own, 201},
      {GET, basic("full"), other, 200},
      {DELETE, basic("full"), other, 403},
      // No browser adds these by itself.
      {PUT, bearer("full"), other, 201},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ask(row.method, "/files/a", {row.credentials, row.origin}).status, row.status)
        << row.credentials.value << " " << row.origin.value;
  }
}

TEST_F(UploadAccessTest, Challenges) {
  start();
  const TestResponse program = ask(GET, "/files");
  EXPECT_EQ(program.field("www-authenticate"), "Basic realm=\"uploads\", charset=\"UTF-8\"");
  EXPECT_EQ(program.body, "a token is needed\n");
  const TestResponse browser = ask(GET, "/files", {from_page});
  EXPECT_EQ(browser.status, 401);
  EXPECT_EQ(browser.field("www-authenticate"), "Bearer realm=\"uploads\"");
  EXPECT_NE(browser.body.find("name=\"token\""), std::string::npos);
  EXPECT_EQ(browser.body.find("wrong"), std::string::npos);
  const TestResponse wrong = ask(GET, "/files", {from_page, cookie("wrong")});
  EXPECT_EQ(wrong.field("www-authenticate"), "Bearer realm=\"uploads\", error=\"invalid_token\"");
  EXPECT_EQ(wrong.field("set-cookie"),
            "h2server_upload=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
  EXPECT_NE(wrong.body.find("wrong"), std::string::npos);
}

TEST_F(UploadAccessTest, ADropBoxTakesUploadsOnly) {
  start();
  const TestResponse page = ask(GET, "/files", {from_page, cookie("drop")});
  EXPECT_EQ(page.status, 403);
  EXPECT_NE(page.body.find("does not allow"), std::string::npos);
  EXPECT_EQ(ask(DELETE, "/files/a", {from_page, cookie("drop")}).status, 403);
}

TEST_F(UploadAccessTest, OnlyManagersReplaceFiles) {
  start();
  const Response::Line match{"If-Match", "*"};
  EXPECT_EQ(ask(PUT, "/files/a", {bearer("full"), match}).status, 201);
  EXPECT_EQ(ask(PUT, "/files/a", {bearer("drop"), match}).status, 403);
  EXPECT_EQ(ask(PUT, "/files/a", {bearer("drop"), {"If-None-Match", "*"}}).status, 201);
  EXPECT_EQ(ask(GET, "/files/a", {bearer("read"), match}).status, 200);
  const std::string link = "?" + LinkSigner(key()).query_for("/files", LinkUse::upload, far_s);
  EXPECT_EQ(ask(PUT, "/files/a" + link, {match}).status, 403);
}

TEST_F(UploadAccessTest, OnlyWhoMayManageReplacesFiles) {
  start();
  server_.with(upload_access(access_, Right::upload))
      .put("/wanted/{path...}", [](Request& request) {
        const auto intent = UploadIntent::of_file(request, "a", {.overwrite = true});
        return Response::text(intent->options.overwrite ? "replaces" : "adds");
      });
  EXPECT_EQ(ask(PUT, "/wanted/a", {bearer("drop")}).body, "adds");
  EXPECT_EQ(ask(PUT, "/wanted/a", {bearer("full")}).body, "replaces");
}

TEST_F(UploadAccessTest, SiteCredentialsAreNoToken) {
  server_.use(basic_authentication("site", "me", "secret"));
  start();
  EXPECT_EQ(ask(GET, "/files", {basic("secret")}).status, 401);
  EXPECT_EQ(ask(GET, "/files", {basic("secret"), cookie("read")}).status, 200);
  EXPECT_EQ(ask(GET, "/files", {basic("read"), cookie("read")}).status, 401);
}

TEST_F(UploadAccessTest, WrongTokensAreLimited) {
  int wrong = 0;
  UploadAccessOptions options;
  options.guesses = {.wait_ns = [&](const Request&) { return wrong < 3 ? 0 : 1'500'000'000; },
                     .count_failure = [&](const Request&) { ++wrong; }};
  start(std::move(options));
  EXPECT_EQ(ask(GET, "/files", {bearer("full")}).status, 200);
  EXPECT_EQ(ask(GET, "/files").status, 401) << "no guess";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(GET, "/files", {bearer("wrong")}).status, 401);
  EXPECT_EQ(wrong, 3);
  const TestResponse refused = ask(GET, "/files", {bearer("wrong")});
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.field("retry-after"), "2");
  EXPECT_EQ(ask(GET, "/files", {bearer("read")}).status, 429) << "tells a guesser that it is right";
  EXPECT_EQ(ask(GET, "/files", {bearer("full")}).status, 200) << "in use";
  EXPECT_EQ(wrong, 3);
}

// --- links ------------------------------------------------------------------------------------

TEST_F(UploadAccessTest, Links) {
  start();
  const LinkSigner signer(key());
  const std::string download = "?" + signer.query_for("/files/a", LinkUse::download, far_s);
  const std::string list = "?" + signer.query_for("/files", LinkUse::download, far_s);
  const std::string in = "?" + signer.query_for("/files/in", LinkUse::upload, far_s);
  const std::string everywhere = "?" + signer.query_for("/files", LinkUse::upload, far_s);
  const std::string past = "?" + signer.query_for("/files/a", LinkUse::download, 1'000'000'000);
  struct Row {
    Method method;
    std::string target;
    int status;
    std::string body;
  };
  const std::string altered = "this link is not valid here: its signature does not match\n";
  const std::vector<Row> rows = {
      {GET, "/files/a" + download, 200, " list read"},
      {GET, "/files/b" + download, 403, altered},
      {GET, "/files" + download, 403, altered},
      {GET, "/files" + list, 200, " list read"},
      {GET, "/files/a" + list, 403, altered},
      {PUT, "/files/a" + download, 403, altered},
      {DELETE, "/files/a" + download, 403, altered},
      {GET, "/files/a" + past, 403, "this link has expired\n"},
      {GET, "/files/b" + past, 403, altered},
      {PUT, "/files/in/a" + in, 201, ""},
      {PUT, "/files/out/a" + in, 403, altered},
      {POST, "/files" + in, 403, altered},
      {POST, "/uploads" + in, 403, altered},
      {GET, "/files/in/a" + in, 403, "This token does not allow that.\n"},
      {DELETE, "/files/in/a" + in, 403, "This token does not allow that.\n"},
      {POST, "/files" + everywhere, 201, ""},
      {POST, "/uploads" + everywhere, 201, ""},
      {PATCH, "/uploads/1" + everywhere, 201, ""},
      {GET, "/uploads/1" + everywhere, 200, " upload"},
      {GET, "/uploads/1" + list, 403, altered},
  };
  for (const Row& row : rows) {
    const TestResponse response = ask(row.method, row.target);
    EXPECT_EQ(response.status, row.status) << row.target;
    EXPECT_EQ(response.body, row.body) << row.target;
  }
  EXPECT_EQ(ask(GET, "/files/b" + download, {bearer("full")}).status, 403);
}

TEST_F(UploadAccessTest, LinksOfOtherSitesAreNone) {
  const LinkSigner signer(key());
  for (const bool named : {false, true}) {
    Server server;
    const UploadAccessRef access = make_upload_access({.link_key = key(), .is_named = named});
    server.with(upload_access(access, Right::read)).get("/files/{path...}", rights);
    TestClient client(server);
    const auto status = [&](std::string_view link_host, const char* asked_host) {
      const std::string query = signer.query_for("/files/a", LinkUse::download, far_s, link_host);
      return client.send({.target = "/files/a?" + query, .authority = asked_host}).status;
    };
    EXPECT_EQ(status("a.test", "A.test:8080"), 200);
    EXPECT_EQ(status("a.test", "b.test"), 403);
    EXPECT_EQ(status("", "a.test"), named ? 403 : 200) << "of the site without a name";
  }
}

TEST_F(UploadAccessTest, ThePageBehindALinkMayUpload) {
  start();
  const LinkSigner signer(key());
  const std::string query = signer.query_for("/files", LinkUse::upload, far_s);
  const std::string own = signer.query_for("/either", LinkUse::upload, far_s);
  const TestResponse page = ask(GET, "/either?" + own, {from_page});
  EXPECT_EQ(page.status, 200);
  const std::string set(page.field("set-cookie").value_or(""));
  EXPECT_TRUE(set.starts_with("h2server_link=" + own + "; Path=/; Max-Age=")) << set;
  EXPECT_TRUE(set.ends_with("; HttpOnly; SameSite=Strict")) << set;
  EXPECT_FALSE(ask(GET, "/files?" + query, {from_page}).field("set-cookie"));
  EXPECT_FALSE(ask(POST, "/files?" + query, {from_page}).field("set-cookie"));
  struct Row {
    Method method;
    std::string target;
    std::string cookie;
    Lines fields;
    int status;
  };
  const Response::Line other{"Sec-Fetch-Site", "cross-site"};
  const std::string past = signer.query_for("/files", LinkUse::upload, 1'000'000'000);
  const std::string inner = signer.query_for("/files/in", LinkUse::upload, far_s);
  const std::string download = signer.query_for("/files", LinkUse::download, far_s);
  const std::vector<Row> rows = {
      {POST, "/files", query, {}, 201},
      {POST, "/uploads", query, {}, 201},
      {PATCH, "/uploads/1", query, {}, 201},
      {PUT, "/files/a", query, {}, 201},
      {GET, "/files/a", query, {}, 403},
      {DELETE, "/files/a", query, {}, 403},
      {POST, "/files", query, {other}, 401},
      {POST, "/files", past, {}, 401},
      {POST, "/files", inner, {}, 401},
      {PUT, "/files/in/a", inner, {}, 201},
      {POST, "/files", query + "A", {}, 401},
      {GET, "/files", download, {}, 401},
      {POST, "/files", query, {bearer("read")}, 403},
  };
  for (const Row& row : rows) {
    Lines fields = row.fields;
    fields.push_back({"Cookie", "h2server_link=" + row.cookie});
    EXPECT_EQ(ask(row.method, row.target, fields).status, row.status)
        << row.target << " " << row.cookie;
  }
}

// --- quotas -----------------------------------------------------------------------------------

class UploadQuota : public UploadAccessTest {
 protected:
  UploadQuota() {
    usage_ = std::make_shared<UploadUsage>(*UploadUsage::in_memory());
    UploadAccessOptions options;
    options.tokens.push_back(token("ten", AccessMode::full, 10));
    options.usage = usage_;
    start(std::move(options));
  }

  std::uint64_t used() { return *usage_->find(net::sha256("ten")); }

  std::shared_ptr<UploadUsage> usage_;
};

TEST_F(UploadQuota, CountsWhatIsStored) {
  EXPECT_EQ(put("ten", "1234"), 201);
  EXPECT_EQ(put("ten", "1234"), 201);
  EXPECT_EQ(put("ten", "123"), 413);
  EXPECT_EQ(put("ten", "12"), 201);
  EXPECT_EQ(put("ten", "1"), 413);
  EXPECT_EQ(put("ten", ""), 201);
  EXPECT_EQ(used(), 10u);
  EXPECT_EQ(put("full", std::string(100, 'a')), 201);
  EXPECT_EQ(ask(GET, "/files", {bearer("ten")}).status, 200);
}

// How many bytes are counted after an upload of 4 with these fields that is answered so.
TEST_F(UploadQuota, Refusals) {
  struct Row {
    Lines fields;
    std::uint64_t counted;
  };
  const Response::Line tus{"Tus-Resumable", "1.0.0"};  // means nothing here
  const Response::Line draft{"Upload-Complete", "?1"};
  const std::vector<Row> rows = {
      {{{"X-Status", "201"}}, 4},
      {{{"X-Status", "204"}}, 4},
      {{{"X-Status", "409"}}, 0},
      {{{"X-Status", "400"}}, 0},
      {{{"X-Status", "500"}}, 0},
      {{tus, {"X-Status", "500"}}, 0},
      {{draft, {"X-Status", "409"}}, 0},
      {{draft, {"X-Status", "507"}}, 0},
      {{draft, {"X-Status", "400"}}, 0},
      {{draft, {"X-Status", "500"}}, 0},
      {{{"X-Status", "502"}}, 0},
      {{{"X-Made", "perhaps"}, {"X-Status", "502"}}, 4},
      {{draft, {"X-Made", "perhaps"}, {"X-Status", "504"}}, 4},
      {{draft, {"X-Location", "/uploads/1"}, {"X-Status", "400"}}, 4},
  };
  for (const Row& row : rows) {
    *usage_->find(net::sha256("ten")) = 0;
    static_cast<void>(put("ten", "1234", row.fields));
    EXPECT_EQ(used(), row.counted) << row.fields.back().value;
  }
}

TEST_F(UploadQuota, Resumable) {
  struct Row {
    Method method;
    std::string target;
    Lines fields;
    int status;
    std::uint64_t used;
  };
  const Response::Line tus{"Tus-Resumable", "1.0.0"};
  const Response::Line complete{"Upload-Complete", "?1"};
  const Response::Line override{"X-HTTP-Method-Override", "PATCH"};
  const std::vector<Row> rows = {
      {POST, "/uploads", {tus, {"Upload-Length", "6"}}, 201, 6},
      {PATCH, "/uploads/1", {{"Content-Length", "6"}}, 201, 6},
      {POST, "/uploads", {tus, {"Upload-Length", "5"}}, 413, 6},
      {POST, "/uploads", {tus, {"Upload-Length", "x"}}, 411, 6},
      {POST, "/uploads", {tus, {"Upload-Defer-Length", "1"}}, 411, 6},
      // Its upload counts as soon as that has no length.
      {PATCH, "/uploads/1", {tus, {"Upload-Length", "1"}}, 201, 6},
      {POST, "/uploads/1", {tus, override, {"Content-Length", "6"}}, 201, 6},
      {POST, "/uploads", {{"Upload-Complete", "?0"}, {"Content-Length", "1"}}, 411, 6},
      {POST, "/uploads", {{"Upload-Complete", "?1"}, {"Content-Length", "1"}}, 201, 7},
      {POST, "/uploads", {tus, {"Upload-Concat", "final;/a /b"}}, 201, 7},
      {POST,
       "/uploads",
       {complete, {"Upload-Concat", "final;/a"}, {"Content-Length", "4"}},
       413,
       7},
      {POST, "/uploads", {{"Upload-Complete", "?0;x"}, {"Content-Length", "0"}}, 411, 7},
      {PUT, "/files/a", {complete, {"Content-Length", "1"}}, 201, 8},
      {PUT, "/files/a", {complete, {"Upload-Length", "3"}, {"Content-Length", "1"}}, 413, 8},
      {PUT, "/files/a", {{"Upload-Complete", "?0"}, {"Content-Length", "1"}}, 411, 8},
      // The IETF's draft resumes there, whatever fields of tus say.
      {PUT,
       "/files/a",
       {complete, tus, {"Upload-Concat", "final;x"}, {"Content-Length", "3"}},
       413,
       8},
      {PUT, "/files/a", {{"Upload-Complete", "?0"}, tus, {"Content-Length", "1"}}, 411, 8},
      // Fields of resumable uploads elsewhere mean nothing.
      {PUT, "/files/a", {{"Upload-Length", "0"}, {"Content-Length", "5"}}, 413, 8},
      {POST, "/files", {{"Upload-Concat", "final"}, {"Content-Length", "5"}}, 413, 8},
      {PUT, "/files/a", {}, 411, 8},
      {POST, "/files", {}, 411, 8},
      {DELETE, "/files/a", {}, 200, 8},
  };
  for (const Row& row : rows) {
    Lines fields = row.fields;
    fields.push_back(bearer("ten"));
    EXPECT_EQ(ask(row.method, row.target, fields).status, row.status)
        << row.target << (row.fields.empty() ? "" : row.fields[0].name);
    EXPECT_EQ(used(), row.used) << row.target << (row.fields.empty() ? "" : row.fields[0].name);
  }
}

}  // namespace upload_access_test
}  // namespace h2server::content
