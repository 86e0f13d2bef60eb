// The key that signs links which expire: a file of the state directory, for this user's eyes only.
#pragma once

#include <string>

#include "content/uploads/access/signed_links.h"
#include "h2server/result.h"

namespace h2server::app {

// Reads the key of the state directory, or makes it (0600) if there is none yet. The error is a
// line for the operator. Blocks on the disk.
Result<content::LinkSigner::Key, std::string> open_link_key();

// The same with a directory that exists.
Result<content::LinkSigner::Key, std::string> open_link_key_in(const std::string& directory);

}  // namespace h2server::app
