#include "content/webdav/webdav.h"

#include "base/memory/memory_budget.h"
#include "content/support.h"
#include "content/webdav/webdav_dead_properties.h"
#include "content/webdav/webdav_files.h"
#include "h2server/server.h"
#include "h2server/test_client.h"

namespace h2server::content {
namespace webdav_test {

namespace fs = std::filesystem;

using Fields = std::vector<Response::Line>;

constexpr std::string_view exclusive_lock =
    "<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype>"
    "<owner>ada</owner></lockinfo>";

class Webdav : public testing::Test {
 protected:
  Webdav() : uploads_(*UploadDirectory::open(directory_.fd())) {
    Routes routes = server_.routes();
    WebDavOptions options{.directory = uploads_, .uploads = {.reserve_bytes = 0}, .put = store()};
    add_webdav_routes(routes, routes, options);
    client_.emplace(server_);
  }

  // A handler that writes as the real one does: under another name first.
  Handler store() {
    return Handler([this](Request& request) { return store_body(directory_, request); });
  }
  static Task<Response> store_body(const tests::TemporaryDirectory& directory, Request& request) {
    const Result<std::string> body = co_await request.read_all(1000);
    const std::string name(request.param("path"));
    const bool existed = directory.read(name).has_value();
    directory.write("h2_tmp_test", *body);
    fs::rename(directory.path_of("h2_tmp_test"), directory.path_of(name));
    Response response(existed ? 204 : 201);
    response.add("ETag", "\"of the file before its properties\"");
    co_return response;
  }

  TestResponse ask(Method method, const std::string& path, Fields fields = {},
                   std::string_view body = {}) {
    TestRequest request{.method = method, .target = "/files" + path, .fields = std::move(fields)};
    request.body = body;
    return client_->send(std::move(request));
  }
  int status(Method method, const std::string& path, Fields fields = {},
             std::string_view body = {}) {
    return ask(method, path, std::move(fields), body).status;
  }
  // Returns the lock's token.
  std::string lock(const std::string& path, const std::string& depth = "0") {
    const TestResponse response =
        ask(LOCK, path, {{"Depth", depth}, {"Timeout", "Second-60"}}, exclusive_lock);
    EXPECT_EQ(response.status / 100, 2) << path;
    const std::string_view field = response.field("Lock-Token").value_or("<>");
    EXPECT_NE(response.body.find("<D:timeout>Second-"), std::string::npos) << response.body;
    return std::string(field.substr(1, field.size() - 2));
  }
  static Fields holding(const std::string& token, Fields more = {}) {
    more.push_back({"If", "(<" + token + ">)"});
    return more;
  }
  [[nodiscard]] bool exists(const std::string& path) const {
    return fs::exists(directory_.path_of(path));
  }
  static bool has(const TestResponse& response, std::string_view text) {
    return response.body.find(text) != std::string::npos;
  }

  tests::TemporaryDirectory directory_;
  std::shared_ptr<UploadDirectory> uploads_;
  Server server_;
  std::optional<TestClient> client_;
};

TEST_F(Webdav, Options) {
  for (const char* const path : {"", "/", "/a/b"}) {
    const TestResponse response = ask(OPTIONS, path);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.field("DAV"), "1, 2");
    EXPECT_NE(response.field("Allow")->find("PROPFIND"), std::string_view::npos);
  }
}

TEST_F(Webdav, RefusesWhatWaitedUntilMemoryWasTight) {
  constexpr std::size_t mib = 1024 * 1024;
  base::MemoryCharge others(base::MemoryOwner::uploads);
  Server server;
  Routes routes = server.routes();
  add_webdav_routes(routes, routes,
                    {.directory = uploads_, .put = store(), .user = [&others](const Request&) {
                       others.set(9 * mib);
                       return std::string();
                     }});
  TestClient client(server);
  base::MemoryBudget::of_process().set_limit(16 * mib);
  const auto answer = [&client](Method method) {
    TestRequest request{.method = method, .target = "/files/new", .fields = {}};
    if (method == LOCK) request.body = exclusive_lock;
    return client.send(std::move(request));
  };
  for (const Method method : {PROPFIND, LOCK, MKCOL}) {
    others.set(0);
    const TestResponse response = answer(method);
    EXPECT_EQ(response.status, 503);
    EXPECT_EQ(response.field("Retry-After"), "1");
  }
  base::MemoryBudget::of_process().set_limit(base::MemoryBudget::no_limit);
  EXPECT_FALSE(exists("new"));
  EXPECT_EQ(answer(MKCOL).status, 201);
}

TEST_F(Webdav, PropfindOfAFile) {
  directory_.write_settled("d/a b&.txt", "12345");
  const TestResponse response = ask(PROPFIND, "/d/a%20b&.txt", {{"Depth", "0"}});
  EXPECT_EQ(response.status, 207);
  EXPECT_EQ(response.field("Content-Type"), "application/xml; charset=utf-8");
  EXPECT_EQ(response.field("X-Content-Type-Options"), "nosniff");
  for (const char* const text :
       {"<D:href>/files/d/a%20b%26.txt</D:href>", "<D:getcontentlength>5</D:getcontentlength>",
        "<D:displayname>a b&amp;.txt</D:displayname>", "<D:resourcetype/>",
        "<D:getcontenttype>text/plain; charset=utf-8</D:getcontenttype>",
        "<D:getlastmodified>Sun, 09 Sep 2001 01:46:40 GMT</D:getlastmodified>", "<D:getetag>",
        "<D:status>HTTP/1.1 200 OK</D:status>"}) {
    EXPECT_TRUE(has(response, text)) << text << response.body;
  }
  EXPECT_FALSE(has(response, "quota"));
}

TEST_F(Webdav, PropfindOfAFolder) {
  directory_.write("d/a", "1");
  directory_.write("d/e/x", "1");
  directory_.write("d/.hidden", "1");
  directory_.write("d/h2_tmp_1_2", "1");
  fs::create_symlink("a", directory_.path_of("d/link"));
  const TestResponse one = ask(PROPFIND, "/d", {{"Depth", "1"}});
  EXPECT_EQ(one.status, 207);
  for (const char* const path : {"/files/d/<", "/files/d/a<", "/files/d/e/<"}) {
    EXPECT_TRUE(has(one, path)) << path;
  }
  for (const char* const hidden : {"hidden", "h2_tmp", "link", "/x"}) {
    EXPECT_FALSE(has(one, hidden)) << hidden;
  }
  const TestResponse zero = ask(PROPFIND, "/d/", {{"Depth", "0"}});
  EXPECT_TRUE(has(zero, "<D:collection/>"));
  EXPECT_FALSE(has(zero, "/files/d/a"));
  for (const Fields& fields : {Fields{{"Depth", "infinity"}}, Fields{}}) {
    const TestResponse refused = ask(PROPFIND, "/d", fields);
    EXPECT_EQ(refused.status, 403);
    EXPECT_TRUE(has(refused, "<D:propfind-finite-depth/>"));
  }
  EXPECT_EQ(status(PROPFIND, "/d/a"), 207);  // a file has no depth
  EXPECT_TRUE(has(ask(PROPFIND, "", {{"Depth", "1"}}), "<D:href>/files/d/</D:href>"));
}

TEST_F(Webdav, PropfindOfALargeFolder) {
  constexpr int count = 1000;
  for (int i = 0; i < count; ++i) directory_.write("d/" + std::to_string(i), "");
  const TestResponse response = ask(PROPFIND, "/d", {{"Depth", "1"}});
  EXPECT_TRUE(response.complete);
  EXPECT_GT(response.body.size(), 300'000U);  // several batches
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(has(response, "<D:href>/files/d/" + std::to_string(i) + "<")) << i;
  }
  EXPECT_TRUE(response.body.ends_with("</D:multistatus>\n"));
}

TEST_F(Webdav, PropfindOfWhatIsAskedFor) {
  directory_.write("a", "1");
  const Fields depth = {{"Depth", "0"}};
  const TestResponse some =
      ask(PROPFIND, "/a", depth,
          "<p:propfind xmlns:p='DAV:'><p:prop><p:getcontentlength/><x xmlns='u:'/><p:none/>"
          "<p:quota-used-bytes/></p:prop></p:propfind>");
  EXPECT_TRUE(has(some, "<D:propstat><D:prop><D:getcontentlength>1</D:getcontentlength></D:prop>"
                        "<D:status>HTTP/1.1 200 OK</D:status></D:propstat>"));
  EXPECT_TRUE(has(some, "<D:propstat><D:prop><x xmlns=\"u:\"/><D:none/><D:quota-used-bytes/>"
                        "</D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>"));
  const TestResponse names =
      ask(PROPFIND, "/a", depth, "<propfind xmlns='DAV:'><propname/></propfind>");
  EXPECT_TRUE(has(names, "<D:getetag/>"));
  EXPECT_EQ(status(PROPFIND, "/a", depth, "<propfind xmlns='DAV:'>"), 400);
  EXPECT_EQ(status(PROPFIND, "/a", depth, "<!DOCTYPE a><propfind xmlns='DAV:'/>"), 400);
  EXPECT_EQ(status(PROPFIND, "/a", depth, "<propfind xmlns='DAV:'/>"), 400);
  EXPECT_EQ(status(PROPFIND, "/a", depth, std::string(XmlLimits().bytes_max + 1, ' ')), 413);
  EXPECT_EQ(status(PROPFIND, "/a", {{"Depth", "2"}}), 400);
  for (const char* const path : {"/none", "/.a", "/h2_tmp_1", "/a/b"}) {
    EXPECT_EQ(status(PROPFIND, path, depth) / 100, 4) << path;
  }
}

TEST_F(Webdav, Proppatch) {
  directory_.write("a", "1");
  const auto set = [&](std::string_view properties) {
    return ask(PROPPATCH, "/a", {},
               "<D:propertyupdate xmlns:D='DAV:' xmlns:u='u:'>" + std::string(properties) +
                   "</D:propertyupdate>");
  };
  const TestResponse first = set("<D:set><D:prop><u:x>1<u:y/></u:x></D:prop></D:set>");
  EXPECT_EQ(first.status, 207);
  if (has(first, "HTTP/1.1 403")) GTEST_SKIP() << "no extended attributes here";
  EXPECT_TRUE(has(first, "<x xmlns=\"u:\"/></D:prop><D:status>HTTP/1.1 200 OK"));
  const std::string value = "<x xmlns=\"u:\">1<y xmlns=\"u:\"/></x>";
  EXPECT_TRUE(has(ask(PROPFIND, "/a"), value));
  // All or none.
  const TestResponse refused = set("<D:remove><D:prop><u:x/></D:prop></D:remove>"
                                   "<D:set><D:prop><D:getetag>x</D:getetag></D:prop></D:set>");
  EXPECT_TRUE(has(refused, "<D:getetag/></D:prop><D:status>HTTP/1.1 403 Forbidden"));
  EXPECT_TRUE(has(refused, "<x xmlns=\"u:\"/></D:prop><D:status>HTTP/1.1 424 Failed Dependency"));
  EXPECT_TRUE(has(ask(PROPFIND, "/a"), value));
  // They stay when the content changes, and go along.
  const TestResponse put = ask(PUT, "/a", {}, "new");
  EXPECT_EQ(put.status, 204);
  EXPECT_EQ(put.field("ETag"), entity_tag(look_at_path(uploads_->fd(), "a")->version));
  EXPECT_TRUE(has(ask(PROPFIND, "/a"), value));
  EXPECT_EQ(status(MOVE, "/a", {{"Destination", "/files/b"}}), 201);
  EXPECT_TRUE(has(ask(PROPFIND, "/b"), value));
  EXPECT_EQ(set("<D:set><D:prop><u:x/></D:prop></D:set>").status, 404);
  EXPECT_EQ(status(PROPPATCH, "/b"), 400);
  EXPECT_EQ(status(PROPPATCH, "/b", {}, "<a/>"), 400);
}

TEST_F(Webdav, MkcolAndPut) {
  EXPECT_EQ(status(MKCOL, "/d/"), 201);
  EXPECT_EQ(status(MKCOL, "/d"), 405);
  EXPECT_EQ(status(MKCOL, "/x/y"), 409);
  EXPECT_EQ(status(MKCOL, ""), 405);
  EXPECT_EQ(status(MKCOL, "/e", {}, "x"), 415);
  EXPECT_EQ(status(MKCOL, "/.e"), 403);
  EXPECT_EQ(status(MKCOL, "/h2_tmp_e"), 403);
  EXPECT_EQ(status(MKCOL, "/e%20"), 403);
  EXPECT_EQ(status(PUT, "/d/a", {}, "1"), 201);
  EXPECT_EQ(status(PUT, "/d/a", {}, "2"), 204);
  EXPECT_EQ(directory_.read("d/a"), "2");
  EXPECT_EQ(status(PUT, "/d", {}, "1"), 405);
  EXPECT_EQ(status(PUT, "/d/", {}, "1"), 405);
  EXPECT_EQ(status(PUT, "/x/a", {}, "1"), 409);
  EXPECT_EQ(status(PUT, "/d/a/b", {}, "1"), 409);
  EXPECT_EQ(status(PUT, "/.a", {}, "1"), 403);
  EXPECT_EQ(status(PUT, "/a%09", {}, "1"), 403);
  EXPECT_EQ(directory_.names(), std::vector<std::string>{"d"});
}

TEST_F(Webdav, Delete) {
  directory_.write("d/a", "1");
  directory_.write("d/e/.hidden", "1");
  directory_.write("f", "1");
  EXPECT_EQ(status(DELETE, ""), 403);
  EXPECT_EQ(status(DELETE, "/"), 403);
  EXPECT_EQ(status(DELETE, "/d", {{"Depth", "0"}}), 400);
  EXPECT_EQ(status(DELETE, "/d/e/.hidden"), 404);
  const TestResponse partial = ask(DELETE, "/d");
  EXPECT_EQ(partial.status, 207);
  EXPECT_TRUE(has(partial, "<D:response><D:href>/files/d/e/</D:href>"
                           "<D:status>HTTP/1.1 409 Conflict</D:status></D:response>"));
  EXPECT_FALSE(exists("d/a"));
  EXPECT_EQ(status(DELETE, "/d/e"), 409);
  EXPECT_EQ(status(DELETE, "/f", {{"If-Match", "\"x\""}}), 412);
  EXPECT_EQ(status(DELETE, "/f", {{"If-None-Match", "*"}}), 412);
  const std::string tag = entity_tag(look_at_path(uploads_->fd(), "f")->version);
  EXPECT_EQ(status(DELETE, "/f", {{"If-Match", "\"x\""}, {"If-Match", tag}}), 204);
  EXPECT_EQ(status(DELETE, "/f"), 404);
}

TEST_F(Webdav, CopyAndMove) {
  directory_.write("a", "1");
  directory_.write("b", "2");
  directory_.write("d/x", "3");
  const auto to = [](std::string_view target, std::string_view overwrite = "T") {
    return Fields{{"Destination", "http://localhost/files" + std::string(target)},
                  {"Overwrite", std::string(overwrite)}};
  };
  const TestResponse created = ask(COPY, "/a", to("/c%20d"));
  EXPECT_EQ(created.status, 201);
  EXPECT_EQ(created.field("Location"), "/files/c%20d");
  EXPECT_EQ(directory_.read("c d"), "1");
  EXPECT_EQ(status(COPY, "/a", to("/b", "F")), 412);
  EXPECT_EQ(directory_.read("b"), "2");
  EXPECT_EQ(status(COPY, "/a", to("/b")), 204);
  EXPECT_EQ(directory_.read("b"), "1");
  EXPECT_EQ(status(COPY, "/d", to("/e/")), 201);
  EXPECT_EQ(directory_.read("e/x"), "3");
  EXPECT_EQ(status(COPY, "/d", {{"Destination", "/files/s"}, {"Depth", "0"}}), 201);
  EXPECT_TRUE(fs::is_empty(directory_.path_of("s")));
  EXPECT_EQ(status(MOVE, "/e", to("/b", "F")), 412);
  EXPECT_EQ(status(MOVE, "/e", to("/b")), 204);  // a folder in place of a file
  EXPECT_EQ(directory_.read("b/x"), "3");
  EXPECT_FALSE(exists("e"));
  EXPECT_EQ(status(MOVE, "/a", to("/b")), 204);  // and the other way round
  EXPECT_EQ(directory_.read("b"), "1");
  EXPECT_EQ(status(MOVE, "/d/x", to("/x")), 201);
  EXPECT_EQ(directory_.read("x"), "3");
}

TEST_F(Webdav, NamesThatAreTakenNow) {
  directory_.write("a", "1");
  directory_.write("b", "2");
  directory_.write("d/x", "3");
  const Fields to_b = {{"Destination", "/files/b"}};
  {
    const auto upload = uploads_->names().reserve("b");
    EXPECT_EQ(status(COPY, "/a", to_b), 409);
    EXPECT_EQ(status(COPY, "/d", to_b), 409);
    EXPECT_EQ(status(MOVE, "/a", to_b), 409);
    EXPECT_EQ(status(MOVE, "/b", {{"Destination", "/files/c"}}), 409);
    EXPECT_EQ(status(DELETE, "/b"), 409);
    EXPECT_EQ(status(COPY, "/b", {{"Destination", "/files/c"}}), 201);  // of what is there still
  }
  EXPECT_EQ(directory_.read("b"), "2");
  EXPECT_EQ(directory_.names(), (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(status(COPY, "/a", to_b), 204);
  EXPECT_EQ(status(MOVE, "/a", to_b), 204);
  EXPECT_EQ(status(DELETE, "/b"), 204);
  for (const char* const name : {"a", "b"}) {
    EXPECT_TRUE(uploads_->names().reserve(name)) << "all names are free again";
  }
}

TEST_F(Webdav, TargetsThatHoldMoreThanIsShown) {
  directory_.write("d/x", "1");
  directory_.write("c/.hidden", "2");
  directory_.write("c/e/.hidden", "3");
  const TestResponse response = ask(COPY, "/d", {{"Destination", "/files/c"}});
  EXPECT_EQ(response.status, 207);
  EXPECT_TRUE(has(response, "<D:href>/files/c/e/</D:href><D:status>HTTP/1.1 409 Conflict"))
      << response.body;
  EXPECT_EQ(status(MOVE, "/d", {{"Destination", "/files/c/e"}}), 409);
  EXPECT_EQ(directory_.read("d/x"), "1");
  EXPECT_EQ(directory_.read("c/e/.hidden"), "3");
}

TEST_F(Webdav, AbandonedCopiesAreRemoved) {
  directory_.write("h2_tmp_1_2_3/a", "1");
  Server server;
  Routes routes = server.routes();
  add_webdav_routes(routes, routes, {.directory = uploads_, .put = store()});
  EXPECT_EQ(directory_.names(), std::vector<std::string>());
}

TEST_F(Webdav, TargetsThatAreRefused) {
  directory_.write("a", "1");
  directory_.write("d/e/x", "1");
  struct Row {
    std::string path;
    std::string target;
    int status;
  };
  const std::vector<Row> rows = {
      {"/a", "/files/a", 403},    {"/d", "/files/d/e/f", 403}, {"/d/e", "/files/d", 403},
      {"/a", "/files", 403},      {"/a", "/files/.b", 403},    {"/a", "/files/h2_tmp_b", 403},
      {"/a", "/files/b%20", 403}, {"/a", "/elsewhere/b", 502}, {"/a", "http://other/files/b", 502},
      {"/a", "/files/x/b", 409},  {"/a", "/files/../b", 400},  {"/a", "b", 400},
      {"", "/files/b", 403},      {"/none", "/files/b", 404},
  };
  for (const Row& row : rows) {
    for (const Method method : {COPY, MOVE}) {
      EXPECT_EQ(status(method, row.path, {{"Destination", row.target}}), row.status)
          << row.path << " " << row.target;
    }
  }
  EXPECT_EQ(status(MOVE, "/a"), 400);
  EXPECT_EQ(status(MOVE, "/a", {{"Destination", "/files/b"}, {"Overwrite", "x"}}), 400);
  EXPECT_EQ(status(MOVE, "/d", {{"Destination", "/files/b"}, {"Depth", "0"}}), 400);
  EXPECT_EQ(status(COPY, "/d", {{"Destination", "/files/b"}, {"Depth", "1"}}), 400);
  EXPECT_EQ(directory_.names(), (std::vector<std::string>{"a", "d"}));
}

TEST_F(Webdav, LocksKeepOthersOut) {
  directory_.write("a", "1");
  directory_.write("d/x", "1");
  const std::string token = lock("/a");
  EXPECT_EQ(status(PUT, "/a", {}, "2"), 423);
  EXPECT_EQ(status(DELETE, "/a"), 423);
  EXPECT_EQ(status(MOVE, "/a", {{"Destination", "/files/b"}}), 423);
  EXPECT_EQ(status(COPY, "/d/x", {{"Destination", "/files/a"}}), 423);
  EXPECT_EQ(status(PROPPATCH, "/a", {},
                   "<propertyupdate xmlns='DAV:'><set><prop><x/></prop></set></propertyupdate>"),
            423);
  EXPECT_EQ(status(LOCK, "/a", {}, exclusive_lock), 423);
  EXPECT_EQ(status(COPY, "/a", {{"Destination", "/files/b"}}), 201);  // reading is allowed
  EXPECT_TRUE(has(ask(PROPFIND, "/a"), token));
  EXPECT_EQ(status(PUT, "/a", holding(token), "2"), 204);
  EXPECT_EQ(status(PUT, "/a", {{"If", "(Not <DAV:no-lock>)"}}, "3"), 423);
  EXPECT_EQ(status(PUT, "/a", {{"If", "(<urn:uuid:other>)"}}, "3"), 412);
  EXPECT_EQ(status(PUT, "/a", {{"If", "(<" + token + "> [\"x\"])"}}, "3"), 412);
  EXPECT_EQ(status(PUT, "/a", {{"If", "x"}}, "3"), 400);
  EXPECT_EQ(directory_.read("a"), "2");
  EXPECT_EQ(status(UNLOCK, "/a"), 400);
  EXPECT_EQ(status(UNLOCK, "/a", {{"Lock-Token", "<urn:uuid:other>"}}), 409);
  EXPECT_EQ(status(UNLOCK, "/a", {{"Lock-Token", "<" + token + ">"}}), 204);
  EXPECT_EQ(status(PUT, "/a", {}, "3"), 204);
}

TEST_F(Webdav, LocksOfFolders) {
  directory_.write("d/x", "1");
  directory_.write("a", "1");
  const std::string shallow = lock("/d");
  EXPECT_EQ(status(PUT, "/d/x", {}, "2"), 204);  // not a change of the folder
  EXPECT_EQ(status(PUT, "/d/y", {}, "2"), 423);
  EXPECT_EQ(status(MKCOL, "/d/e"), 423);
  EXPECT_EQ(status(DELETE, "/d/x"), 423);
  EXPECT_EQ(status(MOVE, "/d/x", {{"Destination", "/files/x"}}), 423);
  EXPECT_EQ(status(LOCK, "/d/y", {}, exclusive_lock), 423);
  EXPECT_EQ(status(PUT, "/d/y", {{"If", "</files/d> (<" + shallow + ">)"}}, "2"), 201);
  EXPECT_EQ(status(UNLOCK, "/d", {{"Lock-Token", "<" + shallow + ">"}}), 204);
  const std::string deep = lock("/d", "infinity");
  EXPECT_EQ(status(PUT, "/d/x", {}, "2"), 423);
  EXPECT_EQ(status(MOVE, "/a", {{"Destination", "/files/d/a"}}), 423);
  EXPECT_EQ(status(LOCK, "/d/x", {}, exclusive_lock), 423);
  EXPECT_EQ(status(PUT, "/d/x", holding(deep), "2"), 204);
  EXPECT_EQ(status(LOCK, "/d/x", holding(deep, {{"Timeout", "Second-5"}})), 200);  // refresh
  EXPECT_EQ(status(LOCK, "/a", holding(deep)), 412);
  EXPECT_EQ(status(LOCK, "/a"), 400);
  EXPECT_EQ(status(DELETE, "/d", holding(deep)), 204);
  EXPECT_EQ(status(MKCOL, "/d"), 201);  // the lock is gone with the folder
}

TEST_F(Webdav, LocksBelowAFolderKeepIt) {
  directory_.write("d/e/x", "1");
  const std::string token = lock("/d/e/x");
  EXPECT_EQ(status(DELETE, "/d"), 423);
  EXPECT_EQ(status(MOVE, "/d", {{"Destination", "/files/c"}}), 423);
  EXPECT_EQ(status(LOCK, "/d", {}, exclusive_lock), 423);
  EXPECT_EQ(directory_.read("d/e/x"), "1");
  EXPECT_EQ(
      status(MOVE, "/d", {{"Destination", "/files/c"}, {"If", "</files/d/e/x> (<" + token + ">)"}}),
      201);
  EXPECT_EQ(status(PUT, "/c/e/x", {}, "2"), 204);  // locks do not move
}

TEST_F(Webdav, LockOfWhatDoesNotExist) {
  const TestResponse response = ask(LOCK, "/new", {}, exclusive_lock);
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(directory_.read("new"), "");
  EXPECT_EQ(status(PUT, "/new", {}, "1"), 423);
  EXPECT_EQ(status(LOCK, "/x/new", {}, exclusive_lock), 409);
  EXPECT_EQ(status(LOCK, "/.new", {}, exclusive_lock), 403);
  EXPECT_EQ(status(LOCK, "/other", {{"Depth", "1"}}, exclusive_lock), 400);
  EXPECT_EQ(status(LOCK, "/other", {}, "<lockinfo xmlns='DAV:'/>"), 422);
  EXPECT_EQ(directory_.names(), std::vector<std::string>{"new"});
}

TEST_F(Webdav, OtherSitesAreRefused) {
  directory_.write("a", "1");
  for (const Method method : {PUT, DELETE, MOVE, COPY, MKCOL, LOCK, UNLOCK, PROPFIND, PROPPATCH}) {
    EXPECT_EQ(status(method, "/a", {{"Sec-Fetch-Site", "cross-site"}}), 403);
    EXPECT_EQ(status(method, "/a", {{"Origin", "http://elsewhere"}}), 403);
  }
  EXPECT_EQ(directory_.read("a"), "1");
}

TEST_F(Webdav, NeedsAHandlerForPut) {
  Server server;
  Routes routes = server.routes();
  EXPECT_THROW(
      add_webdav_routes(routes, routes, {.directory = uploads_, .put = Handler(Handler::Plain())}),
      std::invalid_argument);
  const Handler duplex([](Exchange&) -> Task<void> { co_return; });
  EXPECT_THROW(add_webdav_routes(routes, routes, {.directory = uploads_, .put = duplex}),
               std::invalid_argument);
}

// --- without the rest of WebDAV ---------------------------------------------------------------

TEST_F(Webdav, ManagesFiles) {
  directory_.write("a", "1");
  Server server;
  server.del("/up/{path...}", manage_delete(uploads_, {.base = "/up"}));
  server.route({MOVE}, "/up/{path...}", manage_move(uploads_, {.base = "/up"}));
  server.route({MKCOL}, "/up/{path...}", manage_make_folder(uploads_, {.base = "/up"}));
  TestClient client(server);
  const auto send = [&](Method method, const std::string& path, Fields fields = {}) {
    return client.send({.method = method, .target = path, .fields = std::move(fields)}).status;
  };
  EXPECT_EQ(send(MKCOL, "/up/d"), 201);
  EXPECT_EQ(send(MOVE, "/up/a", {{"Destination", "/files/b"}}), 502);
  EXPECT_EQ(send(MOVE, "/up/a", {{"Destination", "/up/d/b"}}), 201);
  EXPECT_EQ(directory_.read("d/b"), "1");
  EXPECT_EQ(send(DELETE, "/up/d", {{"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(send(DELETE, "/up/d"), 204);
  EXPECT_EQ(directory_.names(), std::vector<std::string>());
}

}  // namespace webdav_test
}  // namespace h2server::content
