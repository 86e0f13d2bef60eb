#include "content/uploads/receive/body_files.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::content {
namespace body_files_test {

// What is pulled from a body that comes in pieces of `step` bytes: "<name size>", the content, "/"
// for the end of a file, "." for a complete body, or "!" and the status of a refusal.
std::string pulled(const UploadIntent& intent, std::string_view body, std::size_t step) {
  BodyFiles files(intent);
  std::string all;
  for (bool first = true; first || !body.empty(); first = false) {
    files.feed(body.substr(0, step));
    for (bool more = true; more;) {
      switch (files.next()) {
        case BodyFiles::Event::need_more:
          more = false;
          break;
        case BodyFiles::Event::begin:
          all += "<" + files.path();
          if (files.size()) all += " " + std::to_string(*files.size());
          all += ">";
          break;
        case BodyFiles::Event::data:
          EXPECT_NE(files.data(), "");
          all += files.data();
          break;
        case BodyFiles::Event::end:
          all += "/";
          break;
        case BodyFiles::Event::refused:
          return all + "!" + std::to_string(files.take_refusal().status());
      }
    }
    body.remove_prefix(std::min(step, body.size()));
  }
  const Result<void, Response> complete = files.check_complete();
  return all + (complete ? "." : "!" + std::to_string(complete.error().status()));
}

std::string part(const std::string& disposition, const std::string& content) {
  return "--b\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + content + "\r\n";
}
std::string file(const std::string& name, const std::string& content) {
  return part("name=f; filename=\"" + name + "\"", content);
}

struct Row {
  UploadIntent intent;
  std::string body;
  std::string pulled;
};

TEST(BodyFiles, Tables) {
  const UploadIntent form{.boundary = "b"};
  UploadIntent small = form;
  small.options.file_bytes_max = 4;
  UploadIntent folders = form;
  folders.options.folders = true;
  UploadIntent small_put{.path = "a", .body_bytes = {}, .options = {.file_bytes_max = 4}};
  UploadIntent long_put = small_put;
  long_put.body_bytes = 5;
  const std::string end = "--b--\r\n";
  const std::vector<Row> rows = {
      // The body is the file, even an empty one.
      {{.path = "a"}, "", "<a>."},
      {{.path = "a"}, "content", "<a>content."},
      {{.path = "d/a", .body_bytes = 7}, "content", "<d/a 7>content."},
      {small_put, "four", "<a>four."},
      {long_put, "", "!413"},
      // Forms.
      {form, file("a", "1") + file("b", "") + end, "<a>1/<b>/."},
      {form, "preamble\r\n" + file("a", "x\r\n--c") + end + "epilogue", "<a>x\r\n--c/."},
      {form, part("name=text", "ignored") + file("a", "1") + end, "<a>1/."},
      {form, file("", "") + end, "!400"},
      {form, part("name=text", "ignored") + end, "!400"},
      {form, end, "!400"},
      {form, "", "!400"},
      {form, file("a", "1"), "<a>1!400"},
      {form, file("a", "1") + "--b \x01", "<a>1!400"},
      {form, file("..", "1") + end, "!400"},
      {form, file("d/a", "1") + end, "<a>1/."},
      {folders, file("d/a", "1") + file("a", "2") + end, "<d/a>1/<a>2/."},
      {form, file("a", "1") + file("b", "2") + file("a", "3") + end, "<a>1/<b>2/!409"},
      {small, file("a", "four") + file("b", "four") + end, "<a>four/<b>four/."},
  };
  for (const Row& row : rows) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, row.body.size() + 1}) {
      EXPECT_EQ(pulled(row.intent, row.body, step), row.pulled) << row.body << " by " << step;
    }
  }
  // How much was given before the refusal depends on the pieces.
  for (const std::size_t step : {std::size_t{1}, std::size_t{100}}) {
    EXPECT_TRUE(pulled(small_put, "fiver", step).ends_with("!413"));
    EXPECT_TRUE(pulled(small, file("a", "fiver") + end, step).ends_with("!413"));
  }
}

TEST(BodyFiles, ManyFiles) {
  const UploadIntent form{.boundary = "b"};
  std::string body;
  for (std::size_t i = 0; i < UploadLimits::files_max; ++i) body += file(std::to_string(i), "");
  EXPECT_TRUE(pulled(form, body + "--b--", body.size() + 5).ends_with("."));
  body += file("more", "") + "--b--";
  EXPECT_TRUE(pulled(form, body, body.size()).ends_with("!413"));
}

TEST(BodyFiles, BytesBesideFiles) {
  UploadIntent form{.boundary = "b"};
  form.options.file_bytes_max = 1;
  const std::string most(UploadLimits::form_rest_min, 'x');
  EXPECT_EQ(pulled(form, most, most.size()), "!400") << "not too many, but no form";
  EXPECT_EQ(pulled(form, most + "x", most.size() + 1), "!413");
  form.options.file_bytes_max = 0;
  EXPECT_EQ(pulled(form, most + "x", most.size() + 1), "!400") << "no limit";
}

}  // namespace body_files_test
}  // namespace h2server::content
