#include "content/files/upload_panel.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace h2server::content {
namespace upload_panel_test {

std::string attributes(const UploadPanel& panel) {
  std::string out;
  append_attributes(out, panel);
  return out;
}

std::string form(const UploadPanel& panel) {
  std::string out;
  append_form(out, panel);
  return out;
}

TEST(UploadPanel, Attributes) {
  const std::vector<std::pair<UploadPanel, std::string>> rows = {
      {{}, ""},
      {{.action = "/files", .files = "/files/"}, " data-files=\"/files/\" data-upload=\"/files\""},
      {{.resumable_at = "/uploads"}, " data-resumable=\"/uploads\""},
      {{.folders = true, .manage = true, .overwrite = true, .events = true},
       " data-folders data-manage data-overwrite data-events"},
      {{.folder = "a\"<b>&\xff/"}, " data-folder=\"a&quot;&lt;b&gt;&amp;\xef\xbf\xbd/\""},
  };
  for (const auto& [panel, expected] : rows) EXPECT_EQ(attributes(panel), expected);
}

TEST(UploadPanel, Form) {
  EXPECT_EQ(form({.manage = true, .free_bytes = 1}), "") << "no uploads";
  const std::string plain = form({.action = "/a\"b", .free_bytes = 1536});
  EXPECT_TRUE(plain.starts_with("<form class=\"upload\" id=\"upload\" method=\"post\" "
                                "enctype=\"multipart/form-data\" action=\"/a&quot;b\">\n"));
  EXPECT_NE(plain.find("<input type=\"file\" name=\"file\" multiple required"), plain.npos);
  EXPECT_NE(plain.find("<button class=\"button\">Upload</button>"), plain.npos);
  EXPECT_NE(plain.find("<p class=\"room\" data-b=\"1536\">1.5 KiB free</p>"), plain.npos);
  EXPECT_EQ(form({.action = "/files"}).find("free"), std::string::npos) << "it is not known";
}

TEST(UploadPanel, FormOfAFolder) {
  const std::string text = form({.action = "/files", .folder = "a/"});
  EXPECT_EQ(text.find("<input"), text.npos) << "it would store in the top folder";
  EXPECT_NE(text.find("<noscript>"), text.npos);
}

}  // namespace upload_panel_test
}  // namespace h2server::content
