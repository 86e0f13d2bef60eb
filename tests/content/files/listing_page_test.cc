#include "content/files/listing_page.h"

#include <filesystem>

#include "content/support.h"
#include "h2server/files.h"
#include "h2server/test_client.h"

namespace h2server::content {
namespace listing_page_test {

class ListingPageTest : public testing::Test {
 protected:
  void serve(FilesOptions options = {.listing = true}) {
    client_.reset();
    server_.emplace();
    options.fresh = std::chrono::milliseconds(0);
    server_->get("/{path...}", Files(directory_.path(), options));
    client_.emplace(*server_);
  }
  TestResponse get(const std::string& target, const std::string& accept = {}) {
    if (!client_) serve();
    std::vector<Response::Line> fields;
    if (!accept.empty()) fields.push_back({"accept", accept});
    TestResponse response = client_->send({.target = target, .fields = std::move(fields)});
    EXPECT_TRUE(response.complete);
    return response;
  }
  std::string page(const std::string& target = "/") { return get(target).body; }
  // Returns what stands between tags, and the link, of each row.
  static std::vector<std::string> hrefs(const std::string& text) {
    std::vector<std::string> found;
    constexpr std::string_view before = "\" href=\"";
    const std::size_t table = text.find("<tbody>");
    const std::size_t end = text.find("</table>", table);
    for (std::size_t at = text.find(before, table); at != text.npos && at < end;
         at = text.find(before, at + 1)) {
      const std::size_t begin = at + before.size();
      found.push_back(text.substr(begin, text.find('"', begin) - begin));
    }
    return found;
  }

  tests::TemporaryDirectory directory_;
  std::optional<Server> server_;
  std::optional<TestClient> client_;
};

using Hrefs = std::vector<std::string>;

TEST_F(ListingPageTest, Rows) {
  directory_.write_settled("b.txt", "12345", 784111777);
  directory_.write("a b/x", "");
  const std::string text = page();
  EXPECT_EQ(hrefs(text), (Hrefs{"a%20b/", "b.txt"}));
  EXPECT_NE(
      text.find("<tr><td><a class=\"t\" href=\"b.txt\">b.txt</a></td><td data-b=\"5\">5 B</td>"
                "<td><time datetime=\"1994-11-06T08:49:37Z\">1994-11-06 08:49</time></td></tr>"),
      text.npos);
  EXPECT_NE(text.find("<p role=\"status\">1 folder, 1 file, 5 B</p>"), text.npos);
  EXPECT_TRUE(text.starts_with("<!doctype html>\n"));
  EXPECT_TRUE(text.ends_with("</html>\n"));
}

TEST_F(ListingPageTest, NamesAreEscaped) {
  const std::string name = "<img src=x onerror=alert(1)>&\"'\xff.txt";
  directory_.write(name, "");
  directory_.write("javascript:x", "");
  directory_.write("photo\xe2\x80\xaegpj.exe", "");
  directory_.write("\"><script>/README", "<script>readme");
  const std::string top = page();
  EXPECT_EQ(top.find("<img src"), top.npos);
  EXPECT_NE(top.find("&lt;img src=x onerror=alert(1)&gt;&amp;&quot;'\xef\xbf\xbd.txt</a>"),
            top.npos);
  EXPECT_NE(top.find("photo%E2%80%AEgpj.exe</a>"), top.npos) << "it would end in exe.jpg";
  EXPECT_EQ(hrefs(top).at(0), "%22%3E%3Cscript%3E/");
  EXPECT_EQ(hrefs(top).at(2), "javascript%3Ax");
  const std::string below = page("/%22%3E%3Cscript%3E/");
  EXPECT_NE(below.find("<title>&quot;&gt;&lt;script&gt;</title>"), below.npos);
  EXPECT_NE(below.find("<pre>&lt;script&gt;readme</pre>"), below.npos);
  const std::string filtered = page("/?filter=%22%3E%3Cb%3E");
  EXPECT_NE(filtered.find("value=\"&quot;&gt;&lt;b&gt;\""), filtered.npos);
  EXPECT_EQ(hrefs(filtered), Hrefs());
}

TEST_F(ListingPageTest, BreadcrumbsAndParent) {
  directory_.write("one/two/x", "");
  const std::string top = page();
  EXPECT_NE(top.find("<li aria-current=\"page\"><h1>Home</h1></li>"), top.npos);
  EXPECT_EQ(top.find("Parent folder"), top.npos);
  const std::string deep = page("/one/two/");
  EXPECT_NE(deep.find("<li><a href=\"../../\">Home</a></li>\n<li><a href=\"../\">one</a></li>\n"
                      "<li aria-current=\"page\"><h1>two</h1></li>"),
            deep.npos);
  EXPECT_EQ(hrefs(deep), (Hrefs{"../", "x"}));
}

TEST_F(ListingPageTest, SortAndFilter) {
  directory_.write_settled("a", "22", 2);
  directory_.write_settled("b", "1", 1);
  directory_.write_settled("C", "333", 3);
  const std::vector<std::pair<std::string, Hrefs>> rows = {
      {"/", {"a", "b", "C"}},
      {"/?sort=name", {"a", "b", "C"}},
      {"/?sort=-name", {"C", "b", "a"}},
      {"/?sort=size", {"b", "a", "C"}},
      {"/?sort=-modified", {"C", "a", "b"}},
      {"/?sort=-nonsense", {"a", "b", "C"}},
      {"/?filter=c", {"C"}},
      {"/?filter=&sort=-size", {"C", "a", "b"}},
  };
  for (const auto& [target, expected] : rows) EXPECT_EQ(hrefs(page(target)), expected) << target;
  EXPECT_NE(page("/?sort=size")
                .find("aria-sort=\"ascending\"><button form=\"tools\" name=\"sort\" "
                      "value=\"-size\">"),
            std::string::npos);
  EXPECT_NE(page("/?filter=c").find("1 of 3 shown"), std::string::npos);
  EXPECT_NE(page("/?filter=zzz").find("No name contains that."), std::string::npos);
}

TEST_F(ListingPageTest, Json) {
  directory_.write_settled("a\"\xff", "22", 784111777);
  directory_.write("sub/x", "");
  directory_.set_modified("sub", 0);
  const TestResponse list = get("/", "application/json");
  EXPECT_EQ(list.field("content-type"), "application/json");
  EXPECT_EQ(list.field("vary"), "Accept, Accept-Encoding");
  EXPECT_EQ(list.body,
            "[\n{\"name\":\"sub\",\"type\":\"directory\",\"mtime\":\"1970-01-01T00:00:00Z\"},\n"
            "{\"name\":\"a\\\"\xef\xbf\xbd\",\"type\":\"file\",\"mtime\":\"1994-11-06T08:49:37Z\","
            "\"size\":2}\n]\n");
  EXPECT_EQ(get("/", "text/html,*/*;q=0.8").field("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(get("/", "*/*").field("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(get("/sub/?filter=none", "application/json").body, "[\n\n]\n");
}

TEST_F(ListingPageTest, ScriptsOfThePageAloneRun) {
  const TestResponse first = get("/");
  const std::string policy(first.field("content-security-policy").value_or(""));
  const std::size_t at = policy.find("'nonce-");
  ASSERT_NE(at, policy.npos) << policy;
  const std::string nonce = policy.substr(at + 7, policy.find('\'', at + 1) - at - 7);
  EXPECT_EQ(nonce.size(), 32U);
  EXPECT_NE(first.body.find("<script nonce=\"" + nonce + "\">"), std::string::npos);
  EXPECT_NE(first.body.find("<style nonce=\"" + nonce + "\">"), std::string::npos);
  EXPECT_EQ(page().find(nonce), std::string::npos) << "a nonce is used once";
  EXPECT_EQ(first.field("x-content-type-options"), "nosniff");
}

TEST_F(ListingPageTest, HasNoScriptOfUploads) {
  const std::string text = page();
  EXPECT_NE(text.find("<main>\n"), text.npos);
  EXPECT_EQ(text.find("class=\"upload\""), text.npos);
  EXPECT_EQ(text.find("Upload-Offset"), text.npos);
}

TEST_F(ListingPageTest, Readmes) {
  for (const char* const other : {"README.m", "README.md5", "README-a.md", "reading", "a", "z"}) {
    directory_.write(other, "other");
  }
  std::filesystem::create_directory(directory_.path_of("readme"));
  EXPECT_EQ(page().find("id=\"readme\""), std::string::npos);
  directory_.write("readme.TXT", "text");
  EXPECT_NE(page().find("<h2 id=\"readme\">readme.TXT</h2>\n<pre>text</pre>"), std::string::npos);
  directory_.write("README.md", "# better");
  EXPECT_NE(page().find("<pre># better</pre>"), std::string::npos);
  directory_.write("README.md", std::string(100'000, 'x'));
  EXPECT_EQ(page().find("class=\"readme\""), std::string::npos) << "too long";
}

// They are sent in slices.
TEST_F(ListingPageTest, LongReadmesKeepTheirCharacters) {
  for (int shift = 0; shift < 9; ++shift) {
    std::string text(static_cast<std::size_t>(shift), 'x');
    while (text.size() < 40'000)
      text += "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";  // 2, 3 and 4 bytes
    directory_.write("README", text);
    const std::string shown = page();
    EXPECT_NE(shown.find("<pre>" + text + "</pre></section>\n</main>"), shown.npos) << shift;
    EXPECT_TRUE(shown.ends_with("</script>\n</body>\n</html>\n"));
  }
  directory_.write("README", "");
  const std::string shown = page();
  EXPECT_NE(shown.find("<pre></pre></section>\n</main>"), shown.npos);
  EXPECT_TRUE(shown.ends_with("</script>\n</body>\n</html>\n"));
}

TEST_F(ListingPageTest, ManyEntriesComeInBlocks) {
  for (int i = 0; i < 1500; ++i) directory_.write("f" + std::to_string(i), "");
  const std::string text = page();
  const Hrefs all = hrefs(text);
  ASSERT_EQ(all.size(), 1500U);
  EXPECT_EQ(all.back(), "f1499");
  EXPECT_NE(text.find("</tbody>\n<tbody>\n"), text.npos);
  EXPECT_EQ(hrefs(page("/?sort=-name")).at(0), "f1499") << "sorted on another thread";
}

TEST_F(ListingPageTest, AreSeenAtOnceWhenTheyChange) {
  EXPECT_NE(page().find("Nothing here yet."), std::string::npos);
  directory_.write("a", "");
  EXPECT_EQ(hrefs(page()), Hrefs{"a"});
  directory_.write("b", "");
  EXPECT_EQ(hrefs(page()), (Hrefs{"a", "b"}));
  std::filesystem::remove(directory_.path_of("a"));
  EXPECT_EQ(hrefs(page()), Hrefs{"b"});
}

TEST_F(ListingPageTest, WhatIsNotListed) {
  directory_.write("sub/index.html", "index");
  directory_.write(".hidden/x", "x");
  directory_.write("a.txt", "x");
  EXPECT_EQ(get("/sub/").body, "index");
  EXPECT_EQ(get("/sub").status, 301);
  for (const char* const target : {"/none/", "/a.txt/", "/.hidden/", "/.hidden/x"}) {
    EXPECT_EQ(get(target).status, 404) << target;
  }
  serve({.listing = false});
  EXPECT_EQ(get("/").status, 404);
  serve({.listing = true, .hidden = true});
  EXPECT_EQ(hrefs(page()), (Hrefs{".hidden/", "sub/", "a.txt"}));
  EXPECT_EQ(get("/.hidden/x").body, "x");
}

}  // namespace listing_page_test
}  // namespace h2server::content
