#include "content/names/attachment.h"

#include <algorithm>

#include "base/text/utf8.h"
#include "content/names/markup.h"

namespace h2server::content {

namespace {

// Quotes and backslashes would need escapes, which recipients read differently; '%' is decoded by
// some (RFC 6266, appendix D).
bool is_plain(char c) { return c >= ' ' && c <= '~' && !std::string_view("\"\\%").contains(c); }

}  // namespace

std::string attachment(std::string_view file_name) {
  std::string field = "attachment; filename=\"";
  for (const char c : file_name) field += is_plain(c) ? c : '_';
  field += '"';
  if (std::ranges::all_of(file_name, is_plain)) return field;
  field += "; filename*=UTF-8''";
  append_segment(field, base::to_valid_utf8(file_name));
  return field;
}

}  // namespace h2server::content
