#include "h2server/multipart.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "content/support.h"

namespace h2server {
namespace multipart_reader_test {

using tests::FakeBody;
using tests::run_now;
using Pieces = std::vector<std::string>;

std::string text_of(const Error& error) {
  return "error " + std::to_string(error.code) + " " + std::string(error.what);
}

std::string text_of(const Result<std::optional<FormPart>>& part) {
  if (!part) return text_of(part.error());
  if (!*part) return "end";
  return (*part)->name + "|" + (*part)->file_name.value_or("-") + "|" + (*part)->content_type;
}

std::string text_of(const Result<std::string>& content) {
  return content ? testing::PrintToString(*content) : text_of(content.error());
}

// Reads the current part piece by piece.
Result<std::string> read_pieces(MultipartReader& reader) {
  std::string all;
  for (;;) {
    const Result<std::string_view> piece = run_now(reader.read());
    if (!piece) return std::unexpected(piece.error());
    if (piece->empty()) return all;
    all += *piece;
  }
}

// A body and the request that has it.
struct Asked {
  explicit Asked(Pieces pieces,
                 std::optional<std::string_view> type = "multipart/form-data; boundary=B",
                 std::optional<Error> failure = std::nullopt)
      : body(std::move(pieces), failure) {
    if (type) head.fields.add("Content-Type", *type);
  }

  FakeBody body;
  RequestHead head;
  PathParams params;
  Request request{head, params, &body};
};

// What a handler does with the reader; returns what it saw.
using Use = std::function<std::string(MultipartReader&)>;

std::string read_everything(MultipartReader& reader) {
  std::string seen;
  for (;;) {
    const Result<std::optional<FormPart>> part = run_now(reader.next_part());
    seen += "[" + text_of(part) + "]";
    if (!part || !*part) return seen;
    const Result<std::string> content = run_now(reader.read_all(1000));
    seen += text_of(content);
    if (!content) return seen;
  }
}

std::string read_piecewise(MultipartReader& reader) {
  std::string seen;
  for (;;) {
    const Result<std::optional<FormPart>> part = run_now(reader.next_part());
    seen += "[" + text_of(part) + "]";
    if (!part || !*part) return seen;
    const Result<std::string> content = read_pieces(reader);
    seen += text_of(content);
    if (!content) return seen;
  }
}

// Delivers the body whole, byte by byte, and in two at every position.
std::string use_every_way(const std::string& body, const Use& use, MultipartLimits limits = {},
                          std::optional<Error> failure = std::nullopt) {
  std::vector<Pieces> ways = {{body}, {}};
  for (const char byte : body) ways[1].emplace_back(1, byte);
  for (std::size_t at = 1; at < body.size(); ++at) {
    ways.push_back({body.substr(0, at), body.substr(at)});
  }
  std::optional<std::string> first;
  for (const Pieces& pieces : ways) {
    Asked asked(pieces, "multipart/form-data; boundary=B", failure);
    MultipartReader reader(asked.request, limits);
    const std::string seen = use(reader);
    if (!first) first = seen;
    EXPECT_EQ(seen, *first) << pieces.size() << " pieces, first of " << pieces.front().size();
  }
  return *first;
}

std::string part(const std::string& name, const std::string& content,
                 const std::string& more = "") {
  return "--B\r\nContent-Disposition: form-data; name=\"" + name + "\"" + more + "\r\n\r\n" +
         content + "\r\n";
}

const std::string end = "--B--\r\n";
const std::string early = std::to_string(EPROTO) + " the body ends before its closing boundary";

TEST(MultipartReader, ReadsParts) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {end, "[end]"},
      {part("a", "x") + end, "[a|-|text/plain]\"x\"[end]"},
      {part("a", "") + end, "[a|-|text/plain]\"\"[end]"},
      {part("a", "x", "; filename=\"f.png\"\r\nContent-Type: image/png") + part("a", "y\r\n") + end,
       "[a|f.png|image/png]\"x\"[a|-|text/plain]\"y\\r\\n\"[end]"},
      {part("a", "\r\n--C\r\n--BB\r\n-") + end,
       "[a|-|text/plain]\"\\r\\n--C\\r\\n--BB\\r\\n-\"[end]"},
      {"preamble\r\n" + part("a", "x") + end + "epilogue " + part("b", "y"),
       "[a|-|text/plain]\"x\"[end]"},
      {part("a", "x", "\r\nX-Other: y") + end, "[a|-|text/plain]\"x\"[end]"},
      // Malformed or cut.
      {"", "[error " + early + "]"},
      {"--B", "[error " + early + "]"},
      {"--B\r\n", "[error " + early + "]"},
      {part("a", "x"), "[a|-|text/plain]error " + early},
      {part("a", "x") + "--B", "[a|-|text/plain]error " + early},
      {part("a", "x") + "--B-", "[a|-|text/plain]error " + early},
      {part("a", "x") + "--B\r\n", "[a|-|text/plain]\"x\"[error " + early + "]"},
      {"--B\r\n\r\nx\r\n" + end,
       "[error " + std::to_string(EPROTO) + " a part has no Content-Disposition]"},
      {part("a", "x") + "--B\r\nx\r\n\r\n" + end, "[a|-|text/plain]\"x\"[error " +
                                                      std::to_string(EPROTO) +
                                                      " a field of a part cannot be parsed]"},
      {part("a", "x") + "--B\rx", "[a|-|text/plain]error " + std::to_string(EPROTO) +
                                      " a boundary is followed by a CR without LF"},
  };
  for (const auto& [body, expected] : rows) {
    if (body.empty()) {
      Asked asked({});
      MultipartReader reader(asked.request);
      EXPECT_EQ(read_everything(reader), expected);
      continue;
    }
    EXPECT_EQ(use_every_way(body, read_everything), expected) << body;
    EXPECT_EQ(use_every_way(body, read_piecewise), expected) << body;
  }
}

TEST(MultipartReader, SkipsWhatIsUnread) {
  const std::string body =
      part("a", "0123456789") + part("b", "\r\n--b") + part("c", "") + part("d", "x") + end;
  const Use names = [](MultipartReader& reader) {
    std::string seen;
    for (;;) {
      const Result<std::optional<FormPart>> next = run_now(reader.next_part());
      seen += text_of(next) + ";";
      if (!next || !*next) return seen;
    }
  };
  EXPECT_EQ(use_every_way(body, names),
            "a|-|text/plain;b|-|text/plain;c|-|text/plain;d|-|text/plain;end;");
  // After one piece, and after a part that is longer than wanted.
  const Use partly = [](MultipartReader& reader) {
    EXPECT_TRUE(run_now(reader.next_part()));
    const Result<std::string_view> piece = run_now(reader.read());
    EXPECT_TRUE(piece && piece->starts_with('0'));
    EXPECT_TRUE(run_now(reader.next_part()));
    std::string seen = text_of(run_now(reader.read_all(4))) + ";";
    seen += text_of(run_now(reader.next_part())) + ";";
    seen += text_of(run_now(reader.next_part())) + ";";
    return seen + text_of(run_now(reader.read_all(1)));
  };
  EXPECT_EQ(use_every_way(body, partly), "error " + std::to_string(EMSGSIZE) +
                                             " content of a part;c|-|text/plain;d|-|text/plain;"
                                             "\"x\"");
}

TEST(MultipartReader, KeepsToTheLimitOfAPart) {
  const std::string body = part("a", "12345") + end;
  for (const std::size_t bytes_max : {5, 6}) {
    EXPECT_EQ(use_every_way(body,
                            [&](MultipartReader& reader) {
                              EXPECT_TRUE(run_now(reader.next_part()));
                              return text_of(run_now(reader.read_all(bytes_max)));
                            }),
              "\"12345\"");
  }
  for (const std::size_t bytes_max : {0, 4}) {
    EXPECT_EQ(use_every_way(body,
                            [&](MultipartReader& reader) {
                              EXPECT_TRUE(run_now(reader.next_part()));
                              return text_of(run_now(reader.read_all(bytes_max)));
                            }),
              "error " + std::to_string(EMSGSIZE) + " content of a part");
  }
}

TEST(MultipartReader, LimitsPartsAndHeads) {
  const std::string too_many = "[error " + std::to_string(EMSGSIZE) + " too many parts]";
  const std::string body = part("a", "x") + part("b", "y") + end;
  EXPECT_EQ(use_every_way(body, read_everything, {.parts_max = 2}),
            "[a|-|text/plain]\"x\"[b|-|text/plain]\"y\"[end]");
  EXPECT_EQ(use_every_way(body, read_everything, {.parts_max = 1}),
            "[a|-|text/plain]\"x\"" + too_many);
  EXPECT_EQ(use_every_way(body, read_everything, {.parts_max = 0}), too_many);
  EXPECT_EQ(use_every_way(end, read_everything, {.parts_max = 0}), "[end]");

  const std::string head = "Content-Disposition: form-data; name=\"a\"\r\n\r\n";
  EXPECT_EQ(use_every_way(part("a", "x") + end, read_everything, {.head_bytes_max = head.size()}),
            "[a|-|text/plain]\"x\"[end]");
  EXPECT_EQ(
      use_every_way(part("a", "x") + end, read_everything, {.head_bytes_max = head.size() - 1}),
      "[error " + std::to_string(EMSGSIZE) + " a part's head is too long]");
}

// Before the first part, between the parts and after the last one there is nothing to read.
TEST(MultipartReader, ReadsNothingOutsideOfParts) {
  const Use use = [](MultipartReader& reader) {
    std::string seen = text_of(run_now(reader.read_all(0)));
    EXPECT_TRUE(run_now(reader.next_part()));
    seen += text_of(run_now(reader.read_all(10)));
    seen += text_of(run_now(reader.read_all(0)));
    seen += text_of(run_now(reader.next_part()));
    seen += text_of(run_now(reader.next_part()));
    return seen + text_of(run_now(reader.read_all(0)));
  };
  EXPECT_EQ(use_every_way(part("a", "x") + end, use), "\"\"\"x\"\"\"endend\"\"");
}

TEST(MultipartReader, FailsForGood) {
  const Use use = [](MultipartReader& reader) {
    std::string seen;
    while (run_now(reader.next_part())) seen += "part;";
    return seen + text_of(run_now(reader.next_part())) + ";" + text_of(run_now(reader.read_all(1)));
  };
  const auto twice = [](const std::string& error) { return "error " + error + ";error " + error; };
  EXPECT_EQ(use_every_way(part("a", "x"), use), "part;" + twice(early));
  const std::string gone = std::to_string(ECONNRESET) + " gone";
  EXPECT_EQ(use_every_way(part("a", "x"), use, {}, Error{ECONNRESET, "gone"}),
            "part;" + twice(gone));
  EXPECT_EQ(use_every_way("--B\rx", use),
            twice(std::to_string(EPROTO) + " a boundary is followed by a CR without LF"));
}

// The request's body is not read then, so the client may be refused before it sends one.
TEST(MultipartReader, NeedsItsMediaType) {
  const std::string refused =
      "[error " + std::to_string(EINVAL) + " not multipart/form-data with a boundary]";
  const std::vector<std::pair<std::optional<std::string_view>, std::string>> rows = {
      {"multipart/form-data; boundary=B", "[end]"},
      {"Multipart/Form-Data;charset=utf-8;Boundary=\"B\"", "[end]"},
      {std::nullopt, refused},
      {"", refused},
      {"multipart/form-data", refused},
      {"multipart/form-data; boundary=", refused},
      {"multipart/mixed; boundary=B", refused},
      {"application/x-www-form-urlencoded", refused},
  };
  for (const auto& [type, expected] : rows) {
    Asked asked({end}, type);
    std::size_t reads = 0;
    asked.body.before_read = [&](std::size_t) { ++reads; };
    MultipartReader reader(asked.request);
    EXPECT_EQ(read_everything(reader), expected) << type.value_or("-");
    EXPECT_EQ(reads, expected == refused ? 0U : 1U);
  }
}

}  // namespace multipart_reader_test
}  // namespace h2server
