// Invariants of every head that the HTTP/1.1 parser accepts. They are checked without the parser,
// from the bytes of the head and from its fields.
#pragma once

#include <string_view>

#include "h2server/limits.h"
#include "h2server/message.h"
#include "http/h1/parser.h"

namespace h2server::fuzz {

// `bytes` are the head's, with its empty line. Aborts if a rule is broken.
void require_sound_head(std::string_view bytes, const RequestHead& head,
                        const http::h1::Framing& framing, const Limits& limits);

// Aborts unless the head, written out again, parses to the same result.
void require_reprints(const RequestHead& head, const http::h1::Framing& framing);

}  // namespace h2server::fuzz
