// The command that makes links which expire: h2server link.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "content/uploads/access/signed_links.h"
#include "h2server/result.h"

namespace h2server::app {

struct LinkOptions {
  std::string target;  // a path or a URL, without a query
  std::chrono::seconds valid_for{24 * 3600};
  content::LinkUse use = content::LinkUse::download;
  bool help = false;
};

// The error is a line for the operator.
Result<LinkOptions, std::string> parse_link_options(const std::vector<std::string>& arguments);

// Returns the link: the target, percent-encoded, with its query. A relative path is below /files.
// The error is that the target is not one.
Result<std::string, std::string> make_link(const LinkOptions& options,
                                           const content::LinkSigner& signer, std::int64_t now_s);

// h2server link [--expires TIME] [--upload] PATH: prints the link. The arguments begin with the
// command's name. Returns the exit status.
int run_link(int argc, char** argv);

}  // namespace h2server::app
