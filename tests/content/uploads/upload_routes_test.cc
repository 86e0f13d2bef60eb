#include "content/uploads/upload_routes.h"

#include "content/support.h"
#include "http/file_head.h"

namespace h2server::content {
namespace upload_routes_test {

using tests::Asked;
using tests::body_of;
using tests::FakeBody;
using tests::field_of;

class UploadRoutes : public testing::Test {
 protected:
  UploadRoutes()
      : folder_(
            *file::Folder::open(directory_.path(), {.make_file = http::make_file, .fresh_ms = 0})),
        listing_(upload_listing(folder_, "/files")),
        download_(upload_download(folder_)),
        receiver_(upload_receiver(directory_backend(*UploadDirectory::open(folder_->fd())),
                                  "/files", {})) {}

  Response get(const std::string& name, std::vector<Field> fields = {}) {
    name_ = "/" + name;
    asked_ = Asked(name_, "file_name");
    for (const Field& field : fields) asked_.head.fields.add(field.name, field.value);
    return asked_.answer(download_);
  }

  Response post(const std::string& file_name, std::vector<Field> fields = {}) {
    return post_body(part(file_name) + "--B--\r\n", std::move(fields));
  }

  static std::string part(const std::string& file_name) {
    return "--B\r\nContent-Disposition: form-data; name=f; filename=\"" + file_name +
           "\"\r\n\r\ncontent\r\n";
  }

  Response post_body(const std::string& form, std::vector<Field> fields = {}) {
    FakeBody body({form});
    Asked asked;
    asked.head.method = Method::POST;
    asked.head.fields.add("content-type", "multipart/form-data; boundary=B");
    for (const Field& field : fields) asked.head.fields.add(field.name, field.value);
    return asked.answer(receiver_, &body);
  }

  tests::TemporaryDirectory directory_;
  std::shared_ptr<const file::Folder> folder_;
  Handler listing_;
  Handler download_;
  Handler receiver_;
  std::string name_;
  Asked asked_;
};

TEST_F(UploadRoutes, Listing) {
  directory_.write("a.txt", "");
  Asked asked;
  const Response page = asked.answer(listing_);
  EXPECT_EQ(page.status(), 200);
  EXPECT_EQ(field_of(page, "Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(field_of(page, "Cache-Control"), "no-cache");
  const std::string text = body_of(page);
  EXPECT_NE(text.find("href=\"/files/a.txt\""), std::string::npos);
  EXPECT_NE(text.find("enctype=\"multipart/form-data\" action=\"/files\""), std::string::npos);
  const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
  EXPECT_EQ(asked.answer(listing_).status(), 503);
}

// Uploaded files must not run as part of this site, whatever the status.
TEST_F(UploadRoutes, Downloads) {
  directory_.write_settled("page.html", "<script>");
  directory_.write("h2_tmp_1_2", "half");
  directory_.write("sub/x", "x");
  struct Row {
    std::string name;
    std::vector<Field> fields;
    int status;
    std::string body = "";
  };
  const std::vector<Row> rows = {
      {"page.html", {}, 200, "<script>"},
      {"page.html", {{"range", "bytes=1-3"}}, 206, "scr"},
      {"page.html", {{"if-none-match", "*"}}, 304},
      {"page.html", {{"range", "bytes=99-"}}, 416},
      {"page.html", {{"if-match", "\"x\""}}, 412},
      {"gone", {}, 404},
      {"sub", {}, 404},
      {"h2_tmp_1_2", {}, 404},
      {"", {}, 404},
      {"..", {}, 404},
  };
  for (const Row& row : rows) {
    Response response = get(row.name, row.fields);
    EXPECT_EQ(response.status(), row.status) << row.name;
    if (row.status / 100 == 2) {
      EXPECT_EQ(body_of(response), row.body);
    }
    if (row.status == 404) continue;
    EXPECT_EQ(field_of(response, "X-Content-Type-Options"), "nosniff") << row.status;
    response.remove("X-Content-Type-Options");
    EXPECT_EQ(response.find("X-Content-Type-Options"), std::nullopt) << row.status;  // one only
    EXPECT_EQ(field_of(response, "Content-Security-Policy"), "sandbox") << row.status;
  }
}

// A sandboxed document may not fetch the ranges of the video that it shows.
TEST_F(UploadRoutes, OnlyWhatMayHaveScriptsIsSandboxed) {
  const std::vector<std::pair<std::string, bool>> rows = {
      {"a.mp4", false}, {"a.mp3", false},  {"a.png", false}, {"a.svg", true}, {"a.svgz", true},
      {"a.html", true}, {"a.xhtml", true}, {"a.xml", true},  {"a.pdf", true}, {"a", true},
  };
  for (const auto& [name, sandboxed] : rows) {
    directory_.write(name, "x");
    const Response response = get(name);
    EXPECT_EQ(response.find("Content-Security-Policy").has_value(), sandboxed) << name;
    EXPECT_EQ(field_of(response, "X-Content-Type-Options"), "nosniff") << name;
  }
}

// A given type must not let scripts run: browsers show any XML as a document.
TEST_F(UploadRoutes, GivenTypesAreSandboxedByTheSameRule) {
  const std::vector<std::pair<std::string, bool>> rows = {
      {"Image/SVG+XML", true},
      {"image/svg-xml; a=b", true},
      {"IMAGE/x-foo+XML", true},
      {"video/x-foo+xml", true},
      {"audio/xml", true},
      {"image/x-foo; a=b", false},
      {"VIDEO/x-foo", false},
      {"image/png; title=\"xml\"", false},
      {"imagex/png", true},
      {"text/x-foo", true},
      {"multipart/x-mixed-replace", true},
  };
  directory_.write("a.foo", "x");
  for (const auto& [type, sandboxed] : rows) {
    auto types = http::MediaTypes::make({{"foo", type}});
    ASSERT_TRUE(types) << type;
    auto make = http::file_maker(std::make_shared<const http::MediaTypes>(*std::move(types)));
    folder_ = *file::Folder::open(directory_.path(), {.make_file = make, .fresh_ms = 0});
    download_ = upload_download(folder_);
    const Response response = get("a.foo");
    EXPECT_EQ(response.status(), 200);
    EXPECT_EQ(response.find("Content-Security-Policy").has_value(), sandboxed) << type;
    EXPECT_EQ(field_of(response, "X-Content-Type-Options"), "nosniff");
  }
}

// RFC 9110, 15.3.2: Location identifies what was created; there is one such field.
TEST_F(UploadRoutes, LocationOfASingleFile) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a.txt", "/files/a.txt"},
      {"a b.txt", "/files/a%20b.txt"},
      {"../c?d#e%2f;\xc3\xa9", "/files/c%3Fd%23e%252f%3B%C3%A9"},
      {"dir/f", "/files/f"},
  };
  for (const auto& [name, location] : rows) {
    EXPECT_EQ(field_of(post(name), "Location"), location) << name;
    EXPECT_EQ(field_of(post(name), "Location"), "-") << "409";
  }
  EXPECT_EQ(field_of(post_body(part("x") + part("y") + "--B--\r\n"), "Location"), "-");
  EXPECT_EQ(directory_.read("y"), "content");
}

TEST_F(UploadRoutes, FormsOfOtherSitesAreRefused) {
  const std::vector<std::pair<std::string_view, int>> rows = {
      {"cross-site", 403},
      {"same-origin", 201},
      {"same-site", 403},
      {"none", 201},
  };
  for (const auto& [site, status] : rows) {
    const std::string name(site);
    EXPECT_EQ(post(name, {{"sec-fetch-site", site}}).status(), status) << site;
    EXPECT_EQ(directory_.read(name).has_value(), status == 201) << site;
  }
  EXPECT_EQ(post("b", {{"origin", "http://elsewhere"}}).status(), 403);
  EXPECT_EQ(directory_.read("b"), std::nullopt);
}

// --- pages --------------------------------------------------------------------------------------

class UploadSitePages : public UploadRoutes {
 protected:
  // Returns the page at `path` below "/files/".
  std::string page(UploadPages pages, const std::string& path = "") {
    return body_of(answer(std::move(pages), path));
  }
  Response answer(UploadPages pages, const std::string& path = "", std::vector<Field> fields = {}) {
    const std::shared_ptr<UploadSite> site = make_upload_site(folder_, std::move(pages));
    const Handler handler = path.empty() ? upload_listing(site) : upload_download(site);
    target_ = "/" + path;
    Asked asked(target_);
    for (const Field& field : fields) asked.head.fields.add(field.name, field.value);
    return asked.answer(handler);
  }
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
  }

 private:
  std::string target_;
};

TEST_F(UploadSitePages, OfferWhatIsAllowed) {
  const std::vector<std::pair<UploadPages, std::string>> rows = {
      {{.events = false}, "<main data-files=\"/files/\" data-upload=\"/files\">"},
      {{}, "<main data-files=\"/files/\" data-upload=\"/files\" data-events>"},
      {{.resumable_at = "/uploads", .folders = true, .manage = true},
       " data-resumable=\"/uploads\" data-folders data-manage data-events>"},
      {{.options = {.overwrite = true}}, " data-overwrite data-events>"},
      {{.resumable_at = "/uploads", .uploads = false, .folders = true},
       "<main data-files=\"/files/\" data-events>"},
  };
  for (const auto& [pages, expected] : rows) EXPECT_TRUE(has(page(pages), expected)) << expected;
}

TEST_F(UploadSitePages, FoldersHavePages) {
  directory_.write("a b/c/x.txt", "x");
  directory_.write("a b/h2_tmp_1", "half");
  directory_.write("y.txt", "y");
  directory_.write(".ssh/key", "key");
  directory_.write("a b/.env", "secret");
  directory_.write(".well-known/x", "x");
  const UploadPages pages{.folders = true};
  EXPECT_FALSE(has(page(pages), ">.ssh/<"));
  EXPECT_FALSE(has(page(pages), ".well-known"));
  EXPECT_FALSE(has(page(pages, "a b/"), ".env"));
  EXPECT_TRUE(has(page(pages), "<a class=\"d\" href=\"/files/a%20b/\">a b/</a>"));
  EXPECT_TRUE(has(page(pages, "a b/"), "<a class=\"d\" href=\"/files/a%20b/c/\">c/</a>"));
  const std::string deep = page(pages, "a b/c/");
  EXPECT_TRUE(has(deep, "<a class=\"t\" href=\"/files/a%20b/c/x.txt\">x.txt</a>"));
  EXPECT_TRUE(has(deep, "data-files=\"/files/\" data-folder=\"a b/c/\""));
  EXPECT_TRUE(has(deep, "<li><a href=\"../../\">Uploads</a></li>"));
  EXPECT_FALSE(has(page(pages, "a b/"), "h2_tmp_"));
  EXPECT_EQ(body_of(answer(pages, "a b/c/x.txt")), "x");
  const Response moved = answer(pages, "a b/c");
  EXPECT_EQ(moved.status(), 301);
  EXPECT_EQ(field_of(moved, "Location"), "/files/a%20b/c/");
  for (const char* const path : {"none/", "y.txt/", "a b/h2_tmp_1", "h2_tmp_1/x", "../", ".ssh/",
                                 ".ssh", ".ssh/key", "a b/.env", ".well-known/x"}) {
    EXPECT_EQ(answer(pages, path).status(), 404) << path;
  }
}

TEST_F(UploadSitePages, WithoutFoldersNoneIsSeen) {
  directory_.write("sub/x.txt", "x");
  EXPECT_FALSE(has(page({}), "sub/"));
  for (const char* const path : {"sub/", "sub", "sub/x.txt"})
    EXPECT_EQ(answer({}, path).status(), 404) << path;
}

TEST_F(UploadSitePages, DropBox) {
  directory_.write("secret.bin", "a");
  const UploadPages pages{.resumable_at = "/uploads", .list = false};
  const std::string text = page(pages);
  EXPECT_TRUE(has(text, "<form class=\"upload\""));
  for (const char* const part : {"secret.bin", "<table", "class=\"tools\"", "data-events"}) {
    EXPECT_FALSE(has(text, part)) << part;
  }
  EXPECT_EQ(body_of(answer(pages, "", {{"accept", "application/json"}})), "[\n\n]\n");
  EXPECT_EQ(answer(pages, "secret.bin").status(), 404);
}

TEST_F(UploadSitePages, Room) {
  directory_.write("a.txt", std::string(1000, 'x'));
  EXPECT_TRUE(has(page({.options = {.directory_bytes_max = 2024, .reserve_bytes = 0}}),
                  "data-b=\"1024\">1.0 KiB free</p>"));
  EXPECT_TRUE(has(page({.options = {.directory_bytes_max = 10}}), "data-b=\"0\">0 B free</p>"));
  EXPECT_TRUE(has(page({.options = {.reserve_bytes = UINT64_MAX}}), "data-b=\"0\">0 B free</p>"));
  EXPECT_FALSE(has(page({.uploads = false}), " free</p>"));
}

}  // namespace upload_routes_test
}  // namespace h2server::content
