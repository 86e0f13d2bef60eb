// Redirects and rewrites: rules that lead from one path to another.
//
//   server.use(redirects({{"/old/**", "/new/$1", 301}, {"/blog", "https://blog.example/"}}));
//   server.rewrite({{"/download/*", "/files/$1.zip"}});
#pragma once

#include <string>
#include <vector>

#include "h2server/middleware.h"

#pragma GCC visibility push(default)
namespace h2server {

// In `to`, $1 to $9 stand for what the first to ninth '*' or "**" of the pattern has matched, "$$"
// for a '$'. "**/" behind a '/' matches nothing, or text with a '/' at its end. Of several rules
// the first that matches counts.

struct Redirect {
  std::string from;  // a pattern, as in HeaderRule
  // A path, or a URL with its scheme. What $1 and others stand for is percent-encoded. The
  // request's query is appended, unless there is a '?'.
  std::string to;
  int status = 302;  // 301, 302, 303, 307 or 308
};

struct Rewrite {
  std::string from;  // a pattern, as in HeaderRule
  std::string to;    // a path, not encoded; the query stays
};

// Answers requests whose path matches with a redirect. Allocates nothing if no rule matches. Throws
// std::invalid_argument for rules that make no sense. A '$1' right at the start of the host of a
// URL would let clients choose where browsers go, so '$' is refused before the path of a URL.
[[nodiscard]] Middleware redirects(std::vector<Redirect> rules);

}  // namespace h2server
#pragma GCC visibility pop
