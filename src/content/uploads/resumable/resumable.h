// Handlers of draft-ietf-httpbis-resumable-upload ("Resumable Uploads for HTTP"), interop version
// 8. Versions 5 to 7 differ little.
//
// Called by all workers concurrently. The parameter "id" of the path names the upload.
#pragma once

#include <string>

#include "content/uploads/resumable/resumable_service.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/task.h"

namespace h2server::content {

// Creates an upload. The file is called `name`; if that is empty, as the query's "name" or
// Content-Disposition say, or as the upload's id.
Task<Response> resumable_create(ResumableServiceRef service, Request& request, std::string name);
Task<Response> resumable_head(ResumableServiceRef service, Request& request);
Task<Response> resumable_patch(ResumableServiceRef service, Request& request);

// Adds what OPTIONS says about it.
void add_resumable_abilities(Response& response, const ResumableService& service);

}  // namespace h2server::content
