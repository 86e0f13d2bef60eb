// What clients and the operator are told when a store fails.
#pragma once

#include <expected>
#include <string_view>

#include "h2server/response.h"
#include "h2server/store.h"

namespace h2server::content {

// Returns the status for an error that is no answer about an object: 503 or 504 for what passes,
// 502 for what is the operator's to look at. Logs it, with the name if there is one.
int status_of_failure(const StoreError& error, std::string_view name = {});

// Says in a 503 when to try again.
void add_retry_after(const StoreError& error, Response& response);

// Of what was there: another replica has removed it, or a store of which a node is away does not
// find it. The client asks again, and learns it then.
StoreError or_busy(StoreError error);
// Returns true if the call that failed so may have been carried out.
bool may_be_done(const StoreError& error) noexcept;

// Returns an error of that kind.
std::unexpected<StoreError> refused(StoreError::Kind kind, std::string_view reason = {});

// The response to an upload for such an error.
Response refuse_store_error(const StoreError& error, std::string_view name = {});

}  // namespace h2server::content
