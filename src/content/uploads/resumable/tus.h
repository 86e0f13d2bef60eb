// Handlers of tus 1.0.0, https://tus.io/protocols/resumable-upload: core, creation,
// creation-with-upload, creation-defer-length, expiration, checksum, termination, concatenation.
//
// Each answers a request that has Tus-Resumable. Called by all workers concurrently. The parameter
// "id" of the path names the upload.
#pragma once

#include "content/uploads/resumable/resumable_service.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/task.h"

namespace h2server::content {

Task<Response> tus_post(ResumableServiceRef service, Request& request);
Task<Response> tus_head(ResumableServiceRef service, Request& request);
Task<Response> tus_patch(ResumableServiceRef service, Request& request);
Task<Response> tus_delete(ResumableServiceRef service, Request& request);

// Adds what OPTIONS says about tus.
void add_tus_abilities(Response& response, const ResumableService& service);

}  // namespace h2server::content
