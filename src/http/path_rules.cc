#include "http/path_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/text/percent_encoding.h"
#include "http/fields/syntax.h"
#include "http/fields/target.h"
#include "http/message.h"

namespace h2server::http {

namespace {

// A path, or what follows the host of a URL. Returns npos for text that is neither.
std::size_t path_start(std::string_view to) {
  if (to.starts_with('/') && !to.starts_with("//")) return 0;
  const std::size_t scheme = to.find("://");
  const bool is_http = to.starts_with("http://") || to.starts_with("https://");
  if (!is_http) return to.npos;
  const std::size_t end = std::min(to.find_first_of("/?#", scheme + 3), to.size());
  return end > scheme + 3 ? end : to.npos;  // browsers take the next segment for an empty host
}

// Returns false if the path of a reference has a ".." segment.
bool has_good_path(std::string_view reference) {
  const std::size_t begin = std::min(path_start(reference), reference.size());
  const std::size_t end = std::min(reference.find_first_of("?#", begin), reference.size());
  base::Arena arena;
  return check_path(reference.substr(begin, end - begin), arena).has_value();
}

std::string problem_of(std::string_view from) {
  if (!from.starts_with('/')) return fmt::format("\"{}\" does not begin with '/'", from);
  return {};
}

std::string problem_of(const Redirect& rule) {
  if (std::string problem = problem_of(rule.from); !problem.empty()) return problem;
  constexpr std::array statuses{301, 302, 303, 307, 308};
  if (std::ranges::find(statuses, rule.status) == statuses.end()) {
    return fmt::format("{} is not the status of a redirect: 301, 302, 303, 307 or 308",
                       rule.status);
  }
  const std::size_t path = path_start(rule.to);
  if (path == std::string::npos) {
    return fmt::format("\"{}\" is neither a path nor a URL with http:// or https://", rule.to);
  }
  if (std::string_view(rule.to).substr(0, path).contains('$')) {
    return fmt::format("\"{}\" would let clients choose the host", rule.to);
  }
  if (!has_good_path(rule.to)) return fmt::format("\"{}\" has a \"..\" segment", rule.to);
  const auto is_sendable = [](char c) { return c > ' ' && c < '\x7f'; };
  if (!std::ranges::all_of(rule.to, is_sendable)) {
    return fmt::format("\"{}\" has a character that must be percent-encoded", rule.to);
  }
  return {};
}

}  // namespace

Result<PathTemplate, std::string> PathTemplate::parse(std::string_view text, std::size_t captures) {
  PathTemplate made;
  Piece piece;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] != '$') {
      piece.text += text[i];
    } else if (next == '$') {
      piece.text += '$';
      ++i;
    } else if (next < '1' || next > '9') {
      return std::unexpected(
          fmt::format("\"{}\": '$' is followed by a digit from 1 to 9, or by '$'", text));
    } else if (static_cast<std::size_t>(next - '0') > captures) {
      return std::unexpected(
          fmt::format("\"{}\": the pattern has {} wildcard{}, so there is no ${}", text, captures,
                      captures == 1 ? "" : "s", next));
    } else {
      piece.capture = static_cast<std::size_t>(next - '0');
      made.pieces_.push_back(std::exchange(piece, {}));
      ++i;
    }
  }
  if (!piece.text.empty()) made.pieces_.push_back(std::move(piece));
  return made;
}

void PathTemplate::expand(const PathPattern::Captures& captures, Escaping escaping,
                          std::string& out) const {
  for (const Piece& piece : pieces_) {
    out += piece.text;
    if (piece.capture == 0) continue;
    const std::string_view captured = captures[piece.capture - 1];
    if (escaping == Escaping::percent) {
      // A reserved character of a path must not become a delimiter of the URL.
      base::append_percent_encoded(out, captured, base::Slashes::kept);
    } else {
      out += captured;
    }
  }
}

Result<PathRewrites, std::string> PathRewrites::make(const std::vector<Rewrite>& rules) {
  PathRewrites made;
  for (const Rewrite& rule : rules) {
    if (std::string problem = problem_of(rule.from); !problem.empty()) {
      return std::unexpected(std::move(problem));
    }
    if (!rule.to.starts_with('/')) {
      return std::unexpected(fmt::format("\"{}\" does not begin with '/'", rule.to));
    }
    if (base::Arena arena; !check_path(rule.to, arena)) {
      return std::unexpected(fmt::format("\"{}\" has a \"..\" segment or a NUL", rule.to));
    }
    PathPattern from(rule.from);
    auto to = PathTemplate::parse(rule.to, from.captures());
    if (!to) return std::unexpected(std::move(to.error()));
    made.rules_.push_back({std::move(from), *std::move(to)});
  }
  return made;
}

std::optional<std::string_view> PathRewrites::apply(std::string_view path,
                                                    base::Arena& arena) const {
  for (const Rule& rule : rules_) {
    PathPattern::Captures captures{};
    if (!rule.from.matches(path, &captures)) continue;
    std::string expanded;
    rule.to.expand(captures, PathTemplate::Escaping::none, expanded);
    return arena.copy(expanded);
  }
  return std::nullopt;
}

}  // namespace h2server::http

namespace h2server {

namespace {

struct CompiledRedirect {
  http::PathPattern from;
  http::PathTemplate to;
  int status;
  bool has_query;
};

std::vector<CompiledRedirect> compile(const std::vector<Redirect>& rules) {
  std::vector<CompiledRedirect> compiled;
  for (const Redirect& rule : rules) {
    if (const std::string problem = http::problem_of(rule); !problem.empty()) {
      throw std::invalid_argument("a redirect makes no sense: " + problem);
    }
    http::PathPattern from(rule.from);
    auto to = http::PathTemplate::parse(rule.to, from.captures());
    if (!to) throw std::invalid_argument("a redirect makes no sense: " + to.error());
    compiled.push_back({std::move(from), *std::move(to), rule.status, rule.to.contains('?')});
  }
  return compiled;
}

}  // namespace

Middleware redirects(std::vector<Redirect> rules) {
  return [rules = std::make_shared<const std::vector<CompiledRedirect>>(compile(rules))](
             Request& request) -> std::optional<Response> {
    for (const CompiledRedirect& rule : *rules) {
      http::PathPattern::Captures captures{};
      if (!rule.from.matches(request.path(), &captures)) continue;
      std::string location;
      rule.to.expand(captures, http::PathTemplate::Escaping::percent, location);
      location.erase(0, location.size() - http::local_path_of(location).size());
      if (!http::has_good_path(location)) return http::error_response(400);
      if (!rule.has_query && !request.query().empty()) {
        // RFC 3986, 3: the query stands before the fragment.
        const std::size_t end = std::min(location.find('#'), location.size());
        location.insert(end, fmt::format("?{}", request.query()));
      }
      return Response::redirect(location, rule.status);
    }
    return std::nullopt;
  };
}

}  // namespace h2server
