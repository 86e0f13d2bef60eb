// What holds for every head that the parser of HTTP/1.1 lets pass, found out without it: from the
// bytes of the head and from the fields alone.
#pragma once

#include <string_view>

#include "h2server/message.h"
#include "http/h1/parser.h"
#include "http/limits.h"

namespace h2server::fuzz {

// `bytes` are the head's, with its empty line. Aborts where a rule is broken.
void require_sound_head(std::string_view bytes, const RequestHead& head,
                        const http::h1::Framing& framing, const http::Limits& limits);

// The head, written again, is parsed to the same.
void require_reprints(const RequestHead& head, const http::h1::Framing& framing);

}  // namespace h2server::fuzz
