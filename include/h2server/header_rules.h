// header_rules(): sets and removes fields of responses by the path of the request.
//
//   server.use(header_rules({{"/**.css", "Cache-Control", "max-age=3600"},
//                            immutable_files("/assets/**"),
//                            {"/embed/*", "X-Frame-Options", ""}}));
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "h2server/middleware.h"

#pragma GCC visibility push(default)
namespace h2server {

struct HeaderRule {
  // Compared with the whole path, percent-decoded; begins with '/'. '*' matches any text without
  // '/', "**" any text, '?' a character but '/'. "/**/" matches "/", too.
  std::string pattern;
  std::string name;
  std::string value;  // replaces those of the handler; empty: removes them
  // Only file names with a hash, see has_hashed_name(), and only responses with a status below 400:
  // an error must not be kept for a year.
  bool hashed_names_only = false;
};

// Applies to the responses of what is inside, whatever their status. Of the rules for one name, the
// last that matches counts. Allocates nothing if no rule matches. Throws std::invalid_argument for
// a pattern that does not begin with '/', and for a field that can't be sent.
[[nodiscard]] Middleware header_rules(std::vector<HeaderRule> rules);

// Returns a rule for "Cache-Control: public, max-age=31536000, immutable" (RFC 8246) of files with
// a hash in their name: browsers never ask for them again. The pattern should select a folder in
// which a build tool puts them, because other names may look as if they had a hash.
[[nodiscard]] HeaderRule immutable_files(std::string pattern);

// Returns true if the last segment of the path has a hash before its extension: "app.3f9a2b1c.js",
// "index-BsX2p9Qk.css", "3f9a2b1c.js.map". A hash has at least eight characters and follows the
// last '.' or '-'. It is hexadecimal, with letters of one case and digits; or alphanumeric, with
// letters of both cases and digits. So dates and words are none, and neither are a few hashes.
[[nodiscard]] bool has_hashed_name(std::string_view path) noexcept;

}  // namespace h2server
#pragma GCC visibility pop
