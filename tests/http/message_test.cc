#include "http/message.h"

#include <gtest/gtest.h>

#include <string>

#include "http/fields/syntax.h"

namespace h2server::http {
namespace message_test {

TEST(Message, KnowsItsMethods) {
  for (const Method method : {GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, MOVE, COPY, MKCOL,
                              PROPFIND, PROPPATCH, LOCK, UNLOCK, QUERY}) {
    EXPECT_NE(method, Method::unknown);
    EXPECT_EQ(parse_method(method_name(method)), method);
  }
  EXPECT_EQ(method_count, 15U);
  EXPECT_EQ(method_name(GET), "GET");
  EXPECT_EQ(method_name(OPTIONS), "OPTIONS");
  EXPECT_EQ(method_name(PROPPATCH), "PROPPATCH");
  EXPECT_EQ(method_name(UNLOCK), "UNLOCK");
  EXPECT_EQ(method_name(QUERY), "QUERY");
  for (const char* const name :
       {"", "get", "GE", "GETS", "TRACE", "CONNECT", "unknown", "move", "SEARCH"}) {
    EXPECT_EQ(parse_method(name), Method::unknown) << name;
  }
}

TEST(Message, KnowsReasons) {
  EXPECT_EQ(reason_phrase(100), "Continue");
  EXPECT_EQ(reason_phrase(200), "OK");
  EXPECT_EQ(reason_phrase(207), "Multi-Status");
  EXPECT_EQ(reason_phrase(404), "Not Found");
  EXPECT_EQ(reason_phrase(423), "Locked");
  EXPECT_EQ(reason_phrase(424), "Failed Dependency");
  EXPECT_EQ(reason_phrase(431), "Request Header Fields Too Large");
  EXPECT_EQ(reason_phrase(507), "Insufficient Storage");
  for (const int status : {0, 99, 299, 418, 600, -1}) EXPECT_EQ(reason_phrase(status), "Unknown");
}

TEST(Message, ExplainsAnError) {
  const Response response = error_response(404);
  EXPECT_EQ(response.find("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(response.status(), 404);
  const auto& text = std::get<std::string>(response.body());
  EXPECT_NE(text.find("404 Not Found"), std::string::npos);
  EXPECT_EQ(response.fields().at(0).name, "Content-Type");
}

TEST(Message, FindsFieldsWhateverTheirCase) {
  Fields fields;
  EXPECT_EQ(fields.find("a"), std::nullopt);
  fields.add("Accept", "1");
  fields.add("ACCEPT", "2");
  fields.add("x", "");
  EXPECT_EQ(fields.find("accept"), "1");
  EXPECT_EQ(fields.find("X"), "");
  EXPECT_EQ(fields.find("accep"), std::nullopt);
  EXPECT_EQ(fields.size(), 3U);
  fields.clear();
  EXPECT_EQ(fields.find("x"), std::nullopt);
}

TEST(Message, FindsParametersInTheirCase) {
  PathParams params;
  params.add("name", "value");
  EXPECT_EQ(params.find("name"), "value");
  EXPECT_EQ(params.find("Name"), std::nullopt);
  params.clear();
  EXPECT_EQ(params.find("name"), std::nullopt);
}

// --- syntax.h ---------------------------------------------------------------------------------

TEST(Syntax, ParsesDecimals) {
  EXPECT_EQ(parse_decimal("0"), 0U);
  EXPECT_EQ(parse_decimal("0017"), 17U);
  EXPECT_EQ(parse_decimal("18446744073709551615"), UINT64_MAX);
  for (const char* const text : {"", " 1", "1 ", "+1", "-1", "1a", "0x1", "1.0", "\xd9\xa1",
                                 "18446744073709551616", "99999999999999999999"}) {
    EXPECT_EQ(parse_decimal(text), std::nullopt) << text;
  }
}

TEST(Syntax, KnowsTokens) {
  for (const char* const text : {"a", "GET", "!#$%&'*+-.^_`|~09"}) EXPECT_TRUE(is_token(text));
  for (const char* const text : {"", "a b", "a,b", "a:b", "(a)", "\"a\"", "a\x80", "a/b", "{}"}) {
    EXPECT_FALSE(is_token(text)) << text;
  }
}

TEST(Syntax, KnowsFieldValueCharacters) {
  for (int byte = 0; byte < 256; ++byte) {
    const bool allowed = byte == '\t' || (byte >= ' ' && byte != 0x7f);
    EXPECT_EQ(is_field_value_character(static_cast<char>(byte)), allowed) << byte;
  }
}

TEST(Syntax, ComparesAndTrims) {
  EXPECT_TRUE(equals_ignoring_case("Content-LENGTH", "content-length"));
  EXPECT_FALSE(equals_ignoring_case("a", "ab"));
  EXPECT_FALSE(equals_ignoring_case("[", "{"));  // 32 apart, but not letters
  EXPECT_FALSE(equals_ignoring_case("\xc9", "\xe9"));
  EXPECT_EQ(trim(" \t a b\t "), "a b");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim("\v"), "\v");
}

TEST(Syntax, ReadsHexadecimalDigits) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::size_t place = std::string("0123456789abcdef").find(static_cast<char>(byte));
    const std::size_t upper = std::string("0123456789ABCDEF").find(static_cast<char>(byte));
    const std::size_t value = std::min(place, upper);
    EXPECT_EQ(hex_digit(static_cast<char>(byte)),
              value == std::string::npos ? -1 : static_cast<int>(value));
  }
}

TEST(Syntax, SplitsLists) {
  const auto split = [](std::string_view list) {
    std::string all;
    for_each_element(list, [&](std::string_view element) { all.append(element).append("|"); });
    return all;
  };
  EXPECT_EQ(split(""), "");
  EXPECT_EQ(split("a"), "a|");
  EXPECT_EQ(split(",, a ,\tb c,,d"), "a|b c|d|");
  EXPECT_EQ(split("a,"), "a|");
}

}  // namespace message_test
}  // namespace h2server::http
