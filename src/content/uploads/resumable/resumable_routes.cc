#include "content/uploads/resumable/resumable_routes.h"

#include <optional>
#include <string>
#include <utility>

#include "content/storage/upload_path.h"
#include "content/storage/upload_refusals.h"
#include "content/uploads/area/upload_kind.h"
#include "content/uploads/resumable/resumable.h"
#include "content/uploads/resumable/tus.h"
#include "h2server/query.h"
#include "http/answer.h"
#include "http/message.h"
#include "http/middleware/cross_site.h"

namespace h2server::content {

namespace {

using Answer = Task<Response> (*)(ResumableServiceRef, Request&);

Task<Response> forbid() { co_return http::error_response(403); }

Task<Response> refuse_task(int status, std::string_view text) {
  co_return refuse_upload(status, text);
}

UploadKind kind_of(const ResumableService& service, const Request& request) {
  return kind_of_upload(request, service.options.base);
}

bool speaks_tus(const ResumableService& service, const Request& request) {
  return kind_of(service, request).protocol == UploadProtocol::tus;
}

Task<Response> post(ResumableServiceRef service, Request& request) {
  if (kind_of(*service, request).act != UploadAct::create) {
    return refuse_task(400, "an upload begins with Tus-Resumable or Upload-Complete");
  }
  return speaks_tus(*service, request) ? tus_post(std::move(service), request)
                                       : resumable_create(std::move(service), request, {});
}

Task<Response> head(ResumableServiceRef service, Request& request) {
  return speaks_tus(*service, request) ? tus_head(std::move(service), request)
                                       : resumable_head(std::move(service), request);
}

Task<Response> patch(ResumableServiceRef service, Request& request) {
  return speaks_tus(*service, request) ? tus_patch(std::move(service), request)
                                       : resumable_patch(std::move(service), request);
}

Task<Response> remove(ResumableServiceRef service, Request& request) {
  return speaks_tus(*service, request) ? tus_delete(std::move(service), request)
                                       : delete_upload(std::move(service), request);
}

Task<Response> get(ResumableServiceRef service, Request& request) {
  const std::string id(request.param("id"));
  Result<PendingStatus, Response> status = co_await service->store->status(id);
  if (!status) co_return std::move(status.error());
  co_return describe_upload(*service, id, *status);
}

Task<Response> post_to_upload(ResumableServiceRef service, Request& request) {
  const UploadAct act = kind_of(*service, request).act;
  if (act == UploadAct::append) return patch(std::move(service), request);
  if (act == UploadAct::remove) return remove(std::move(service), request);
  return refuse_task(405, "an upload is continued with PATCH");
}

// A plain function makes the task, so that the handler has no captures that a coroutine refers to.
Handler reading(ResumableServiceRef service, Answer answer) {
  return Handler([service = std::move(service), answer](Request& request) {
    return answer(service, request);
  });
}

Handler changing(ResumableServiceRef service, Answer answer) {
  return Handler([service = std::move(service), answer](Request& request) {
    return http::is_cross_site(request.head()) ? forbid() : answer(service, request);
  });
}

Handler abilities(ResumableServiceRef service, std::string allowed) {
  return Handler([service = std::move(service), allowed = std::move(allowed)](Request&) {
    Response response = Response::no_content();
    response.add("Allow", allowed);
    add_tus_abilities(response, *service);
    add_resumable_abilities(response, *service);
    return response;
  });
}

Task<Response> create_at_path(ResumableServiceRef service, Request& request) {
  const bool folders = service->store->options().folders;
  std::optional<std::string> name = safe_upload_path(request.param("path"), folders);
  if (!name) co_return refuse_upload(400, "not a file name that can be stored");
  // A link may be good for that path only.
  if (request.query_parameters().find("name")) {
    co_return refuse_upload(400, "the path of a PUT names the file");
  }
  // They would have to hold when the upload ends, maybe with another request.
  for (const std::string_view field : {"if-match", "if-none-match", "if-unmodified-since"}) {
    if (request.field(field)) co_return refuse_upload(400, "a resumable PUT has no preconditions");
  }
  Response response = co_await resumable_create(service, request, *std::move(name));
  co_return response;
}

Task<Response> at_once(Response response) { co_return response; }

}  // namespace

Handler resumable_put(ResumableServiceRef service, Handler otherwise) {
  return Handler([service = std::move(service),
                  otherwise = std::move(otherwise)](Request& request) -> Task<Response> {
    if (kind_of(*service, request) == UploadKind{UploadProtocol::draft, UploadAct::create}) {
      return http::is_cross_site(request.head()) ? forbid() : create_at_path(service, request);
    }
    std::optional<Response> response = http::answer_at_once(otherwise, request);
    return response ? at_once(*std::move(response)) : (*otherwise.coroutine())(request);
  });
}

ResumableServiceRef add_resumable_routes(Routes& routes, std::shared_ptr<ResumableUploads> store,
                                         ResumableOptions options) {
  auto service = std::make_shared<ResumableService>(std::move(store), std::move(options));
  const std::string& base = service->options.base;
  const std::string one = base + "/{id}";
  routes.post(base, changing(service, post));
  routes.route({OPTIONS}, base, abilities(service, "POST, OPTIONS"));
  routes.get(one, reading(service, get));
  routes.route({HEAD}, one, reading(service, head));
  routes.patch(one, changing(service, patch));
  routes.del(one, changing(service, remove));
  routes.post(one, changing(service, post_to_upload));
  routes.route({OPTIONS}, one, abilities(service, "GET, HEAD, POST, PATCH, DELETE, OPTIONS"));
  return service;
}

}  // namespace h2server::content
