#include "app/put/put_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "app/put/upload_client.h"
#include "base/text/text.h"
#include "content/names/markup.h"
#include "content/storage/upload_path.h"
#include "h2server/query.h"

namespace h2server::app {

namespace {

constexpr std::string_view uploads_path = "/files";
constexpr std::string_view resumable = "/uploads";

std::string decoded(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    const std::optional<char> byte = base::decode_percent(path);
    text += byte.value_or(path.front());
    path.remove_prefix(byte ? 3 : 1);
  }
  return text;
}

// Moves "token=" from the query to the token: a field does not show in logs.
void take_token(PutTarget& target, std::string_view query) {
  while (!query.empty()) {
    const std::string_view item = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(item.size() + 1, query.size()));
    if (item.starts_with("token=")) {
      target.token = Parameters(item).find("token").value_or("");
    } else if (!item.empty()) {
      target.query.append(target.query.empty() ? "" : "&").append(item);
    }
  }
}

}  // namespace

Result<PutTarget, std::string> PutTarget::parse(const std::string& url) {
  const std::optional<UrlParts> parts = split_url(url);
  if (!parts || (!url.starts_with("http://") && !url.starts_with("https://"))) {
    return std::unexpected(fmt::format("{} is not a URL of http or https", url));
  }
  PutTarget target;
  target.origin = parts->origin;
  take_token(target, parts->query);
  std::string path = parts->path;
  while (path.ends_with('/')) path.pop_back();
  const std::string at_root = target.origin + std::string(resumable);
  if (path.empty() || path == resumable || content::is_at_or_below(path, uploads_path)) {
    target.creators.push_back(at_root);
    if (path != resumable) target.creators.push_back(target.origin + parts->path);
    if (!content::is_at_or_below(path, uploads_path)) path = uploads_path;
    std::string_view below = std::string_view(path).substr(uploads_path.size());
    if (below.starts_with('/')) below.remove_prefix(1);
    target.name_prefix = decoded(below);
    if (!below.empty()) target.name_prefix += '/';
  } else if (path.ends_with(resumable)) {
    target.creators.push_back(target.origin + parts->path);
    path.resize(path.size() - resumable.size());
    path += uploads_path;
  } else {
    target.creators.push_back(target.origin + path + std::string(resumable));
    target.creators.push_back(target.origin + parts->path);
  }
  target.folder = target.origin + path + '/';
  return target;
}

std::string PutTarget::file_url(std::string_view name) const {
  std::string url = folder;
  for (;;) {
    const std::string_view segment = name.substr(0, name.find('/'));
    content::append_segment(url, segment);
    if (segment.size() == name.size()) return with_query(std::move(url));
    name.remove_prefix(segment.size() + 1);
    url += '/';
  }
}

std::string PutTarget::with_query(std::string url) const {
  if (query.empty() || url.contains('?') || !is_own(url)) return url;
  return std::move(url) + '?' + query;
}

bool PutTarget::is_own(std::string_view url) const { return url.starts_with(origin + '/'); }

}  // namespace h2server::app
