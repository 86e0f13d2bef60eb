#include "content/webdav/webdav.h"

#include <cerrno>
#include <stdexcept>
#include <utility>

#include "base/assert.h"
#include "base/memory/memory_budget.h"
#include "content/storage/upload_refusals.h"
#include "content/webdav/webdav_answers.h"
#include "content/webdav/webdav_methods.h"
#include "content/webdav/webdav_request.h"
#include "content/webdav/webdav_tree.h"
#include "file/calls.h"
#include "h2server/authentication.h"
#include "h2server/own_stop.h"
#include "http/answer.h"
#include "http/message.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

enum class BodyUse : std::uint8_t {
  ignored,
  refused,  // 415
  xml,
};

struct DavMethod {
  Method method;
  BodyUse body;
  Response (*answer)(const WebDavRef&, const DavRequest&);
  bool changes_trees = false;
};

constexpr DavMethod propfind_method{PROPFIND, BodyUse::xml, &answer_propfind};
constexpr DavMethod mkcol_method{MKCOL, BodyUse::refused, &answer_mkcol};  // RFC 4918, 9.3.1
constexpr DavMethod delete_method{DELETE, BodyUse::ignored, &answer_delete, true};
constexpr DavMethod move_method{MOVE, BodyUse::ignored, &answer_move, true};
constexpr DavMethod writing_methods[] = {
    mkcol_method,
    delete_method,
    move_method,
    {COPY, BodyUse::ignored, &answer_copy, true},
    {PROPPATCH, BodyUse::xml, &answer_proppatch},
    {LOCK, BodyUse::xml, &answer_lock},
    {UNLOCK, BodyUse::ignored, &answer_unlock},
};

// Returns the response, if the body does not fit. Stores the text of a document.
Task<std::optional<Response>> read_body(Request& request, BodyUse use, std::string& document) {
  if (use == BodyUse::ignored) co_return std::nullopt;
  const std::size_t bytes_max = use == BodyUse::xml ? XmlLimits().bytes_max : 0;
  Result<std::string> body = co_await request.read_all(bytes_max);
  if (!body) {
    const bool too_long = body.error().code == EMSGSIZE;
    if (!too_long) co_return refuse_body(body.error());
    const int status = use == BodyUse::xml ? 413 : 415;
    co_return http::error_response(status);
  }
  document = *std::move(body);
  co_return std::nullopt;
}

// A tree may take many times the memory of its text, so it is made on one of the few threads that
// use it.
Response answer_document(const DavMethod& method, const WebDavRef& dav, const std::string& document,
                         DavRequest& asked) {
  // Others may have filled it while this one waited for a thread.
  if (http::memory_is_tight()) return http::refuse_for_memory();
  if (!document.empty()) {
    Result<XmlNode, std::string_view> parsed = parse_xml(document);
    if (!parsed) return Response::text(std::string(parsed.error()) + "\n", 400);
    asked.body = *std::move(parsed);
  }
  return method.answer(dav, asked);
}

// Returns true if a change of it may take seconds. Blocks.
bool is_large(const WebDav& dav, const std::string& path) {
  constexpr std::uint64_t bytes_max = 16 * 1024 * 1024;
  const Result<FileState, int> state = look_at_path(dav.root(), path);
  return state && (state->is_folder || state->version.size > bytes_max);
}

Task<Response> answer_dav(WebDavRef dav, DavMethod method, Request& request) {
  Result<DavRequest, Response> asked = understand(*dav, request, request.param("path"));
  if (!asked) co_return std::move(asked.error());
  std::string document;
  std::optional<Response> refused = co_await read_body(request, method.body, document);
  if (refused) co_return *std::move(refused);
  base::MemoryCharge charge(base::MemoryOwner::requests);
  charge.set(document.size());
  file::WaitingOptions options{.ends_with_task = true};
  if (method.changes_trees) {
    const auto look = [&] { return is_large(*dav, asked->path); };
    const std::optional<bool> large =
        co_await file::run_waiting(io::Engine::current(), look, options);
    if (!large) co_return http::error_response(503);
    options.takes_long = *large;
  }
  coro::StopState* const state = co_await coro::OwnStop();
  const file::StopFlag stop(method.changes_trees ? state : nullptr);
  asked->stop = &stop;
  const auto work = [&] { return answer_document(method, dav, document, *asked); };
  std::optional<Response> done = co_await file::run_waiting(io::Engine::current(), work, options);
  if (!done) co_return http::error_response(503);
  co_return *std::move(done);
}

Task<Response> call_handler(const Handler& handler, Request& request) {
  if (const Handler::Attempt* const attempt = handler.attempt()) {
    std::optional<Response> response = (*attempt)(request);
    if (response) co_return *std::move(response);
  }
  if (const Handler::Plain* const plain = handler.plain()) co_return (*plain)(request);
  ASSERT(handler.coroutine() != nullptr);
  Response response = co_await (*handler.coroutine())(request);
  co_return response;
}

Task<Response> put_dav(WebDavRef dav, std::shared_ptr<const Handler> store, Request& request) {
  const Result<DavRequest, Response> asked = understand(*dav, request, request.param("path"));
  if (!asked) co_return http::error_response(asked.error().status());
  const auto check = [&] { return check_put(dav, *asked); };
  std::optional<Result<std::string, Response>> checked =
      co_await file::run_waiting(io::Engine::current(), check);
  if (!checked) co_return http::error_response(503);
  if (!*checked) co_return std::move(checked->error());
  Response response = co_await call_handler(*store, request);
  const std::string& properties = **checked;
  if (response.status() / 100 == 2 && !properties.empty()) {
    const auto restore = [&] { return restore_properties(dav, *asked, properties); };
    const std::optional<std::string> tag =
        co_await file::run_waiting(io::Engine::current(), restore);
    if (tag && !tag->empty() && response.find("ETag")) response.replace("ETag", *tag);
  }
  co_return response;
}

std::string authenticated_user(const Request& request) {
  const auto* const user = request.attached<AuthenticatedUser>();
  return user != nullptr ? user->name : std::string();
}

Handler handler_of(const WebDavRef& dav, const DavMethod& method) {
  // answer_dav() takes its arguments by value. A coroutine lambda would refer to its captures.
  return Handler([dav, method](Request& request) { return answer_dav(dav, method, request); });
}

WebDavRef make_dav(std::shared_ptr<UploadDirectory> directory, const ManageOptions& options) {
  auto dav = std::make_shared<WebDav>();
  dav->directory = std::move(directory);
  dav->base = options.base;
  dav->uploads = options.uploads;
  dav->types = std::make_shared<const http::MediaTypes>();
  dav->user = &authenticated_user;
  return dav;
}

// RFC 4918, 10.1 and 18. Microsoft's clients look for MS-Author-Via.
Response options_response(const Request&) {
  Response response(200);
  response.add("DAV", "1, 2").add("MS-Author-Via", "DAV");
  response.add("Allow",
               "GET, HEAD, PUT, DELETE, OPTIONS, MOVE, COPY, MKCOL, PROPFIND, PROPPATCH, LOCK, "
               "UNLOCK");
  return response;
}

}  // namespace

Handler manage_delete(std::shared_ptr<UploadDirectory> directory, const ManageOptions& options) {
  return handler_of(make_dav(std::move(directory), options), delete_method);
}

Handler manage_move(std::shared_ptr<UploadDirectory> directory, const ManageOptions& options) {
  remove_abandoned_trees(*directory);
  return handler_of(make_dav(std::move(directory), options), move_method);
}

Handler manage_make_folder(std::shared_ptr<UploadDirectory> directory,
                           const ManageOptions& options) {
  return handler_of(make_dav(std::move(directory), options), mkcol_method);
}

void add_webdav_routes(Routes& reading, Routes& writing, const WebDavOptions& options) {
  if (options.put.empty() || options.put.duplex() != nullptr) {
    throw std::invalid_argument("WebDAV needs a handler for PUT that returns a response");
  }
  const WebDavRef dav =
      make_dav(options.directory, {.base = options.base, .uploads = options.uploads});
  remove_abandoned_trees(*options.directory);
  dav->types = options.types;
  if (options.user) dav->user = options.user;
  const std::string below = options.base + "/{path...}";
  for (const std::string& pattern : {options.base, below}) {
    reading.route({OPTIONS}, pattern, [](Request& request) { return options_response(request); });
    reading.route({PROPFIND}, pattern, handler_of(dav, propfind_method));
    for (const DavMethod& method : writing_methods) {
      writing.route({method.method}, pattern, handler_of(dav, method));
    }
  }
  const auto store = std::make_shared<const Handler>(options.put);
  writing.put(below, [dav, store](Request& request) { return put_dav(dav, store, request); });
  if (options.get) reading.get(below, *options.get);
}

}  // namespace h2server::content
