// LOCK and UNLOCK.
#include <utility>

#include "base/clock.h"
#include "content/webdav/webdav_answers.h"
#include "content/webdav/webdav_methods.h"
#include "content/webdav/webdav_requests.h"
#include "content/webdav/webdav_tree.h"
#include "http/message.h"

namespace h2server::content {

namespace {

// RFC 4918, 9.10.1 and 9.10.9: the body is the property that tells about the lock.
Response lock_response(const WebDav& dav, const Lock& lock, int status) {
  std::string body = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:prop xmlns:D=\"DAV:\">";
  append_lockdiscovery(body, dav.base, {lock}, base::monotonic_ms());
  body += "</D:prop>\n";
  return dav_response(status, std::move(body));
}

Response conflict_response(const WebDav& dav, const LockTable::Conflict& conflict) {
  if (conflict.full) return http::error_response(503);
  std::string condition = "<D:no-conflicting-lock>";
  append_href(condition, dav.base, conflict.path, false);
  condition += "</D:no-conflicting-lock>";
  return dav_error(423, condition);
}

std::uint32_t timeout_of(const DavRequest& asked) {
  return parse_timeout(asked.head.fields.find("timeout"), LockLimits::seconds_max);
}

// 9.10.2: without a body. If names the lock.
Response refresh(WebDav& dav, const DavRequest& asked) {
  if (asked.tokens.empty()) return http::error_response(400);
  const std::optional<Lock> lock =
      dav.locks().refresh(asked.path, asked.holder(), timeout_of(asked), base::monotonic_ms());
  if (!lock) return dav_error(412, "<D:lock-token-matches-request-uri/>");
  return lock_response(dav, *lock, 200);
}

}  // namespace

Response answer_lock(const WebDavRef& dav, const DavRequest& asked) {
  const auto depth = parse_depth(asked.head.fields.find("depth"), Depth::infinity);
  if (!depth || depth == Depth::one) return http::error_response(400);
  if (auto refused = check_conditions(*dav, asked)) return *std::move(refused);
  if (!asked.body) return refresh(*dav, asked);
  std::optional<LockInfo> info = read_lockinfo(*asked.body);
  if (!info) return http::error_response(422);
  if (info->owner.size() > LockLimits::owner_bytes_max) return http::error_response(413);
  const Result<FileState, int> state = look_at_path(dav->root(), asked.path);
  if (!state && state.error() != ENOENT) {
    return http::error_response(state.error() == ENOTDIR ? 409 : status_of_error(state.error()));
  }
  if (!state) {
    if (!is_safe_path(asked.path)) return http::error_response(403);
    const Change change{.path = asked.path, .membership = true};
    if (auto refused = check_locks(*dav, asked, change)) return *std::move(refused);
  }
  Lock wanted{.path = asked.path,
              .shared = info->shared,
              .deep = depth == Depth::infinity,
              .owner = std::move(info->owner),
              .user = asked.user,
              .client = asked.client,
              .seconds = timeout_of(asked)};
  const Result<Lock, LockTable::Conflict> lock =
      dav->locks().add(std::move(wanted), base::monotonic_ms());
  if (!lock) return conflict_response(*dav, lock.error());
  if (!state) {  // 9.10.4: what is locked and does not exist becomes an empty file
    const Result<void, int> made = make_file(*dav->directory, asked.path);
    if (!made) {
      dav->locks().remove(asked.path, lock->token, lock->user, base::monotonic_ms());
      return http::error_response(made.error());
    }
  }
  Response response = lock_response(*dav, *lock, state ? 200 : 201);
  response.add("Lock-Token", "<" + lock->token + ">");
  return response;
}

Response answer_unlock(const WebDavRef& dav, const DavRequest& asked) {
  const auto field = asked.head.fields.find("lock-token");
  const auto token = field ? parse_coded_url(*field) : std::nullopt;
  if (!token) return http::error_response(400);
  if (auto refused = check_conditions(*dav, asked)) return *std::move(refused);
  switch (dav->locks().remove(asked.path, *token, asked.user, base::monotonic_ms())) {
    case LockTable::Removal::done:
      return Response(204);
    case LockTable::Removal::not_found:
      return dav_error(409, "<D:lock-token-matches-request-uri/>");
    case LockTable::Removal::not_yours:
      break;
  }
  return http::error_response(403);
}

}  // namespace h2server::content
