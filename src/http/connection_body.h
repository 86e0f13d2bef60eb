// Gets what a response's body waits for: a piece of its source, or its file in the page cache.
#pragma once

#include "h2server/task.h"
#include "http/outgoing_body.h"
#include "io/engine.h"

namespace h2server::http {

// Marks the next part of the file as warm. Returns false if it is not in the page cache, or if the
// body does not wait for the page cache.
bool warm_at_once(OutgoingBody& body);

// Waits for what the body needs when next_size() is 0. Returns false if the body can't be
// completed.
Task<bool> pull(io::Engine& engine, OutgoingBody& body);

}  // namespace h2server::http
