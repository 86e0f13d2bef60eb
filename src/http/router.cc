#include "http/router.h"

#include <algorithm>
#include <ranges>

#include "http/message.h"

namespace h2server::http {

// The end of a pattern: one handler per method, each with its own parameter names.
struct Router::Route {
  std::array<std::optional<Handler>, method_count> handlers;
  std::array<std::vector<std::string>, method_count> names;
  std::array<MiddlewareChainRef, method_count> chains;
  const MiddlewareChain* any_chain = nullptr;  // of the first method that has one
  std::uint16_t methods = 0;
  std::string pattern;
};

struct Router::Node {
  struct Child {
    std::string segment;
    std::unique_ptr<Node> node;
  };
  std::vector<Child> children;  // sorted by segment
  std::unique_ptr<Node> parameter;
  std::unique_ptr<Route> rest;
  std::unique_ptr<Route> end;
};

// The methods wanted and seen, and the parameter values on the path to the current node.
struct Router::Search {
  struct Value {  // uninitialised until used
    const char* data;
    std::size_t size;
  };
  explicit Search(std::uint16_t methods_wanted) noexcept : wanted(methods_wanted) {}

  const std::uint16_t wanted;              // a route must have one of them
  std::uint16_t methods = 0;               // of the routes seen so far that match the path
  const MiddlewareChain* chain = nullptr;  // of the first of them
  std::array<Value, PathParams::count_max> values;
  std::size_t count = 0;

  void add(std::string_view value) noexcept { values[count++] = {value.data(), value.size()}; }
  // Returns true if `route`, which may be null, ends the search.
  bool accepts(const Route* route) noexcept;
};

bool Router::Search::accepts(const Route* route) noexcept {
  if (route == nullptr) return false;
  if (methods == 0) chain = route->any_chain;
  methods |= route->methods;
  return (route->methods & wanted) != 0;
}

namespace {

struct Segment {
  enum class Kind { fixed, parameter, rest } kind;
  std::string_view text;  // the name, of a parameter
};

Result<Segment, std::string> parse_segment(std::string_view text, bool last) {
  if (!text.starts_with('{')) {
    if (text.find_first_of("{}") != std::string_view::npos) {
      return std::unexpected("a parameter must be a whole segment: " + std::string(text));
    }
    return Segment{Segment::Kind::fixed, text};
  }
  if (!text.ends_with('}')) return std::unexpected("unclosed parameter: " + std::string(text));
  std::string_view name = text.substr(1, text.size() - 2);
  const bool rest = name.ends_with("...");
  if (rest) name.remove_suffix(3);
  if (name.empty() || name.find_first_of("{}.") != std::string_view::npos) {
    return std::unexpected("not a parameter's name: " + std::string(text));
  }
  if (rest && !last) return std::unexpected("nothing can follow " + std::string(text));
  return Segment{rest ? Segment::Kind::rest : Segment::Kind::parameter, name};
}

// Splits off the first segment; `rest` begins with '/' or is empty.
std::string_view take_segment(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('/', 1), rest.size());
  const std::string_view segment = rest.substr(1, end - 1);
  rest.remove_prefix(end);
  return segment;
}

constexpr std::uint16_t bit(Method method) {
  return static_cast<std::uint16_t>(1U << static_cast<unsigned>(method));
}

}  // namespace

Router::Router() : root_(std::make_unique<Node>()) {}
Router::~Router() = default;

Result<void, std::string> Router::add(Method method, std::string_view pattern, Handler handler,
                                      MiddlewareChainRef chain) {
  if (method == Method::unknown) return std::unexpected("a handler needs a known method");
  if (!pattern.starts_with('/')) {
    return std::unexpected("a pattern begins with '/': " + std::string(pattern));
  }
  std::vector<std::string> names;
  Node* node = root_.get();
  std::unique_ptr<Route>* place = nullptr;
  for (std::string_view rest = pattern; !rest.empty();) {
    const std::string_view text = take_segment(rest);
    const Result<Segment, std::string> segment = parse_segment(text, rest.empty());
    if (!segment) return std::unexpected(segment.error());
    if (segment->kind == Segment::Kind::fixed) {
      const auto at =
          std::ranges::lower_bound(node->children, segment->text, {}, &Node::Child::segment);
      const bool known = at != node->children.end() && at->segment == segment->text;
      node =
          known ? at->node.get()
                : node->children.insert(at, {std::string(segment->text), std::make_unique<Node>()})
                      ->node.get();
      continue;
    }
    if (std::ranges::find(names, segment->text) != names.end()) {
      return std::unexpected("two parameters of one name: " + std::string(segment->text));
    }
    // Checked before the node is created: Search has no room for more values.
    if (names.size() == PathParams::count_max) return std::unexpected("too many parameters");
    names.emplace_back(segment->text);
    if (segment->kind == Segment::Kind::rest) {
      place = &node->rest;
    } else {
      if (node->parameter == nullptr) node->parameter = std::make_unique<Node>();
      node = node->parameter.get();
    }
  }
  if (place == nullptr) place = &node->end;
  if (*place == nullptr) *place = std::make_unique<Route>();
  Route& route = **place;
  if (route.methods & bit(method)) {
    return std::unexpected("there is a handler already for " + std::string(pattern));
  }
  route.methods |= bit(method);
  route.pattern = pattern;
  route.handlers[static_cast<std::size_t>(method)] = std::move(handler);
  route.names[static_cast<std::size_t>(method)] = std::move(names);
  route.chains[static_cast<std::size_t>(method)] = std::move(chain);
  for (const MiddlewareChainRef& one : std::views::reverse(route.chains)) {
    if (one != nullptr) route.any_chain = one.get();
  }
  return {};
}

const Router::Route* Router::search(const Node& node, Search& state, std::string_view rest) {
  // "/static" does not match "/static/{path...}": relative links would resolve differently.
  if (rest.empty()) return state.accepts(node.end.get()) ? node.end.get() : nullptr;
  std::string_view after = rest;
  const std::string_view segment = take_segment(after);
  const auto at = std::ranges::lower_bound(node.children, segment, {}, &Node::Child::segment);
  if (at != node.children.end() && at->segment == segment) {
    if (const Route* const found = search(*at->node, state, after)) return found;
  }
  if (node.parameter != nullptr && !segment.empty()) {
    state.add(segment);
    if (const Route* const found = search(*node.parameter, state, after)) return found;
    --state.count;
  }
  if (!state.accepts(node.rest.get())) return nullptr;
  state.add(rest.substr(1));
  return node.rest.get();
}

Router::Match Router::find(Method method, std::string_view path, PathParams& params) const {
  params.clear();
  if (!path.starts_with('/')) return {};
  const std::uint16_t wanted = method == Method::unknown ? 0 : bit(method);
  // HEAD uses GET's handler if it has none of its own.
  Search state(method == Method::HEAD ? wanted | bit(Method::GET) : wanted);
  const Route* const route = search(*root_, state, path);
  if (state.methods == 0) return {};
  Match match{.chain = state.chain,
              .methods = static_cast<std::uint16_t>(state.methods | bit(Method::OPTIONS))};
  if (match.methods & bit(Method::GET)) match.methods |= bit(Method::HEAD);
  if (route == nullptr) return match;
  const bool borrowed = !(route->methods & wanted);  // HEAD from GET
  const auto index = static_cast<std::size_t>(borrowed ? Method::GET : method);
  match.handler = &*route->handlers[index];
  match.chain = route->chains[index].get();
  match.pattern = &route->pattern;
  for (std::size_t i = 0; i < state.count; ++i) {
    params.add(route->names[index][i], {state.values[i].data, state.values[i].size});
  }
  return match;
}

std::string allow_value(std::uint16_t methods) {
  std::string value;
  for (std::size_t i = 0; i < method_count; ++i) {
    if (!(methods & bit(static_cast<Method>(i)))) continue;
    if (!value.empty()) value += ", ";
    value += method_name(static_cast<Method>(i));
  }
  return value;
}

}  // namespace h2server::http
