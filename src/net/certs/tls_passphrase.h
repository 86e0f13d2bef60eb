// Passphrase: asks for the passphrase of an encrypted key file.
#pragma once

#include <functional>
#include <string>

#include "h2server/result.h"

namespace h2server::net {

// Returns the passphrase, or the reason why there is none.
using Passphrase = std::function<Result<std::string, std::string>(const std::string& key_file)>;

}  // namespace h2server::net
