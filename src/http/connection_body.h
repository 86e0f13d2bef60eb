// What a response's body waits for: its source, or its file in the page cache.
#pragma once

#include "h2server/task.h"
#include "http/outgoing_body.h"
#include "io/engine.h"

namespace h2server::http {

// Marks as warm what is in the page cache already. False: that is not it, or not so.
bool warm_at_once(OutgoingBody& body);

// Gets what the body waits for, once next_size() is 0. False: it can't be completed.
Task<bool> pull(io::Engine& engine, OutgoingBody& body);

}  // namespace h2server::http
