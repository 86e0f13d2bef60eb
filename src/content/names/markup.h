// Text for pages, links and people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace h2server::content {

// Appends `text` as the content of an HTML element or of an attribute in double quotes.
void append_html(std::string& out, std::string_view text);
// Appends `text` as one segment of a path: everything but RFC 3986's unreserved characters is
// percent-encoded, so that the result can stand in an attribute, too.
void append_segment(std::string& out, std::string_view text);
// Appends `text` as a string of JSON. Bytes that are not UTF-8 become U+FFFD.
void append_json(std::string& out, std::string_view text);
void append_number(std::string& out, std::uint64_t number);
// Appends a number of bytes in powers of 1024: "512 B", "1.5 KiB".
void append_size(std::string& out, std::uint64_t bytes);
// Appends a time of UTC: "2026-11-23T04:05:06Z" (RFC 3339). Years outside 0 to 9999 are clamped.
void append_time(std::string& out, std::int64_t unix_seconds);

}  // namespace h2server::content
