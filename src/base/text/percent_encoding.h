// Percent-encoding of URLs (RFC 3986, 2.1). Pure functions, any thread. The opposite is
// decode_percent() of base/text/text.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace h2server::base {

enum class Slashes : std::uint8_t {
  encoded,  // the text is one segment of a path
  kept,     // they divide the text into segments
};

// Appends `text` with every byte encoded that is not unreserved (RFC 3986, 2.3): so none of them
// becomes a delimiter of the URL.
void append_percent_encoded(std::string& out, std::string_view text, Slashes slashes);

// Appends a URI reference (RFC 3986, 4.1) with every byte encoded that may not stand where it does:
// what is no character of URIs, a '%' that begins no escape, brackets behind the host, and a '#'
// in the fragment. The rest stays as it is.
void append_uri_reference(std::string& out, std::string_view text);

}  // namespace h2server::base
