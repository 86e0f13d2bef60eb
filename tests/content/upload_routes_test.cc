#include "content/upload_routes.h"

#include "content/support.h"
#include "http/file_head.h"

namespace h2server::content {
namespace {

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
        receiver_(upload_receiver(*UploadDirectory::open(folder_->fd()), "/files", {})) {}

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

TEST_F(UploadRoutes, UploadsAreSeenAtOnce) {
  EXPECT_EQ(get("a.txt").status(), 404);
  EXPECT_EQ(post("a.txt").status(), 201);
  EXPECT_EQ(body_of(get("a.txt")), "content");
}

TEST_F(UploadRoutes, Receiver) {
  const Response created = post("a b.txt");
  EXPECT_EQ(created.status(), 201);
  EXPECT_EQ(field_of(created, "Content-Type"), "application/json");
  EXPECT_EQ(body_of(created), "[{\"name\":\"a b.txt\",\"size\":7}]\n");
  EXPECT_EQ(post("a.txt").status(), 201);
  EXPECT_EQ(post("a.txt").status(), 409);
  receiver_ = upload_receiver(*UploadDirectory::open(folder_->fd()), "/files", {.overwrite = true});
  EXPECT_EQ(post("a.txt").status(), 201);
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

}  // namespace
}  // namespace h2server::content
