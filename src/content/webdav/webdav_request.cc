#include "content/webdav/webdav_request.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "content/files/client_places.h"
#include "content/webdav/webdav_answers.h"
#include "http/fields/conditional.h"
#include "http/fields/syntax.h"
#include "http/message.h"
#include "http/middleware/cross_site.h"

namespace h2server::content {

namespace {

std::unexpected<Response> refuse_dav(int status) {
  return std::unexpected(http::error_response(status));
}

bool makes_something(Method method) noexcept {
  return method == PUT || method == MKCOL || method == LOCK;
}

// The lines of a field, joined as RFC 9110, 5.3 says.
std::optional<std::string> joined(const RequestHead& head, std::string_view name) {
  std::optional<std::string> all;
  for (const Field& line : head.fields) {
    if (!http::equals_ignoring_case(line.name, name)) continue;
    if (all) {
      all->append(",").append(line.value);
    } else {
      all = line.value;
    }
  }
  return all;
}

// A resource that a list of If is about.
struct Tagged {
  std::vector<Lock> locks;
  std::string tag;  // empty: it has none
};

Tagged look_at_tagged(const WebDav& dav, const std::string& path) {
  Tagged found{.locks = dav.locks().covering(path, base::monotonic_ms()), .tag = {}};
  if (!is_visible_path(path)) return found;
  const Result<FileState, int> state = look_at_path(dav.root(), path);
  if (state && !state->is_folder) found.tag = entity_tag(state->version);
  return found;
}

bool is_true(const IfCondition& condition, const Tagged& tagged) {
  const bool holds = condition.is_tag ? !tagged.tag.empty() && condition.value == tagged.tag
                                      : std::ranges::any_of(tagged.locks, [&](const Lock& lock) {
                                          return lock.token == condition.value;
                                        });
  return holds != condition.negated;
}

bool is_true(const WebDav& dav, const DavRequest& asked, const IfList& list) {
  std::string path = asked.path;
  if (!list.resource.empty()) {
    const Result<std::string, int> named = parse_reference(list.resource, asked.head.authority);
    std::optional<std::string> below = named ? path_below(*named, dav.base) : std::nullopt;
    if (!below) return false;  // nothing is known about it
    path = *std::move(below);
  }
  const Tagged tagged = look_at_tagged(dav, path);
  return std::ranges::all_of(list.conditions,
                             [&](const IfCondition& one) { return is_true(one, tagged); });
}

bool meets_http(const WebDav& dav, const DavRequest& asked) {
  const std::optional<std::string> if_match = joined(asked.head, "if-match");
  const std::optional<std::string> if_none_match = joined(asked.head, "if-none-match");
  const auto since = asked.head.fields.find("if-unmodified-since");
  if (!if_match && !if_none_match && !since) return true;
  const Result<FileState, int> state = look_at_path(dav.root(), asked.path);
  if (!state) return !if_match;
  const std::string tag = state->is_folder ? std::string() : entity_tag(state->version);
  http::Preconditions preconditions;
  if (if_match) preconditions.if_match = *if_match;
  if (if_none_match) preconditions.if_none_match = *if_none_match;
  preconditions.if_unmodified_since = since;
  const http::Validators validators{.etag = tag, .modified = state->version.modified_s};
  return http::evaluate(preconditions, validators, false, asked.head.received_s) ==
         http::PreconditionResult::proceed;
}

}  // namespace

Result<DavRequest, Response> understand(const WebDav& dav, const Request& request,
                                        std::string_view path) {
  if (http::is_cross_site(request.head())) return refuse_dav(403);
  DavRequest asked{.request = request,
                   .head = request.head(),
                   .path = {},
                   .lists = {},
                   .tokens = {},
                   .user = dav.user ? dav.user(request) : std::string(),
                   .client = request.method() == LOCK ? share_of(request) : std::string(),
                   .body = {}};
  if (path.ends_with('/')) {
    asked.names_folder = true;
    path.remove_suffix(1);
  }
  if (!is_visible_path(path)) return refuse_dav(makes_something(request.method()) ? 403 : 404);
  asked.path = path;
  if (const auto field = request.field("if")) {
    std::optional<std::vector<IfList>> lists = parse_if(*field);
    if (!lists) return refuse_dav(400);
    asked.lists = *std::move(lists);
  }
  for (const IfList& list : asked.lists) {
    for (const IfCondition& condition : list.conditions) {
      if (!condition.is_tag) asked.tokens.emplace_back(condition.value);
    }
  }
  return asked;
}

std::optional<Response> check_conditions(const WebDav& dav, const DavRequest& asked) {
  const bool any = asked.lists.empty() || std::ranges::any_of(asked.lists, [&](auto& list) {
                     return is_true(dav, asked, list);
                   });
  if (!any || !meets_http(dav, asked)) return http::error_response(412);
  return std::nullopt;
}

std::optional<Response> check_locks(const WebDav& dav, const DavRequest& asked,
                                    const Change& change) {
  const std::optional<std::string> found =
      dav.locks().obstacle(change, asked.holder(), base::monotonic_ms());
  if (found) return locked(dav.base, *found);
  return std::nullopt;
}

Result<DavTarget, Response> find_target(const WebDav& dav, const DavRequest& asked) {
  const auto field = asked.head.fields.find("destination");
  const std::optional<bool> overwrite = parse_overwrite(asked.head.fields.find("overwrite"));
  if (!field || !overwrite) return refuse_dav(400);
  const Result<std::string, int> named = parse_reference(*field, asked.head.authority);
  if (!named) return refuse_dav(named.error());
  std::optional<std::string> path = path_below(*named, dav.base);
  if (!path) return refuse_dav(502);  // RFC 4918, 9.8.5: another part of the site does not take it
  if (path->empty() || !is_safe_path(*path)) return refuse_dav(403);
  return DavTarget{*std::move(path), *overwrite};
}

}  // namespace h2server::content
