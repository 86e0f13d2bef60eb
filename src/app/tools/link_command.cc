#include "app/tools/link_command.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "app/options/options.h"
#include "app/tools/link_key.h"
#include "base/clock.h"
#include "base/host_map.h"
#include "base/memory/arena.h"
#include "base/text/text.h"
#include "config/values.h"
#include "content/names/markup.h"
#include "http/fields/target.h"

namespace h2server::app {

namespace {

constexpr std::string_view area = "/files/";
constexpr std::chrono::hours valid_max{24 * 3660};  // ten years

constexpr const char* link_help =
    "h2server link [--expires TIME] [--upload] PATH|URL\n"
    "Prints a link that needs no token, until it expires. PATH is a file's at the server, such as\n"
    "/files/a.pdf; one without a slash at its start is below /files. A link from a PATH is for\n"
    "the site without a name, one from a URL for its host.\n\n"
    "  --expires TIME  how long it is valid: 30m, 1h, 7d [1d]\n"
    "  --upload        for uploads to that folder, instead of downloads of that file\n\n"
    "The key is in the state directory of the user who runs the server. Run this as that user.\n";

// Percent-encodes what a user typed. The escapes that are there stay, so that a path may be copied
// from a browser.
std::string encoded(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    if (path.front() == '/') {
      text += '/';
      path.remove_prefix(1);
      continue;
    }
    if (base::decode_percent(path)) {
      text.append(path.substr(0, 3));
      path.remove_prefix(3);
      continue;
    }
    content::append_segment(text, path.substr(0, 1));
    path.remove_prefix(1);
  }
  return text;
}

// Returns where the path of a URL begins; 0 for a path. nullopt: neither.
std::optional<std::size_t> path_in(std::string_view target) {
  const std::size_t scheme = target.starts_with("https://")  ? 8
                             : target.starts_with("http://") ? 7
                                                             : 0;
  if (scheme == 0) return 0;
  const std::string_view authority = target.substr(scheme, target.find('/', scheme) - scheme);
  if (!http::parse_authority(authority)) return std::nullopt;
  return scheme + authority.size();
}

// Returns the host of what precedes the path of a URL, as LinkSigner takes it; empty for a path.
std::string host_in(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  if (scheme == origin.npos) return {};
  return base::lower_host_of(origin.substr(scheme + 3));
}

}  // namespace

Result<LinkOptions, std::string> parse_link_options(const std::vector<std::string>& arguments) {
  LinkOptions options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      options.help = true;
      return options;
    }
    if (argument == "--upload") {
      options.use = content::LinkUse::upload;
    } else if (argument == "--expires" || argument.starts_with("--expires=")) {
      const bool apart = argument == "--expires";
      if (apart && i + 1 == arguments.size()) return std::unexpected("--expires needs a time: 1h");
      const std::string_view text = apart ? std::string_view(arguments[++i]) : argument.substr(10);
      const auto time = config::read_duration(text);
      if (!time || *time < std::chrono::seconds(1) || *time > valid_max) {
        return std::unexpected(fmt::format(
            "--expires {}: not a time such as 30m, 1h or 7d, of at most ten years", text));
      }
      options.valid_for = std::chrono::duration_cast<std::chrono::seconds>(*time);
    } else if (argument.starts_with("--")) {
      return std::unexpected(fmt::format("unknown option {}; h2server link --help", argument));
    } else if (!options.target.empty()) {
      return std::unexpected("one path at a time; h2server link --help");
    } else {
      options.target = argument;
    }
  }
  if (options.target.empty()) return std::unexpected("say which path; h2server link --help");
  return options;
}

Result<std::string, std::string> make_link(const LinkOptions& options,
                                           const content::LinkSigner& signer, std::int64_t now_s) {
  const std::string_view target = options.target;
  const std::optional<std::size_t> begin = path_in(target);
  if (!begin || target.find_first_of("?#", *begin) != target.npos) {
    return std::unexpected(
        fmt::format("{} is neither a path nor a URL of http or https without a query", target));
  }
  std::string path(target.substr(*begin));
  if (*begin == 0 && !path.starts_with('/')) path.insert(0, area);
  if (path.empty()) path = "/";
  path = encoded(path);
  // As the server will read it.
  base::Arena arena;
  const std::optional<http::Target> parsed = http::parse_target(path, arena);
  if (!parsed)
    return std::unexpected(fmt::format("{} is not a path that can be asked for", target));
  const std::int64_t expires_s = now_s + options.valid_for.count();
  return fmt::format(
      "{}{}?{}", target.substr(0, *begin), path,
      signer.query_for(parsed->path, options.use, expires_s, host_in(target.substr(0, *begin))));
}

int run_link(int argc, char** argv) {
  const auto options = parse_link_options({argv + 1, argv + argc});
  if (!options) return report({exit_wrong_use, options.error()});
  if (options->help) return report({0, link_help});
  const auto key = open_link_key();
  if (!key) return report({exit_failed, key.error()});
  const auto link = make_link(*options, content::LinkSigner(*key), base::unix_seconds());
  if (!link) return report({exit_wrong_use, link.error()});
  return report({0, *link + '\n'});
}

}  // namespace h2server::app
