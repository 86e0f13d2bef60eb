// What the parser of heads and the decoder of bodies make of a client's bytes, as a connection of
// HTTP/1.1 uses them: request after request, until one is malformed or the bytes end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/message.h"
#include "http/h1/parser.h"
#include "http/limits.h"
#include "pieces.h"

namespace h2server::fuzz {

struct H1Request {
  RequestHead head;  // views into the input
  http::h1::Framing framing;
  std::size_t head_begin = 0;  // offsets in the input
  std::size_t body_begin = 0;
  std::size_t body_end = 0;  // of what the decoder has taken
  std::string content;
  std::string trailers;   // of a body that is whole: "name=value\n"
  bool finished = false;  // the body is whole
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
  std::size_t begin_of_rest = 0;  // of the head that is incomplete or malformed
  int status = 0;                 // of a malformed head
};

// Delivers `bytes` in pieces.
H1Conversation converse_h1(std::string_view bytes, Cuts cuts, const http::Limits& limits);

// All that must not depend on the cuts.
std::string describe(const H1Conversation& conversation);
std::string describe(const RequestHead& head, const http::h1::Framing& framing);

}  // namespace h2server::fuzz
