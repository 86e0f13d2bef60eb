#include "target_rules.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/memory/arena.h"
#include "http/fields/target.h"
#include "pieces.h"
#include "require.h"
#include "target_reference.h"

namespace h2server::fuzz {

namespace {

// Properties that the file system and the router rely on.
void require_safe_path(std::string_view path) {
  require(path == "*" || path.starts_with('/'), "a path begins with a slash");
  require(path.find('\0') == std::string_view::npos, "a path has no NUL");
  const std::string closed = std::string(path) + '/';
  require(closed.find("/../") == std::string::npos, "a path does not lead up");
  require(closed.find("/./") == std::string::npos, "a path has no segment that says nothing");
}

// Escapes are decoded only once: an escaped path decodes to exactly that path.
void require_encodes(std::string_view path) {
  if (path == "*") return;
  const std::string encoded = encode_path(path);
  base::Arena arena;
  const std::optional<http::Target> again = http::parse_target(encoded, arena);
  require(again.has_value(), "a path that is encoded again is a target");
  require_same(again->path, path, "and the same path");
  require(again->query.empty() && again->authority.empty(), "and nothing else");
}

// RFC 3986, 3.2.2: no characters that end or divide an authority.
void require_safe_host(std::string_view host) {
  require(!host.empty(), "an authority has a host");
  const bool literal = host.starts_with('[');
  require(literal == host.ends_with(']'), "brackets come in pairs");
  const std::string_view inside = literal ? host.substr(1, host.size() - 2) : host;
  const std::string_view refused = literal ? "/?#@\\[]%" : "/?#@\\[]:";
  require(inside.find_first_of(refused) == std::string_view::npos, "a host does not end within");
  const auto is_visible = [](char c) { return c > 0x20 && c < 0x7f; };
  require(std::ranges::all_of(inside, is_visible), "a host is visible ASCII");
}

}  // namespace

void check_target(std::string_view raw) {
  base::Arena arena;
  const ExactCopy copy(raw);
  const std::optional<http::Target> target = http::parse_target(copy.view(), arena);
  const std::optional<TargetReference> reference = read_target(raw);
  const bool good =
      reference && (!reference->absolute || http::parse_authority(reference->authority));
  require(target.has_value() == good, "a target is one for the reference, too");
  if (!target) return;
  require_same(target->path, reference->path, "the path of a target");
  require_same(target->query, reference->query, "the query of a target");
  require_same(target->authority, reference->authority, "the authority of a target");
  require_same(copy.view(), raw, "the target is left as it is");
  require_safe_path(target->path);
  require_encodes(target->path);
}

void check_authority(std::string_view text) {
  const ExactCopy copy(text);
  const std::optional<http::Authority> authority = http::parse_authority(copy.view());
  const std::string with_user = std::string("u@").append(text);
  require(!http::parse_authority(with_user), "an authority has no user information");
  if (!authority) return;
  require(text.starts_with(authority->host), "an authority begins with its host");
  require_safe_host(authority->host);
  std::string again(authority->host);
  if (authority->port) again += ':' + std::to_string(*authority->port);
  const std::optional<http::Authority> second = http::parse_authority(again);
  require(second.has_value(), "an authority that is written again is one");
  require_same(second->host, authority->host, "and has the same host");
  require(second->port == authority->port, "and the same port");
}

}  // namespace h2server::fuzz
