// Routes of resumable uploads: tus 1.0.0 and draft-ietf-httpbis-resumable-upload on the same
// resources, told apart by Tus-Resumable.
//
//   POST /uploads          creates an upload
//   HEAD /uploads/{id}     its offset
//   PATCH /uploads/{id}    more of its bytes
//   DELETE /uploads/{id}   gives it up
//   GET /uploads/{id}      what it is, in JSON
//   OPTIONS of both        what the server can do
#pragma once

#include <memory>

#include "content/uploads/resumable/resumable_service.h"
#include "h2server/handler.h"
#include "h2server/routes.h"

namespace h2server::content {

// Requests that change something get 403 if a page of another origin made the browser send them.
// The returned service creates uploads that are addressed to other resources: resumable_create().
ResumableServiceRef add_resumable_routes(Routes& routes, std::shared_ptr<ResumableUploads> store,
                                         ResumableOptions options = {});

// For PUT of "/files/{path...}": a request with Upload-Complete creates an upload of that path, by
// the draft, since a part of a file must not be stored as the file. `otherwise` answers the others.
Handler resumable_put(ResumableServiceRef service, Handler otherwise);

}  // namespace h2server::content
