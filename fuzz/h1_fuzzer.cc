// Fuzzer of the HTTP/1.1 head parser and body decoder. An input is what a client sends on one
// connection. It is also checked as a chunked body.
#include <algorithm>
#include <array>
#include <string>

#include "chunked_reference.h"
#include "fuzzer.h"
#include "h1_conversation.h"
#include "h1_rules.h"
#include "h2server/limits.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

using http::h1::Framing;

// Small enough for inputs to reach the limits.
Limits narrow_limits() {
  Limits limits;
  limits.request_line_bytes_max = 40;
  limits.head_bytes_max = 200;
  limits.fields_max = 4;
  return limits;
}

// `request` is what the decoder read from the front of `body`.
void compare_with_reference(std::string_view body, const H1Request& request) {
  constexpr std::size_t modest = 8 * 1024;  // half of the decoder's limit
  constexpr std::size_t few = 50;
  const ChunkedReference reference = read_chunked(body);
  require(!request.finished || reference.complete,
          "a chunked body that is finished follows the grammar");
  if (reference.complete && reference.overhead <= modest && reference.trailer_lines <= few) {
    require(request.finished, "a chunked body that follows the grammar is finished");
  }
  if (!request.finished) return;
  require_same(request.content, reference.content, "the content of a chunked body");
  require_same(request.trailers, reference.trailers, "the trailers of a chunked body");
  require(request.body_end - request.body_begin == reference.size, "the end of a chunked body");
  for (const std::string_view name :
       {"connection=", "content-length=", "expect=", "host=", "te=", "transfer-encoding="}) {
    const std::string line = std::string("\n").append(name);
    require(!request.trailers.starts_with(name) && !request.trailers.contains(line),
            "no trailer frames the message");
  }
}

// RFC 9112, 6.3.
void require_sound_body(std::string_view bytes, const H1Request& request) {
  const std::string_view body = bytes.substr(request.body_begin);
  const std::size_t size = request.body_end - request.body_begin;
  switch (request.framing.body) {
    case Framing::Body::none:
      require(request.finished && size == 0, "no body is finished at once");
      return;
    case Framing::Body::length: {
      const bool whole = body.size() >= request.framing.length;
      const std::size_t expected = whole ? request.framing.length : body.size();
      require(request.finished == whole, "a body with a length is finished by that many bytes");
      require(size == expected, "a body with a length takes that many bytes");
      require_same(request.content, body.substr(0, expected), "the content of a sized body");
      return;
    }
    case Framing::Body::chunked:
      compare_with_reference(body, request);
      return;
  }
}

void require_sound_end(std::string_view bytes, const H1Conversation& conversation,
                       const Limits& limits) {
  const std::string_view rest = bytes.substr(conversation.begin_of_rest);
  switch (conversation.end) {
    case H1Conversation::End::head_incomplete:
      require(rest.size() <= limits.head_bytes_max, "a head that is incomplete is bounded");
      require(rest.find("\r\n\r\n", 2) == std::string_view::npos, "a head ends at an empty line");
      return;
    case H1Conversation::End::head_malformed: {
      constexpr std::array documented = {0, 400, 414, 417, 431, 501, 505};
      require(std::ranges::count(documented, conversation.status) > 0,
              "the status of a malformed head is documented");
      return;
    }
    case H1Conversation::End::body_incomplete:
      require(conversation.requests.back().body_end == bytes.size(), "all of the body is taken");
      return;
    case H1Conversation::End::body_malformed:
      require(conversation.requests.back().framing.body == Framing::Body::chunked,
              "only a chunked body can be malformed");
      return;
  }
}

void check_conversation(std::string_view bytes, const Limits& limits) {
  const H1Conversation whole = converse_h1(bytes, Cuts::whole(), limits);
  const std::string text = describe(whole);
  require_same(describe(converse_h1(bytes, Cuts::chosen_by(bytes), limits)), text,
               "pieces are understood as the whole is");
  require_same(describe(converse_h1(bytes, Cuts::single_bytes(), limits)), text,
               "single bytes are understood as the whole is");
  for (const H1Request& request : whole.requests) {
    const std::size_t size = request.body_begin - request.head_begin;
    const std::string_view head = bytes.substr(request.head_begin, size);
    require_sound_head(head, request.head, request.framing, limits);
    require_reprints(request.head, request.framing);
    require_sound_body(bytes, request);
  }
  require_sound_end(bytes, whole, limits);
}

}  // namespace

void check(std::string_view input) {
  check_conversation(input, Limits());
  check_conversation(input, narrow_limits());
  const std::string_view head = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  check_conversation(std::string(head).append(input), Limits());
}

}  // namespace h2server::fuzz
