#include "content/webdav/webdav_dead_properties.h"

#include <sys/xattr.h>

#include <cerrno>
#include <optional>

namespace h2server::content {

namespace {

constexpr const char* attribute = "user.h2server.webdav";

// Removes the text before the next NUL, and the NUL. Returns nullopt if there is none.
std::optional<std::string_view> take_text(std::string_view& rest) {
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view text = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return text;
}

}  // namespace

std::string read_raw_properties(int file) {
  std::string value(DeadPropertyLimits::bytes_max, '\0');
  const ssize_t size = ::fgetxattr(file, attribute, value.data(), value.size());
  // ENODATA: none. ENOTSUP: the file system has no attributes. ERANGE: not made by this program.
  if (size <= 0) return {};
  value.resize(static_cast<std::size_t>(size));
  return value;
}

Result<void, int> write_raw_properties(int file, std::string_view value) {
  if (value.size() > DeadPropertyLimits::bytes_max) return std::unexpected(ENOSPC);
  if (value.empty()) {
    if (::fremovexattr(file, attribute) == 0 || errno == ENODATA || errno == ENOTSUP) return {};
    return std::unexpected(errno);
  }
  if (::fsetxattr(file, attribute, value.data(), value.size(), 0) == 0) return {};
  // E2BIG and ERANGE: longer than this file system allows.
  return std::unexpected(errno == E2BIG || errno == ERANGE ? ENOSPC : errno);
}

// Each property is a namespace, a name and an element, none of which can hold a NUL.
std::vector<DeadProperty> read_dead_properties(int file) {
  std::vector<DeadProperty> properties;
  const std::string value = read_raw_properties(file);
  std::string_view rest = value;
  while (!rest.empty()) {
    const std::optional<std::string_view> space = take_text(rest);
    const std::optional<std::string_view> local = take_text(rest);
    const std::optional<std::string_view> element = take_text(rest);
    if (!element || local->empty()) break;  // not made by this program
    properties.push_back(
        {.name = {std::string(*space), std::string(*local)}, .element = std::string(*element)});
  }
  return properties;
}

Result<void, int> write_dead_properties(int file, const std::vector<DeadProperty>& properties) {
  std::string value;
  for (const DeadProperty& property : properties) {
    value.append(property.name.space) += '\0';
    value.append(property.name.local) += '\0';
    value.append(property.element) += '\0';
  }
  return write_raw_properties(file, value);
}

}  // namespace h2server::content
