// Router: from a method and a path to a handler.
//
// A tree of path segments. At each level a static child goes before the one parameter child, and
// that before a rest parameter. Where a branch ends without a handler for the method, the next one
// is tried. Filled before the server starts, read by every worker afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/handler.h"
#include "h2server/message.h"
#include "h2server/result.h"

namespace h2server::http {

class Router {
 public:
  struct Match {
    const Handler* handler = nullptr;      // null: no such path, or not with this method
    const std::string* pattern = nullptr;  // of the handler
    // Bit (1 << Method) for each method that the path has, by whatever pattern, and for OPTIONS,
    // which needs no handler; 0 if no pattern matches. Complete if `handler` is null.
    std::uint16_t methods = 0;
  };

  Router();
  ~Router();

  // Patterns: "/files/{name}" matches one segment that is not empty, "/static/{path...}" matches
  // the rest of the path, which may be empty. The error tells what is wrong with the pattern.
  Result<void, std::string> add(Method method, std::string_view pattern, Handler handler);

  // HEAD finds GET's handler when it has none of its own. Allocates nothing; `params` point into
  // `path` and into the router.
  [[nodiscard]] Match find(Method method, std::string_view path, PathParams& params) const;

 private:
  struct Route;
  struct Node;
  struct Search;

  static const Route* search(const Node& node, Search& state, std::string_view rest);

  std::unique_ptr<Node> root_;
};

// "GET, HEAD, POST": the value of Allow (RFC 9110, 10.2.1).
std::string allow_value(std::uint16_t methods);

}  // namespace h2server::http
