#include "h2server/uploads.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace h2server::content {
namespace created_response_test {

using namespace std::string_literals;

TEST(CreatedResponse, NamesAreJsonStrings) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", R"("")"},
      {"plain.txt", R"("plain.txt")"},
      {R"(a"b)", R"("a\"b")"},
      {R"(a\b)", R"("a\\b")"},
      {R"(\")", R"("\\\"")"},
      {"a/b", R"("a/b")"},
      {"\0"s, R"("\u0000")"},
      {"\n\r\t", R"("\u000a\u000d\u0009")"},
      {"\x1f ", R"("\u001f ")"},
      {"\x7f", "\"\x7f\""},
      {"\xc3\xa9\xf0\x9f\x98\x80", "\"\xc3\xa9\xf0\x9f\x98\x80\""},
  };
  for (const auto& [name, expected] : rows) {
    const Response response = created_response({{name, 7}});
    EXPECT_EQ(std::get<std::string>(response.body()), "[{\"name\":" + expected + ",\"size\":7}]\n");
  }
}

TEST(CreatedResponse, ListsTheFiles) {
  struct Row {
    std::vector<StoredFile> files;
    std::string body;
  };
  const std::vector<Row> rows = {
      {{}, "[]\n"},
      {{{"a", 0}}, "[{\"name\":\"a\",\"size\":0}]\n"},
      {{{"a\"", 1}, {"{}", 18446744073709551615U}},
       "[{\"name\":\"a\\\"\",\"size\":1},{\"name\":\"{}\",\"size\":18446744073709551615}]\n"},
      {{{"a", 1, "00ff"}, {"b", 2}},
       "[{\"name\":\"a\",\"size\":1,\"sha256\":\"00ff\"},{\"name\":\"b\",\"size\":2}]\n"},
  };
  for (const Row& row : rows) {
    const Response response = created_response(row.files);
    EXPECT_EQ(response.status(), 201);
    EXPECT_EQ(std::get<std::string>(response.body()), row.body);
    ASSERT_EQ(response.fields().size(), 2U);
    EXPECT_EQ(response.fields()[0].value, "application/json");
    EXPECT_EQ(response.find("X-Content-Type-Options"), "nosniff");
  }
}

}  // namespace created_response_test
}  // namespace h2server::content
