// What the command line says about schemes, engines and implementations.
#pragma once

#include <map>
#include <string>

#include "h2server/options.h"

namespace h2server::app {

std::map<std::string, ServerScheme> scheme_names();
std::map<std::string, IoEngine> engine_names();
std::map<std::string, Http2Implementation> http2_names();
std::map<std::string, TlsRecordLayer> tls_record_layer_names();

// Returns the text of --scheme help.
std::string scheme_table();

}  // namespace h2server::app
