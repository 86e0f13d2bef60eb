#include "content/uploads/receive/multipart.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace h2server::content {
namespace multipart_test {

using namespace std::string_literals;
using Event = MultipartParser::Event;

// The result of parsing, comparable however the body was cut.
struct Part {
  std::string name;
  std::string file_name;  // "-" if there is none
  std::string content_type;
  std::string content;
  bool ended = false;
  bool operator==(const Part&) const = default;
};

struct Outcome {
  std::vector<Part> parts;
  int finished_events = 0;
  bool finished = false;
  std::string problem;
  bool operator==(const Outcome&) const = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
  for (const auto& part : outcome.parts) {
    *out << "[" << part.name << "|" << part.file_name << "|" << part.content_type << "|"
         << testing::PrintToString(part.content) << (part.ended ? "]" : "...");
  }
  *out << " finished " << outcome.finished << " problem '" << outcome.problem << "'";
}

// Adds `event` to `outcome` and checks the order of events. Returns false if the parser needs more
// input or has failed.
bool take(MultipartParser& parser, Event event, Outcome& outcome) {
  const bool inside = !outcome.parts.empty() && !outcome.parts.back().ended;
  switch (event) {
    case Event::need_more:
      return false;
    case Event::malformed:
      outcome.problem = parser.problem();
      EXPECT_FALSE(outcome.problem.empty());
      EXPECT_EQ(parser.next(), Event::malformed);
      return false;
    case Event::part_begin:
      EXPECT_FALSE(inside);
      outcome.parts.push_back({parser.part().name, parser.part().file_name.value_or("-"),
                               parser.part().content_type, "", false});
      return true;
    case Event::data:
      EXPECT_TRUE(inside);
      EXPECT_FALSE(parser.data().empty());
      outcome.parts.back().content += parser.data();
      return true;
    case Event::part_end:
      EXPECT_TRUE(inside);
      outcome.parts.back().ended = true;
      return true;
    case Event::finished:
      EXPECT_FALSE(inside);
      ++outcome.finished_events;
      return true;
  }
  return false;
}

// Each piece is on the heap, at its exact size and only until need_more, so that a sanitizer
// reports every access outside of it.
Outcome parse(std::string_view boundary, const std::vector<std::string_view>& pieces,
              MultipartLimits limits = {}) {
  MultipartParser parser{std::string(boundary), limits};
  Outcome outcome;
  EXPECT_EQ(parser.next(), Event::need_more);
  for (const auto piece : pieces) {
    if (!outcome.problem.empty()) break;
    const auto copy = std::make_unique<char[]>(piece.size());
    std::copy(piece.begin(), piece.end(), copy.get());
    parser.feed({copy.get(), piece.size()});
    while (take(parser, parser.next(), outcome)) {
    }
  }
  outcome.finished = parser.finished();
  return outcome;
}

std::vector<std::string_view> cut(std::string_view body, std::size_t size) {
  std::vector<std::string_view> pieces;
  for (; body.size() > size; body.remove_prefix(size)) pieces.push_back(body.substr(0, size));
  pieces.push_back(body);
  return pieces;
}

// Parses the body whole, in pieces of 1, 2, 3 and 7 bytes, and in two at every position. The
// outcome must be the same.
Outcome parse_every_way(std::string_view boundary, const std::string& body,
                        MultipartLimits limits = {}) {
  const std::string_view view = body;
  const auto whole = parse(boundary, {view}, limits);
  for (const std::size_t size : {1, 2, 3, 7}) {
    EXPECT_EQ(parse(boundary, cut(view, size), limits), whole) << "pieces of " << size;
  }
  for (std::size_t at = 0; at <= view.size(); ++at) {
    EXPECT_EQ(parse(boundary, {view.substr(0, at), view.substr(at)}, limits), whole)
        << "cut at " << at << " of " << testing::PrintToString(body);
  }
  return whole;
}

const std::string disposition = "Content-Disposition: form-data; name=\"a\"\r\n";

std::string one_part(const std::string& content) {
  return "--B\r\n" + disposition + "\r\n" + content + "\r\n--B--\r\n";
}

TEST(Multipart, ReadsWhatBrowsersSend) {
  const auto outcome =
      parse_every_way("----WebKitFormBoundaryX",
                      "------WebKitFormBoundaryX\r\n"
                      "Content-Disposition: form-data; name=\"text\"\r\n\r\nvalue\r\n"
                      "------WebKitFormBoundaryX\r\n"
                      "Content-Disposition: form-data; name=\"file\"; filename=\"a b.png\"\r\n"
                      "Content-Type: image/png\r\n\r\n\x89PNG\r\n\x1a\n\r\n"
                      "------WebKitFormBoundaryX\r\n"
                      "Content-Disposition: form-data; name=\"none\"; filename=\"\"\r\n"
                      "Content-Type: application/octet-stream\r\n\r\n\r\n"
                      "------WebKitFormBoundaryX--\r\n");
  const Outcome expected{{{"text", "-", "text/plain", "value", true},
                          {"file", "a b.png", "image/png", "\x89PNG\r\n\x1a\n", true},
                          {"none", "", "application/octet-stream", "", true}},
                         1,
                         true,
                         ""};
  EXPECT_EQ(outcome, expected);
}

TEST(Multipart, ContentPassesUntouched) {
  const std::vector<std::string> contents = {
      "",
      "x",
      "\r",
      "\n",
      "\r\n",
      "\r\n\r\n",
      "\r\n\r\n--",
      "\r\n--",
      "\r\n--\r\n--",
      "\r\n--b",
      "\r\n-",
      "\r\r\r\n",
      "-",
      "--",
      "--b",
      "--C\r\n",
      "--BX",
      "--B-",
      "--B-x",
      "--B\n",
      "\r\n--BX",
      "\r\n--B-x",
      "\r\n--B-\r\n",
      "\r\n--B-\r\n--B-x",
      "\r\n--B\n",
      "\r\n--BB",
      "\r\n--BB--",
      "\r\n--B\0"s,
      "x--B--\r\n",
      "x\n--B--\r\n",
      "x\r--B--\r\n",
      "\r\n --B--\r\n",
      "\r\n---B--",
      "\r\r\n--BX\r\r\n--A",
      "\r\n\r\n--BX",
      "\r\n--\r\n--BX",
      "\r\n--BX\r\n--BX",
      std::string("\0\0\r\n--\0B", 8),
  };
  for (const auto& content : contents) {
    const Outcome expected{{{"a", "-", "text/plain", content, true}}, 1, true, ""};
    EXPECT_EQ(parse_every_way("B", one_part(content)), expected);
  }
}

TEST(Multipart, DelimiterForms) {
  const Outcome expected{{{"a", "-", "text/plain", "x", true}}, 1, true, ""};
  const std::string head = disposition + "\r\n";
  const std::vector<std::string> bodies = {
      "--B\r\n" + head + "x\r\n--B--",
      "\r\n--B\r\n" + head + "x\r\n--B--\r\n",
      "preamble\r\n--B\r\n" + head + "x\r\n--B--\r\nepilogue\r\n--B\r\n",
      "--BX --B\r\n--B-\r\n--B\r\n" + head + "x\r\n--B----B--\r\n--B--",
      "\r\n\r\n--\r\n--B\r\n" + head + "x\r\n--B--",
      "--B \t \r\n" + head + "x\r\n--B--  \r\n",
  };
  for (const auto& body : bodies) EXPECT_EQ(parse_every_way("B", body), expected) << body;
}

TEST(Multipart, EmptyBodyNeedsNoLineEndOfItsOwn) {
  const Outcome expected{
      {{"a", "-", "text/plain", "", true}, {"a", "-", "text/plain", "", true}}, 1, true, ""};
  const std::string part = "--B\r\n" + disposition + "\r\n";
  EXPECT_EQ(parse_every_way("B", part + part + "--B--"), expected);
}

TEST(Multipart, TruncatedIsNotFinished) {
  const std::string body = one_part("content");
  for (std::size_t size = 0; size < body.size(); ++size) {
    const auto outcome = parse("B", {std::string_view(body).substr(0, size)});
    EXPECT_EQ(outcome.problem, "");
    EXPECT_EQ(outcome.finished, size >= body.size() - 2) << size;
  }
}

struct HeadRow {
  std::string head;
  std::string name;
  std::string file_name;
  std::string content_type = "text/plain";
};

TEST(Multipart, Heads) {
  const std::string form = "Content-Disposition: form-data; ";
  const std::vector<HeadRow> rows = {
      {form + "name=\"a\"", "a", "-"},
      {form + "name=a", "a", "-"},
      {form + "name=\"\"", "", "-"},
      {"content-disposition:FORM-DATA;NAME=a;FileName=b", "a", "b"},
      {"Content-Disposition: \t form-data ;; name=\"a\" ; ; filename=\"b\" ; ", "a", "b"},
      {form + "filename=\"b\"; name=\"a\"", "a", "b"},
      {form + "other=1; name=\"a\"; x=\"y\"", "a", "-"},
      {form + "name=\"a;b=c\"", "a;b=c", "-"},
      {form + "name=\"a\\\"b\"", "a\"b", "-"},
      {form + "name=\"a\\\\b\"", "a\\b", "-"},
      {form + "name=\"a\"; filename=\"C:\\dir\\new\\a.txt\"", "a", "C:\\dir\\new\\a.txt"},
      {form + "name=\"a\"; filename=\"\\\\server\\x\"", "a", "\\server\\x"},
      {form + "name=\"%22%0D%0A\"; filename=\"%22b%22\"", "\"\r\n", "\"b\""},
      {form + "name=\"%41%2\"; filename=\"100%\"", "%41%2", "100%"},
      {form + "name=\"%%22%2522\"; filename=b%22", "%\"%2522", "b%22"},
      {form + "name=\"\xc3\xa9\"; filename=\"\xe2\x82\xac.txt\"", "\xc3\xa9", "\xe2\x82\xac.txt"},
      {form + "name=a; filename*=UTF-8''%e2%82%AC%20x.txt", "a", "\xe2\x82\xac x.txt"},
      {form + "name=a; filename*=utf-8'en'b", "a", "b"},
      // RFC 8187, 3.2.3; RFC 6266, 5.
      {form + "name=a; filename*=UTF-8''%c2%a3%20and%20%e2%82%ac%20rates", "a",
       "\xc2\xa3 and \xe2\x82\xac rates"},
      {form + "name=a; filename=\"EURO rates\"; filename*=utf-8''%e2%82%ac%20rates", "a",
       "\xe2\x82\xac rates"},
      {form + "name=a; filename*=UTF-8''", "a", ""},
      {form + "name=a; filename=\"x\"; filename*=UTF-8''b", "a", "b"},
      {form + "name=a; filename*=UTF-8''b; filename=\"x\"", "a", "b"},
      {form + "name=a\r\nContent-Type: image/png", "a", "-", "image/png"},
      {"CONTENT-TYPE:text/html; charset=x \t\r\n" + form + "name=a", "a", "-",
       "text/html; charset=x"},
      {form + "name=a\r\nContent-Type:", "a", "-", ""},
      {form + "name=a\r\nX-Other: 1\r\nContent-Transfer-Encoding: binary", "a", "-"},
      {form + "name=a;\r\n filename=b\r\nX-Other:\r\n\t1", "a", "b"},
  };
  for (const auto& row : rows) {
    const Outcome expected{{{row.name, row.file_name, row.content_type, "x", true}}, 1, true, ""};
    EXPECT_EQ(parse_every_way("B", "--B\r\n" + row.head + "\r\n\r\nx\r\n--B--"), expected)
        << row.head;
  }
}

TEST(Multipart, MalformedHeads) {
  const std::string form = "Content-Disposition: form-data";
  const std::vector<std::string> heads = {
      "",
      "Content-Type: text/plain",
      "Content-Disposition: attachment; name=a",
      "Content-Disposition: form-dat; name=a",
      "Content-Disposition: form-data name=a",
      "Content-Disposition:",
      form,
      form + ";",
      form + "; filename=a",
      form + "; name",
      form + "; name=",
      form + "; name =a",
      form + "; name= a",
      form + "; name=\"a",
      form + "; name=\"a\\\"",
      form + "; name=\"a\"b",
      form + "; name=a b",
      form + "; name=a\"b\"",
      form + "; =a",
      form + "; name=a; name=a",
      form + "; name=a; filename=a; filename=b",
      form + "; name=a; filename*=UTF-8''a; filename*=UTF-8''b",
      form + "; name=a; filename*=b",
      form + "; name=a; filename*=UTF-8'b",
      form + "; name=a; filename*=ISO-8859-1''b",
      form + "; name=a; filename*=UTF-8''%",
      form + "; name=a; filename*=UTF-8''%2",
      form + "; name=a; filename*=UTF-8''%2x",
      form + "; name=a\r\n" + form + "; name=a",
      form + "; name=a\r\nContent-Type: a/b\r\nContent-Type: a/b",
      form + "; name=a\r\nno colon",
      form + "; name=a\r\n: no name",
      form + "; name=a\r\nX : space",
      " " + form + "; name=a",
      form + "; name=a\nX: 1",
      form + "; name=\"a\rb\"",
      form + "; name=\"a\0b\""s,
      form + "; name=a\r",
      "\r" + form + "; name=a",
  };
  for (const auto& head : heads) {
    const auto outcome = parse_every_way("B", "--B\r\n" + head + "\r\n\r\nx\r\n--B--");
    EXPECT_NE(outcome.problem, "") << head;
    EXPECT_TRUE(outcome.parts.empty()) << head;
    EXPECT_FALSE(outcome.finished) << head;
  }
}

TEST(Multipart, MalformedDelimiters) {
  for (const std::string after : {"\rx", "\r\r\n", " x", "\t-", " \rx", " --", " \n"}) {
    const auto outcome = parse_every_way("B", "--B\r\n" + disposition + "\r\nx\r\n--B" + after);
    EXPECT_NE(outcome.problem, "") << testing::PrintToString(after);
    EXPECT_EQ(outcome.parts.at(0).content, "x");
    EXPECT_FALSE(outcome.parts.at(0).ended);
  }
}

TEST(Multipart, HeadLimit) {
  const std::string rest = disposition + "\r\n";
  const std::string fill = "X: " + std::string(200, 'x') + "\r\n";
  const std::string body = "--B\r\n" + fill + rest + "x\r\n--B--";
  const std::size_t size = fill.size() + rest.size();
  EXPECT_EQ(parse_every_way("B", body, {.head_bytes_max = size}).problem, "");
  EXPECT_NE(parse_every_way("B", body, {.head_bytes_max = size - 1}).problem, "");
  EXPECT_NE(parse("B", {"--B\r\n" + std::string(1 << 20, 'x')}).problem, "");
}

TEST(Multipart, ContentIsNotCopied) {
  const std::string head = "--B\r\n" + disposition + "\r\n";
  const std::string body = head + "content\r\n--B--";
  MultipartParser parser("B");
  parser.feed(body);
  EXPECT_EQ(parser.next(), Event::part_begin);
  EXPECT_EQ(parser.next(), Event::data);
  EXPECT_EQ(parser.data().data(), body.data() + head.size());
  EXPECT_EQ(parser.data(), "content");
  EXPECT_EQ(parser.next(), Event::part_end);
  EXPECT_EQ(parser.next(), Event::finished);
  EXPECT_EQ(parser.next(), Event::need_more);
}

// Returns true if `content` contains a delimiter followed by bytes that may follow one.
bool has_delimiter(const std::string& content, const std::string& boundary) {
  const std::string text = "\r\n" + content + "\r\n--" + boundary + "\r\n";
  const std::string delimiter = "\r\n--" + boundary;
  const std::size_t own = text.size() - delimiter.size() - 2;
  for (auto at = text.find(delimiter); at < own; at = text.find(delimiter, at + 1)) {
    const auto after = text.substr(at + delimiter.size(), 2);
    if (after == "--" || after[0] == '\r' || after[0] == ' ' || after[0] == '\t') return true;
  }
  return false;
}

std::string random_content(std::mt19937& random, const std::string& boundary) {
  const std::string look_alike = "\r\n--" + boundary + "-X";
  std::string content;
  for (auto pieces = random() % 12; pieces > 0; --pieces) {
    switch (random() % 6) {
      case 0:
        content += look_alike.substr(0, random() % (look_alike.size() + 1));
        break;
      case 1:
        content += look_alike.substr(random() % look_alike.size());
        break;
      case 2:
        content += "\r\n--" + boundary + static_cast<char>(random());
        break;
      case 3:
        content += "\r\n-"[random() % 3];
        break;
      case 4:
        content.append(random() % 40, static_cast<char>(random()));
        break;
      default:
        content += static_cast<char>(random());
    }
  }
  return content;
}

std::vector<std::string_view> cut_at_random(std::mt19937& random, std::string_view body) {
  const std::size_t longest = 1 + random() % 64;
  std::vector<std::string_view> pieces;
  while (!body.empty()) {
    pieces.push_back(body.substr(0, random() % (longest + 1)));
    body.remove_prefix(pieces.back().size());
  }
  return pieces;
}

TEST(Multipart, RandomContentSurvives) {
  std::mt19937 random(20231);
  const std::vector<std::string> boundaries = {
      "B", "-", "--", "a-", "----WebKitFormBoundary0aB", "=_x'()+,./:? y", std::string(70, '-')};
  int kept = 0;
  for (int round = 0; round < 30'000; ++round) {
    const auto& boundary = boundaries[random() % boundaries.size()];
    std::string body = random() % 2 == 0 ? "" : "\r\n";
    Outcome expected{{}, 1, true, ""};
    for (auto parts = 1 + random() % 3; parts > 0; --parts) {
      const auto content = random_content(random, boundary);
      if (has_delimiter(content, boundary)) continue;
      body += "--" + boundary + "\r\n" + disposition + "\r\n" + content + "\r\n";
      expected.parts.push_back({"a", "-", "text/plain", content, true});
      ++kept;
    }
    body += "--" + boundary + "--";
    ASSERT_EQ(parse(boundary, cut_at_random(random, body)), expected)
        << testing::PrintToString(body);
  }
  EXPECT_GT(kept, 30'000);
}

// Checks only that cuts make no difference.
TEST(Multipart, RandomBodiesAreReadTheSameHoweverCut) {
  std::mt19937 random(99);
  const std::vector<std::string> words = {
      "\r\n--B", "--B", "--", "\r\n", "\r",   "\n", " ",         "x",
      "-",       "B",   ":",  ";",    "\r\n", "\"", disposition, disposition + "\r\n"};
  for (int round = 0; round < 30'000; ++round) {
    std::string body = random() % 2 == 0 ? "--B\r\n" + disposition + "\r\n" : "";
    for (auto count = random() % 20; count > 0; --count) body += words[random() % words.size()];
    const auto whole = parse("B", {body});
    ASSERT_EQ(parse("B", cut(body, 1)), whole) << testing::PrintToString(body);
    ASSERT_EQ(parse("B", cut_at_random(random, body)), whole) << testing::PrintToString(body);
  }
}

TEST(MultipartBoundary, Table) {
  struct Row {
    std::string content_type;
    std::string boundary;  // empty: none
  };
  const std::string longest(70, 'x');
  const std::vector<Row> rows = {
      {"multipart/form-data; boundary=B", "B"},
      {"Multipart/Form-Data;BOUNDARY=B", "B"},
      {" multipart/form-data ; charset=utf-8; boundary=\"B\" ; x=y", "B"},
      {"multipart/form-data; boundary=----WebKitFormBoundary7MA4", "----WebKitFormBoundary7MA4"},
      {"multipart/form-data; boundary=----=_Part_1/2:3?(4)", "----=_Part_1/2:3?(4)"},
      {"multipart/form-data; boundary=\"a b'()+_,-./:=?\"", "a b'()+_,-./:=?"},
      {"multipart/form-data; boundary=" + longest, longest},
      {"multipart/form-data; boundary=x" + longest, ""},
      {"multipart/form-data; boundary=", ""},
      {"multipart/form-data; boundary=\"\"", ""},
      {"multipart/form-data; boundary=\"a \"", ""},
      {"multipart/form-data; boundary=\"a", ""},
      {"multipart/form-data; boundary=a b", ""},
      {"multipart/form-data; boundary=a@b", ""},
      {"multipart/form-data; boundary=a*b", ""},
      {"multipart/form-data; boundary=\"a\\\"b\"", ""},
      {"multipart/form-data; boundary=\"a\r\nb\"", ""},
      {"multipart/form-data; boundary=\xc3\xa9", ""},
      {"multipart/form-data; boundary=\"a\0\""s, ""},
      {"multipart/form-data; boundary=a; boundary=a", ""},
      {"multipart/form-data; boundary=a; x", ""},
      {"multipart/form-data; boundary", ""},
      {"multipart/form-data", ""},
      {"multipart/form-data;", ""},
      {"multipart/mixed; boundary=B", ""},
      {"multipart/form-datax; boundary=B", ""},
      {"application/x-www-form-urlencoded", ""},
      {"boundary=B", ""},
      {"", ""},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(multipart_boundary(row.content_type).value_or(""), row.boundary) << row.content_type;
  }
}

}  // namespace multipart_test
}  // namespace h2server::content
