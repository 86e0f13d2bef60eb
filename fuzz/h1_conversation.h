// Runs the HTTP/1.1 head parser and body decoder over a client's bytes as a connection does:
// request after request, until one is malformed or the bytes end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/limits.h"
#include "h2server/message.h"
#include "http/h1/parser.h"
#include "pieces.h"

namespace h2server::fuzz {

struct H1Request {
  RequestHead head;  // views into the input
  http::h1::Framing framing;
  std::size_t head_begin = 0;  // offsets in the input
  std::size_t body_begin = 0;
  std::size_t body_end = 0;  // end of what the decoder has taken
  std::string content;
  std::string trailers;   // "name=value\n"; only if the body is complete
  bool finished = false;  // the body is complete
};

struct H1Conversation {
  enum class End : std::uint8_t {
    head_incomplete,
    head_malformed,
    body_incomplete,
    body_malformed
  };

  std::vector<H1Request> requests;
  End end = End::head_incomplete;
  std::size_t begin_of_rest = 0;  // where the incomplete or malformed head begins
  int status = 0;                 // of a malformed head; else 0
};

// Delivers `bytes` in the pieces that `cuts` chooses.
H1Conversation converse_h1(std::string_view bytes, Cuts cuts, const Limits& limits);

// Returns everything that must not depend on the cuts.
std::string describe(const H1Conversation& conversation);
std::string describe(const RequestHead& head, const http::h1::Framing& framing);

}  // namespace h2server::fuzz
