// The floor without sockets: framing, responses, flow control by tables of input bytes, delivered
// whole and one at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "floor/answers.h"
#include "floor/framing.h"
#include "floor/output.h"
#include "floor/session.h"

namespace h2server::lab::floor {
namespace floor_test {

using namespace std::literals;

// --- HTTP/1.1 ---------------------------------------------------------------------------------

struct H1Row {
  std::string_view bytes;
  std::size_t requests;
};

const H1Row h1_rows[] = {
    {"", 0},
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1},
    {"GET / HTTP/1.1\r\nHost: a\r\n\r", 0},
    {"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n", 2},
    {"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nA: b\r\n\r\nGET", 2},
    {"\r\n\r\n\r\n\r\n", 2},
    {"\r\r\n\r\n", 1},
    {"a\r\n\r\r\n\r\n", 1},
    {"ab\r\r\n\r\n", 1},
    {"abc\r\n\n\r\n\r\n", 1},
    {"abcd\r\n\r\nx\r\n\r\n", 2},
    {"\n\n\n\r\n\r", 0},
};

// Delivers the bytes whole, split in two at every offset, and one by one.
template <class Framing>
void check_count(const H1Row& row) {
  Framing whole;
  EXPECT_EQ(whole.count(row.bytes), row.requests) << row.bytes;
  for (std::size_t cut = 0; cut <= row.bytes.size(); ++cut) {
    Framing halves;
    const std::size_t first = halves.count(row.bytes.substr(0, cut));
    EXPECT_EQ(first + halves.count(row.bytes.substr(cut)), row.requests) << row.bytes << cut;
  }
  Framing bytewise;
  std::size_t found = 0;
  for (const char& byte : row.bytes) found += bytewise.count({&byte, 1});
  EXPECT_EQ(found, row.requests) << row.bytes;
}

TEST(FloorH1Framing, CountsRequestEnds) {
  for (const H1Row& row : h1_rows) check_count<H1Framing>(row);
}

const H1Row h1_upload_rows[] = {
    {"", 0},
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1},
    {"GET / HTTP/1.1\r\nHost: a\r\n\r", 0},
    {"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n", 2},
    {"PUT / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhell", 0},
    {"PUT / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 1},
    {"PUT / HTTP/1.1\r\ncontent-length:8\r\nA: b\r\n\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n", 2},
    {"PUT / HTTP/1.1\r\nCONTENT-LENGTH:   0\r\n\r\nGET / HTTP/1.1\r\n\r\n", 2},
    {"GET /content-length:5 HTTP/1.1\r\nX-Content-Length: 7\r\n\r\n", 1},
    {"PUT / HTTP/1.1\r\nContent-Length: 1\r\n\r\n.PUT / HTTP/1.1\r\nContent-Length: 2\r\n\r\n..",
     2},
};

TEST(FloorH1UploadFraming, CountsRequestsWithTheirBodies) {
  for (const H1Row& row : h1_upload_rows) check_count<H1UploadFraming>(row);
}

// --- HTTP/2 frames ----------------------------------------------------------------------------

std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload) {
  const FrameHeader header = frame_header(payload.size(), type, flags, stream);
  return std::string(header.data(), header.size()).append(payload);
}

std::string headers(std::uint32_t stream) { return frame(1, 5, stream, "\x82\x86\x84"); }
std::string settings(std::string_view payload) { return frame(4, 0, 0, payload); }

std::string window_update(std::uint32_t stream, std::uint32_t increment) {
  const std::string payload{static_cast<char>(increment >> 24), static_cast<char>(increment >> 16),
                            static_cast<char>(increment >> 8), static_cast<char>(increment)};
  return frame(8, 0, stream, payload);
}

std::string initial_window(std::uint32_t bytes) {
  return settings("\x00\x04"s + window_update(0, bytes).substr(h2_header_bytes));
}

std::string text_of(const H2Framing::Event& event) {
  using What = H2Framing::What;
  const std::string stream = std::to_string(event.stream);
  const std::string value = std::to_string(event.value);
  switch (event.what) {
    case What::nothing:
      return "nothing";
    case What::request:
      return "request " + stream;
    case What::data:
      return "data " + stream + "+" + value;
    case What::reset:
      return "reset " + stream;
    case What::setting:
      return "setting " + std::to_string(event.identifier) + "=" + value;
    case What::settings_end:
      return "settings end";
    case What::ping:
      return "ping " + std::string(event.payload);
    case What::window_update:
      return "window " + stream + "+" + value;
  }
  return "?";
}

std::vector<std::string> events_of(std::string_view bytes, std::size_t step) {
  H2Framing framing;
  std::vector<std::string> events;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    std::string_view input = bytes.substr(0, step);
    while (true) {
      const H2Framing::Event event = framing.next(input);
      if (event.what == H2Framing::What::nothing) break;
      events.push_back(text_of(event));
    }
    EXPECT_TRUE(input.empty());
  }
  return events;
}

struct H2Row {
  std::string bytes;
  std::vector<std::string> events;
};

const H2Row h2_rows[] = {
    {headers(1), {"request 1"}},
    {headers(1) + headers(3), {"request 1", "request 3"}},
    {frame(1, 1, 5, "abc") + frame(9, 0, 5, "d") + frame(9, 4, 5, "e"), {"request 5"}},
    {frame(1, 5, 0x80000007, ""), {"request 7"}},
    {frame(0, 0, 1, std::string(20'000, 'x')) + headers(3), {"data 1+20000", "request 3"}},
    {frame(1, 4, 1, "abc") + headers(3), {"request 3"}},
    {frame(1, 4, 1, "abc") + frame(0, 0, 1, "de") + frame(0, 1, 1, "f"),
     {"data 1+2", "data 1+1", "request 1"}},
    {frame(1, 4, 1, "abc") + frame(0, 1, 1, ""), {"data 1+0", "request 1"}},
    {frame(1, 4, 1, "abc") + frame(0, 0, 1, "de") + frame(1, 5, 1, "trailers"),
     {"data 1+2", "request 1"}},
    {frame(1, 0, 1, "abc") + frame(9, 4, 1, "d") + frame(0, 1, 1, "e"), {"data 1+1", "request 1"}},
    {settings(""), {"settings end"}},
    {settings("\x00\x03\x00\x00\x00\x64\x00\x04\x00\x01\x00\x00"s),
     {"setting 3=100", "setting 4=65536", "settings end"}},
    {settings("\x00\x03\x00"s) + headers(1), {"settings end", "request 1"}},
    {frame(4, 1, 0, "") + headers(1), {"request 1"}},
    {frame(6, 0, 0, "12345678"), {"ping 12345678"}},
    {frame(6, 1, 0, "12345678") + headers(1), {"request 1"}},
    {frame(6, 0, 0, "1234") + headers(1), {"request 1"}},
    {window_update(0, 0x7fffffff), {"window 0+2147483647"}},
    {window_update(9, 1) + headers(11), {"window 9+1", "request 11"}},
    {frame(3, 0, 3, "\x00\x00\x00\x08"s), {"reset 3"}},
    {frame(2, 0, 3, "12345") + frame(7, 0, 0, "12345678") + frame(99, 255, 1, "?") + headers(1),
     {"request 1"}},
};

TEST(FloorH2Framing, ReadsFrames) {
  for (const H2Row& row : h2_rows) {
    EXPECT_EQ(events_of(row.bytes, row.bytes.size()), row.events);
    EXPECT_EQ(events_of(row.bytes, 1), row.events);
    EXPECT_EQ(events_of(row.bytes, 7), row.events);
  }
}

// --- output -----------------------------------------------------------------------------------

std::string text_of(Output& output) {
  std::string text;
  for (const iovec& piece : output.pieces()) {
    text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  return text;
}

TEST(FloorOutput, KeepsTheOrderWhateverWasSent) {
  constexpr std::string_view all = "copied again|referred|copied|referred|end";
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    Output output;
    output.copy("copied ");
    output.copy("again|");
    output.refer("referred|");
    output.copy("copied|");
    output.refer("referred|");
    output.copy("");
    output.copy("end");
    EXPECT_EQ(output.pieces().size(), 5);
    output.sent(cut);
    EXPECT_EQ(text_of(output), all.substr(cut));
    output.copy("+");
    EXPECT_EQ(text_of(output), std::string(all.substr(cut)) + "+");
    output.sent(output.bytes());
    EXPECT_EQ(output.pieces().size(), 0);
  }
}

TEST(FloorOutput, GrowsWithoutLosingWhatIsThere) {
  Output output;
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    const std::string part(5'000, static_cast<char>('a' + i % 26));
    output.copy(part);
    expected += part;
  }
  EXPECT_EQ(text_of(output), expected);
}

// --- sessions ---------------------------------------------------------------------------------

// Returns a session's whole output for input in steps of `step` bytes; `limits` apply to each fill.
std::string said(const Answers& answers, std::string_view bytes, std::size_t step,
                 FillLimits limits = {}) {
  Session session(answers);
  std::string text;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    session.receive(bytes.substr(0, step));
    while (true) {
      Output output;
      session.fill(output, limits);
      if (output.bytes() == 0) break;
      text += text_of(output);
    }
  }
  return text;
}

TEST(FloorSession, AnswersHttp1) {
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string response =
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello";
  const Answers answers("hello");
  for (const std::size_t step : {std::size_t{1}, std::size_t{5}, std::size_t{1000}}) {
    EXPECT_EQ(said(answers, request, step), response);
    EXPECT_EQ(said(answers, request + request, step), response + response);
    // Starts like the HTTP/2 preface.
    EXPECT_EQ(said(answers, "PRI * HTTP/1.1\r\n\r\n", step), response);
    EXPECT_EQ(said(answers, "P\r\n\r\n", step), response);
  }
}

TEST(FloorSession, AnswersAnyNumberOfHttp1RequestsInAnyPieces) {
  const Answers answers("hello");
  const std::string request = "GET / HTTP/1.1\r\n\r\n";
  std::string requests;
  std::string responses;
  const std::string response = said(answers, request, 1);
  for (int i = 0; i < 3000; ++i) {
    requests += request;
    responses += response;
  }
  EXPECT_EQ(said(answers, requests, requests.size()), responses);
  EXPECT_EQ(said(answers, requests, 10'000, {.bytes_max = 777}), responses);
}

TEST(FloorSession, EndsAfterOneResponseWhenAsked) {
  const Answers answers("hello", {.close = true});
  const std::string request = "GET / HTTP/1.1\r\n\r\n";
  const std::string text = said(answers, request + request + request, 20);
  EXPECT_NE(text.find("Connection: close\r\n"), std::string::npos);
  EXPECT_EQ(text.size(), answers.h1_bytes());
  Session session(answers);
  EXPECT_FALSE(session.finished());
  session.receive(request);
  EXPECT_FALSE(session.finished());  // the response is not written yet
  Output output;
  session.fill(output, {});
  EXPECT_TRUE(session.finished());
}

const std::string server_settings = settings("\x00\x03\x00\x10\x00\x00\x00\x04\x7f\xff\xff\xff"s) +
                                    window_update(0, 0x7fffffff - 65'535);
const std::string acknowledgement = frame(4, 1, 0, "");

// HEADERS of a response with a body of fewer than ten bytes.
std::string response_headers(std::uint32_t stream, std::size_t body_bytes) {
  return frame(1, body_bytes == 0 ? 5 : 4, stream,
               "\x88\x0f\x10\x09text/html\x0f\x0d\x01"s + std::to_string(body_bytes));
}

struct SessionRow {
  std::string body;
  std::string received;  // after the preface
  std::string said;
};

const SessionRow session_rows[] = {
    {"hello", "", server_settings},
    {"hello", settings(""), server_settings + acknowledgement},
    {"hello", frame(6, 0, 0, "12345678"), server_settings + frame(6, 1, 0, "12345678")},
    {"hello", headers(1), server_settings + response_headers(1, 5) + frame(0, 1, 1, "hello")},
    {"hello", headers(1) + headers(3),
     server_settings + response_headers(1, 5) + frame(0, 1, 1, "hello") + response_headers(3, 5) +
         frame(0, 1, 3, "hello")},
    {"", headers(1), server_settings + response_headers(1, 0)},
    {"hello", initial_window(0) + headers(1) + window_update(1, 5),
     server_settings + acknowledgement + response_headers(1, 5) + frame(0, 1, 1, "hello")},
};

TEST(FloorSession, AnswersHttp2) {
  for (const SessionRow& row : session_rows) {
    const Answers answers(row.body);
    const std::string received = std::string(h2_preface) + row.received;
    EXPECT_EQ(said(answers, received, received.size()), row.said);
  }
}

TEST(FloorSession, AnswersUploadsAtTheirEnd) {
  const Answers answers("hello", {.uploads = true});
  const std::string head = "PUT / HTTP/1.1\r\nContent-Length: 4\r\n\r\n";
  EXPECT_EQ(said(answers, head + "abc", 7), "");
  EXPECT_EQ(said(answers, head + "abcd", 7), answers.h1().substr(0, answers.h1_bytes()));
  const std::string begin = std::string(h2_preface) + frame(1, 4, 1, "\x82") + frame(0, 0, 1, "ab");
  EXPECT_EQ(said(answers, begin, 5), server_settings);
  EXPECT_EQ(said(answers, begin + frame(0, 1, 1, "cd"), 5),
            server_settings + response_headers(1, 5) + frame(0, 1, 1, "hello"));
}

TEST(FloorSession, OpensTheConnectionsWindowAgain) {
  const Answers answers("hello");
  Session session(answers);
  Output output;
  session.receive(h2_preface);
  const std::string part = frame(0, 0, 1, std::string(0xff'ffff, 'x'));
  for (int i = 0; i < 64; ++i) session.receive(part);
  session.fill(output, {});
  EXPECT_EQ(text_of(output), server_settings);
  session.receive(part);
  session.fill(output, {});
  EXPECT_EQ(text_of(output), server_settings + window_update(0, 65 * 0xff'ffff));
}

TEST(FloorSession, AnswersNotFound) {
  const Answers answers("", {.found = false});
  EXPECT_EQ(said(answers, "GET / HTTP/1.1\r\n\r\n", 100),
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n");
  const std::string section = "\x8d\x0f\x10\x09text/html\x0f\x0d\x01"s + "0";
  EXPECT_EQ(said(answers, std::string(h2_preface) + headers(1), 100),
            server_settings + frame(1, 5, 1, section));
}

TEST(FloorSession, AnswersHttp2BytewiseToo) {
  const Answers answers("hello");
  const std::string received = std::string(h2_preface) + settings("") + headers(1) + headers(3);
  EXPECT_EQ(said(answers, received, 1), server_settings + acknowledgement + response_headers(1, 5) +
                                            frame(0, 1, 1, "hello") + response_headers(3, 5) +
                                            frame(0, 1, 3, "hello"));
}

TEST(FloorSession, StopsWhereTheWindowEnds) {
  const Answers answers("hello");
  const std::string start = std::string(h2_preface) + initial_window(2) + headers(1) + headers(3);
  const std::string begin = server_settings + acknowledgement + response_headers(1, 5) +
                            frame(0, 0, 1, "he") + response_headers(3, 5) + frame(0, 0, 3, "he");
  EXPECT_EQ(said(answers, start, 1000), begin);
  // A stream's own window; both windows by the setting; none for a stream that was reset.
  EXPECT_EQ(said(answers, start + window_update(3, 9), start.size()),
            begin + frame(0, 1, 3, "llo"));
  EXPECT_EQ(said(answers, start + initial_window(4), start.size()),
            begin + acknowledgement + frame(0, 0, 1, "ll") + frame(0, 0, 3, "ll"));
  EXPECT_EQ(
      said(answers, start + frame(3, 0, 1, "\x00\x00\x00\x08"s) + initial_window(9), start.size()),
      begin + acknowledgement + frame(0, 1, 3, "llo"));
}

// Returns the payload of all DATA frames in `text`. Checks that no frame is too long.
std::string data_of(std::string_view text) {
  std::string data;
  while (text.size() >= h2_header_bytes) {
    const auto at = [&](int i) { return std::size_t{static_cast<std::uint8_t>(text[i])}; };
    const std::size_t bytes = at(0) << 16 | at(1) << 8 | at(2);
    EXPECT_LE(bytes, h2_frame_bytes_max);
    if (at(3) == 0) data += text.substr(h2_header_bytes, bytes);
    text.remove_prefix(h2_header_bytes + bytes);
  }
  EXPECT_TRUE(text.empty());
  return data;
}

TEST(FloorSession, SendsLargeBodiesInTurns) {
  std::string body;
  while (body.size() < 1'000'000) body += std::to_string(body.size());
  const Answers answers(body);
  EXPECT_FALSE(answers.h2_is_whole());
  const std::string start = std::string(h2_preface) + initial_window(0x7fffffff);
  const std::string open = start + window_update(0, 0x70000000) + headers(1);
  for (const bool refer : {false, true}) {
    const FillLimits limits{.bytes_max = 100'000, .refer_to_body = refer};
    EXPECT_EQ(data_of(said(answers, open, 1000, limits)), body);
    // The connection's window limits the data, until it is opened further.
    const std::string narrow = start + headers(1);
    EXPECT_EQ(data_of(said(answers, narrow, 1000, limits)), body.substr(0, 65'535));
    EXPECT_EQ(data_of(said(answers, narrow + window_update(0, 100), narrow.size(), limits)),
              body.substr(0, 65'635));
  }
}

}  // namespace floor_test
}  // namespace h2server::lab::floor
