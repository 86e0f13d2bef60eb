#include "content/listing.h"

#include "content/support.h"

namespace h2server::content {
namespace {

class Listing : public testing::Test {
 protected:
  // Returns the table's rows without its header.
  std::vector<std::string> rows(const std::string& base = "/files") {
    const Result<std::string, int> page = listing_page(directory_.fd(), base);
    EXPECT_TRUE(page);
    page_ = page.value_or("");
    std::vector<std::string> lines;
    for (std::size_t at = page_.find("<tr><td>"); at != std::string::npos;
         at = page_.find("<tr><td>", at + 1)) {
      lines.push_back(page_.substr(at, page_.find('\n', at) - at));
    }
    return lines;
  }

  void write(const std::string& name, std::string_view content = "") {
    directory_.write_settled(name, content, 784111777);
  }

  static std::string row(const std::string& href, const std::string& text,
                         const std::string& size = "0 B") {
    return "<tr><td><a href=\"" + href + "\">" + text + "</a></td><td>" + size +
           "</td><td>Sun, 06 Nov 1994 08:49:37 GMT</td></tr>";
  }

  tests::TemporaryDirectory directory_;
  std::string page_;
};

TEST_F(Listing, EmptyDirectory) {
  EXPECT_TRUE(rows().empty());
  EXPECT_NE(page_.find("Nothing here yet."), std::string::npos);
  EXPECT_NE(page_.find("<form method=\"post\" action=\"/files\" "
                       "enctype=\"multipart/form-data\">"),
            std::string::npos);
  EXPECT_TRUE(page_.starts_with("<!doctype html>\n"));
  EXPECT_TRUE(page_.ends_with("</html>\n"));
  write("a");
  EXPECT_EQ(rows().size(), 1U);
  EXPECT_EQ(page_.find("Nothing here yet."), std::string::npos);
}

TEST_F(Listing, NamesAreEscaped) {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"plain-1_2~3.txt", row("/files/plain-1_2~3.txt", "plain-1_2~3.txt")},
      {"<script>alert(1)<&",
       row("/files/%3Cscript%3Ealert%281%29%3C%26", "&lt;script&gt;alert(1)&lt;&amp;")},
      {"\"><img src=x>", row("/files/%22%3E%3Cimg%20src%3Dx%3E", "&quot;&gt;&lt;img src=x&gt;")},
      {"a b", row("/files/a%20b", "a b")},
      {"100%", row("/files/100%25", "100%")},
      {"%41", row("/files/%2541", "%41")},
      {"q?x#y", row("/files/q%3Fx%23y", "q?x#y")},
      {"&amp;", row("/files/%26amp%3B", "&amp;amp;")},
      {"it's", row("/files/it%27s", "it's")},
      {"javascript:x", row("/files/javascript%3Ax", "javascript:x")},
      {"\xc3\xa9", row("/files/%C3%A9", "\xc3\xa9")},
      {"back\\slash", row("/files/back%5Cslash", "back\\slash")},
  };
  std::vector<std::string> expected;
  for (const auto& [name, line] : names) write(name);
  for (const std::string& name : directory_.names()) {
    for (const auto& [known, line] : names) {
      if (known == name) expected.push_back(line);
    }
  }
  EXPECT_EQ(rows(), expected);
}

TEST_F(Listing, TheBaseIsEscaped) {
  write("a");
  EXPECT_EQ(rows("/f\"<>&").at(0), row("/f&quot;&lt;&gt;&amp;/a", "a"));
  EXPECT_NE(page_.find("action=\"/f&quot;&lt;&gt;&amp;\""), std::string::npos);
}

TEST_F(Listing, OnlyRegularFilesThatAreComplete) {
  write("file");
  write("h2_tmp_1_2");
  write("h2_tmp_");
  write("h2_tmp");
  directory_.write("directory/inside", "");
  ASSERT_EQ(::symlink("file", directory_.path_of("link").c_str()), 0);
  ASSERT_EQ(::symlink("/etc/passwd", directory_.path_of("link_out").c_str()), 0);
  ASSERT_EQ(::mkfifo(directory_.path_of("fifo").c_str(), 0644), 0);
  EXPECT_EQ(rows(), (std::vector{row("/files/file", "file"), row("/files/h2_tmp", "h2_tmp")}));
}

TEST_F(Listing, SortedByName) {
  for (const char* const name : {"b", "a", "C", "10", "9"}) write(name);
  std::vector<std::string> hrefs;
  for (const std::string& line : rows()) {
    hrefs.push_back(line.substr(24, line.find('"', 24) - 24));
  }
  EXPECT_EQ(hrefs, (std::vector<std::string>{"10", "9", "C", "a", "b"}));
}

TEST_F(Listing, Sizes) {
  struct Row {
    off_t size;
    std::string text;
  };
  const std::vector<Row> sizes = {
      {0, "0 B"},
      {1, "1 B"},
      {1023, "1023 B"},
      {1024, "1.0 KiB"},
      {1536, "1.5 KiB"},
      {1024 * 1024 - 1, "1024.0 KiB"},
      {1024 * 1024, "1.0 MiB"},
      {off_t{5} * 1024 * 1024 * 1024, "5.0 GiB"},
      {off_t{3} * 1024 * 1024 * 1024 * 1024, "3.0 TiB"},
  };
  for (const Row& one : sizes) {
    write("a");
    if (::truncate(directory_.path_of("a").c_str(), one.size) != 0) {
      ASSERT_EQ(errno, EFBIG);  // this file system does not support the larger sizes
      continue;
    }
    directory_.set_modified("a", 784111777);
    EXPECT_EQ(rows(), std::vector{row("/files/a", "a", one.text)});
  }
}

TEST_F(Listing, ReadsTheDirectoryAnew) {
  EXPECT_TRUE(rows().empty());
  write("a");
  EXPECT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows().size(), 1U) << "the descriptor's position is not shared";
}

TEST_F(Listing, Errors) {
  const Result<std::string, int> nothing = listing_page(-1, "/files");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error(), EBADF);
  const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
  const Result<std::string, int> page = listing_page(directory_.fd(), "/files");
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error(), EMFILE);
}

}  // namespace
}  // namespace h2server::content
