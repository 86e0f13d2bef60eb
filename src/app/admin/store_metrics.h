// Adds the metrics of stores to those of the server.
#pragma once

#include <string>

namespace h2server::app {

// `metrics` is the text of Server::metrics(). Returns it as it is if no store has been asked.
std::string with_store_metrics(std::string metrics);

}  // namespace h2server::app
