#include "content/uploads/access/upload_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "base/host_map.h"
#include "base/shared_objects.h"
#include "base/text/text.h"
#include "content/storage/upload_path.h"
#include "content/uploads/access/access_pages.h"
#include "content/uploads/access/upload_quota.h"
#include "h2server/authentication.h"
#include "h2server/authorization.h"
#include "h2server/query.h"
#include "http/fields/challenge.h"
#include "http/fields/target.h"
#include "http/middleware/cross_site.h"

namespace h2server::content {

namespace {

constexpr std::string_view cookie_name = "h2server_upload";
constexpr std::string_view link_cookie_name = "h2server_link";
constexpr std::string_view parameter = "token=";
constexpr std::size_t token_bytes_max = 1024;  // 128 random bits have 22 in base64
constexpr std::int64_t ns_per_s = 1'000'000'000;
// How long after it was right a token passes although its client has guessed wrong.
constexpr std::int64_t remembered_ns = 600 * ns_per_s;

std::int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// Of quotas that can't be counted, since other servers have taken all places of the file.
UploadUsage::Counter uncounted{UINT64_MAX};

std::string_view text_of(const net::Sha256Digest& bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct LastUse {
  std::atomic<std::int64_t> right_ns{0};  // when the token was right; 0: never
};

std::shared_ptr<LastUse> last_use_of(const net::Sha256Digest& digest) {
  static base::SharedObjects<net::Sha256Digest, LastUse> all;
  return all.get(digest);
}

struct TokenEntry {
  explicit TokenEntry(UploadToken given)
      : token(std::move(given)),
        rights(rights_of(token.mode)),
        last_use(last_use_of(token.digest)) {}

  UploadToken token;
  Rights rights;
  UploadUsage::Counter* used = nullptr;  // null: no quota
  const std::shared_ptr<LastUse> last_use;
};

// Attached to requests that have passed.
struct Grant {
  Rights rights;
  std::string name;
  UploadUsage::Counter* used = nullptr;  // null: no quota
  std::uint64_t quota_bytes = 0;
  std::string key = {};  // the token's digest
};

enum class Way : std::uint8_t { none, sent, remembered, cookie, url };

struct Given {
  Way way = Way::none;  // `remembered`: a password, which browsers send without being told to
  std::string token;
};

}  // namespace

class UploadAccess {
 public:
  explicit UploadAccess(UploadAccessOptions given) : options(std::move(given)) {
    for (UploadToken& token : options.tokens) {
      auto& entry = *entries.emplace_back(std::make_unique<TokenEntry>(std::move(token)));
      if (entry.token.quota_bytes > 0 && options.usage != nullptr) {
        UploadUsage::Counter* const used = options.usage->find(entry.token.digest);
        entry.used = used != nullptr ? used : &uncounted;
      }
    }
    options.tokens.clear();
    if (options.link_key) signer.emplace(*options.link_key);
  }

  // Returns null if there is no such token. Compares with all of them.
  [[nodiscard]] TokenEntry* find(std::string_view token) const {
    const net::Sha256Digest digest = net::sha256(token.substr(0, token_bytes_max));
    TokenEntry* found = nullptr;
    for (const auto& entry : entries) {
      if (equal_in_constant_time(text_of(entry->token.digest), text_of(digest)))
        found = entry.get();
    }
    return token.size() > token_bytes_max ? nullptr : found;
  }

  UploadAccessOptions options;
  std::vector<std::unique_ptr<TokenEntry>> entries;
  std::optional<LinkSigner> signer;
};

namespace {

// --- the token --------------------------------------------------------------------------------

// Calls `visit` with each "name=value" of a query as received, until it returns false.
template <class Visit>
void for_each_item(std::string_view query, const Visit& visit) {
  while (!query.empty()) {
    const std::string_view item = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(item.size() + 1, query.size()));
    if (!item.empty() && !visit(item)) return;
  }
}

// Returns the value of "token=" in a query as received. Another spelling of the name is another
// parameter, so that without_token() leaves none in.
std::optional<std::string> token_in(std::string_view query) {
  std::optional<std::string> token;
  for_each_item(query, [&](std::string_view item) {
    if (item.starts_with(parameter)) token = Parameters(item).find("token");
    return !token;
  });
  return token;
}

// What is sent on purpose goes before what a browser adds.
Given given_by(const Request& request) {
  // The site may have asked for credentials of its own, which then are no token.
  const bool is_site_user = request.attached<AuthenticatedUser>() != nullptr;
  if (!is_site_user && request.field("authorization")) {
    if (const auto token = bearer_token(request)) return {Way::sent, std::string(*token)};
    if (auto basic = basic_credentials(request)) {
      return {Way::remembered, std::move(basic->password)};
    }
  }
  if (std::optional<std::string> token = token_in(request.query())) {
    return {Way::url, *std::move(token)};
  }
  const std::optional<std::string_view> cookie = request.cookies().find(cookie_name);
  if (cookie && !http::is_cross_site(request.head())) return {Way::cookie, std::string(*cookie)};
  return {};
}

// Returns the request's URL without "token=" parameters.
std::string without_token(const Request& request) {
  const std::string form = http::origin_form_of(request.head().target);
  std::string location(http::local_path_of(std::string_view(form).substr(0, form.find('?'))));
  char separator = '?';
  for_each_item(request.query(), [&](std::string_view item) {
    if (item.starts_with(parameter)) return true;
    location.append(1, std::exchange(separator, '&')).append(item);
    return true;
  });
  return location;
}

Response unauthorized(const Request& request, bool wrong) {
  Response response = token_page(request, wrong);
  const std::string bearer = http::bearer_challenge("uploads");
  // A browser would put a dialogue of its own before the page.
  if (!wants_page(request)) {
    response.add("WWW-Authenticate", http::basic_challenge("uploads"));
  }
  response.add("WWW-Authenticate", wrong ? bearer + std::string(http::invalid_token) : bearer);
  if (wrong && request.cookies().find(cookie_name)) {
    response.set_cookie({.name = std::string(cookie_name), .max_age_s = 0});
  }
  return response;
}

Response too_many(const Request& request, std::int64_t wait_ns) {
  Response response = refusal_page(request, 429, "Too many wrong tokens. Try again later.");
  // RFC 9110, 10.2.3: seconds. Rounded up, so that the client does not come too early.
  response.add("Retry-After", std::to_string((wait_ns + ns_per_s - 1) / ns_per_s));
  return response;
}

// Returns the entry, or the response that refuses. A guess counts for its client only: many clients
// can't guess a random token either, so they must not keep others out.
Result<TokenEntry*, Response> check_token(UploadAccess& access, const Request& request,
                                          std::string_view token) {
  TokenEntry* const entry = access.find(token);
  const GuessChecks& guesses = access.options.guesses;
  const std::int64_t now = now_ns();
  const std::int64_t right_ns =
      entry != nullptr ? entry->last_use->right_ns.load(std::memory_order_relaxed) : 0;
  const bool known = right_ns != 0 && now - right_ns < remembered_ns;
  // A right one, too, unless it was in use lately: a guesser must not learn that it is.
  const std::int64_t wait_ns = known || !guesses.wait_ns ? 0 : guesses.wait_ns(request);
  if (wait_ns > 0) return std::unexpected(too_many(request, wait_ns));
  if (entry == nullptr) {
    if (guesses.count_failure) guesses.count_failure(request);
    return std::unexpected(unauthorized(request, true));
  }
  entry->last_use->right_ns.store(now, std::memory_order_relaxed);
  return entry;
}

// --- the signed link --------------------------------------------------------------------------

LinkVerdict verdict_on(const UploadAccess& access, const Request& request, std::string_view query,
                       LinkUse use) {
  const UploadAccessOptions& options = access.options;
  const bool resumes = is_at_or_below(request.path(), options.resumable);
  if (resumes && use == LinkUse::download) return LinkVerdict::altered;
  const std::string_view path = resumes ? std::string_view(options.base) : request.path();
  const std::int64_t now_s = request.received_s();
  // A link is for one host: sites with a key in common may have other files at the same path.
  const std::string host = base::lower_host_of(request.head().authority);
  const LinkVerdict here =
      host.empty() ? LinkVerdict::altered : access.signer->check(path, query, use, now_s, host);
  if (options.is_named || here == LinkVerdict::good || here == LinkVerdict::absent) return here;
  const LinkVerdict anywhere = access.signer->check(path, query, use, now_s);
  return anywhere == LinkVerdict::altered ? here : anywhere;
}

// Returns the rights of the request's link, none if it has none, or the response that refuses. Of a
// link for downloads they hold for GET of its path only.
Result<Rights, Response> check_link(const UploadAccess& access, const Request& request) {
  if (!access.signer) return Rights();
  const LinkVerdict upload = verdict_on(access, request, request.query(), LinkUse::upload);
  if (upload == LinkVerdict::absent) return Rights();
  if (upload == LinkVerdict::good) return Rights(Right::upload);
  const bool reads = request.method() == GET || request.method() == HEAD;
  const LinkVerdict download = reads
                                   ? verdict_on(access, request, request.query(), LinkUse::download)
                                   : LinkVerdict::altered;
  if (download == LinkVerdict::good) return Right::list | Right::read;
  const bool expired = upload == LinkVerdict::expired || download == LinkVerdict::expired;
  Response response = Response::text(expired ? "this link has expired\n"
                                             : "this link is not valid here: its signature does "
                                               "not match\n",
                                     403);
  response.add("Cache-Control", "no-store");
  return std::unexpected(std::move(response));
}

// The requests of the page behind a link for uploads have no query of it, but a cookie.
bool has_link_cookie(const UploadAccess& access, const Request& request) {
  if (!access.signer || http::is_cross_site(request.head())) return false;
  const std::optional<std::string_view> cookie = request.cookies().find(link_cookie_name);
  return cookie && verdict_on(access, request, *cookie, LinkUse::upload) == LinkVerdict::good;
}

// The request has a good link, whose parameters need no escapes.
void set_link_cookie(const Request& request, Response& response) {
  const Parameters query = request.query_parameters();
  const std::string_view expires = query.find("expires").value_or("0");
  const std::int64_t rest_s =
      static_cast<std::int64_t>(base::parse_decimal(expires).value_or(0)) - request.received_s();
  response.set_cookie({.name = std::string(link_cookie_name),
                       .value = fmt::format("expires={}&signature={}", expires,
                                            query.find("signature").value_or("")),
                       .max_age_s = std::max<std::int64_t>(rest_s, 0),
                       .secure = request.head().encrypted,
                       .same_site = SameSite::strict});
}

// --- quotas -----------------------------------------------------------------------------------

Task<Response> respond(Response response) { co_return std::move(response); }

Response quota_exceeded(const Request& request, std::uint64_t quota) {
  return refusal_page(
      request, 413,
      fmt::format("That is more than what is left of this token's quota, {} bytes.", quota));
}

Task<Response> count(Request& request, Next next, UploadAccessRef access, TokenEntry* entry,
                     std::uint64_t bytes) {
  Charge charge(*entry->used, bytes);
  Response response = co_await next(request);
  if (!left_nothing(request, access->options.resumable, response)) charge.keep();
  co_return std::move(response);
}

Task<Response> upload_with(Request& request, Next next, const UploadAccessRef& access,
                           TokenEntry* entry) {
  const std::optional<std::uint64_t> bytes = added_bytes(request, access->options.resumable);
  if (!bytes) {
    return respond(refusal_page(request, 411, "This token has a quota: send the length."));
  }
  if (*bytes == 0) return next(request);
  const std::uint64_t quota = entry->token.quota_bytes;
  if (!Charge::take(*entry->used, *bytes, quota)) {
    return respond(quota_exceeded(request, quota));
  }
  return count(request, next, access, entry, *bytes);
}

// --- the middleware ---------------------------------------------------------------------------

bool changes(Rights any_of) { return any_of.meets(Right::upload | Right::manage); }

// RFC 9110, 13.1.1: such a PUT is for a file that exists.
bool replaces(const Request& request) {
  return request.method() == PUT && request.field("if-match").has_value();
}

// Returns true if a request with these rights may go on.
bool fits(const Request& request, Rights rights, Rights any_of) {
  return rights.meets(any_of) && (rights.has(Right::manage) || !replaces(request));
}

Response too_few_rights(const Request& request) {
  return refusal_page(request, 403, "This token does not allow that.");
}

// The URL with a token becomes a cookie, which neither shows on screen nor in logs.
Response enter(const Request& request, const std::string& token) {
  const std::string location = without_token(request);
  Response response = http::is_cross_site(request.head()) ? leading_page(location)
                                                          : Response::redirect(location, 303);
  response.set_cookie({.name = std::string(cookie_name),
                       .value = token,
                       .secure = request.head().encrypted,
                       .same_site = SameSite::strict});
  response.replace("Cache-Control", "no-store");
  response.replace("Referrer-Policy", "no-referrer");
  return response;
}

Task<Response> show_page(Request& request, Next next) {
  Response response = co_await next(request);
  set_link_cookie(request, response);
  co_return std::move(response);
}

Task<Response> pass_by_link(Request& request, Next next, Rights rights, Rights any_of) {
  if (!fits(request, rights, any_of)) return respond(too_few_rights(request));
  request.attach(Grant{rights, {}});
  const bool shows_page = wants_page(request) && rights.has(Right::upload);
  return shows_page ? show_page(request, next) : next(request);
}

Task<Response> guard(Request& request, Next next, const UploadAccessRef& access, Rights any_of) {
  Result<Rights, Response> link = check_link(*access, request);
  if (!link) return respond(std::move(link.error()));
  if (*link != Rights()) return pass_by_link(request, next, *link, any_of);
  const Given given = given_by(request);
  if (given.way == Way::none) {
    if (!has_link_cookie(*access, request)) return respond(unauthorized(request, false));
    if (!fits(request, Right::upload, any_of)) return respond(too_few_rights(request));
    request.attach(Grant{Right::upload, {}});
    return next(request);
  }
  Result<TokenEntry*, Response> checked = check_token(*access, request, given.token);
  if (!checked) return respond(std::move(checked.error()));
  TokenEntry* const entry = *checked;
  const bool reads = request.method() == GET || request.method() == HEAD;
  if (given.way == Way::url && wants_page(request)) return respond(enter(request, given.token));
  if (!fits(request, entry->rights, any_of)) return respond(too_few_rights(request));
  const bool unasked = given.way == Way::remembered && !reads && changes(any_of);
  if (unasked && http::is_cross_site(request.head())) {
    return respond(refusal_page(request, 403, "This request is from a page of another site."));
  }
  request.attach(Grant{entry->rights, entry->token.name, entry->used, entry->token.quota_bytes,
                       std::string(text_of(entry->token.digest))});
  if (entry->used == nullptr || !changes(any_of)) return next(request);
  return upload_with(request, next, access, entry);
}

}  // namespace

Rights rights_of(AccessMode mode) noexcept {
  switch (mode) {
    case AccessMode::drop:
      return Right::upload;
    case AccessMode::read:
      return Right::list | Right::read;
    case AccessMode::full:
      break;
  }
  return Right::list | Right::read | Right::upload | Right::manage;
}

UploadAccessRef make_upload_access(UploadAccessOptions options) {
  return std::make_shared<UploadAccess>(std::move(options));
}

Middleware upload_access(UploadAccessRef access, Rights any_of) {
  return [access = std::move(access), any_of](Request& request, Next next) {
    return guard(request, next, access, any_of);
  };
}

bool may(const Request& request, Right right) {
  const Grant* const grant = request.attached<Grant>();
  return grant == nullptr || grant->rights.has(right);
}

Result<void, Response> charge_upload(const Request& request, std::uint64_t bytes) {
  const Grant* const grant = request.attached<Grant>();
  if (grant == nullptr || grant->used == nullptr || bytes == 0) return {};
  if (Charge::take(*grant->used, bytes, grant->quota_bytes)) return {};
  return std::unexpected(quota_exceeded(request, grant->quota_bytes));
}

void refund_upload(const Request& request, std::uint64_t bytes) noexcept {
  const Grant* const grant = request.attached<Grant>();
  if (grant == nullptr || grant->used == nullptr) return;
  grant->used->fetch_sub(bytes, std::memory_order_relaxed);
}

std::string_view token_name(const Request& request) {
  const Grant* const grant = request.attached<Grant>();
  return grant == nullptr ? std::string_view() : grant->name;
}

std::string token_key(const Request& request) {
  const Grant* const grant = request.attached<Grant>();
  return grant == nullptr ? std::string() : grant->key;
}

}  // namespace h2server::content
