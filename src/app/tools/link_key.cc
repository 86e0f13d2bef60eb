#include "app/tools/link_key.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "app/system/state_directory.h"
#include "base/random.h"
#include "base/text/text.h"
#include "content/storage/file_digest.h"
#include "file/whole_file.h"
#include "net/certs/folder_lock.h"
#include "net/certs/new_file.h"

namespace h2server::app {

namespace {

using LinkKey = content::LinkSigner::Key;

constexpr std::size_t key_file_bytes_max = 4096;

LinkKey make_key() {
  LinkKey key{};
  for (std::size_t i = 0; i < key.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t number = base::random_number();
    std::memcpy(&key[i], &number, sizeof(number));
  }
  return key;
}

// Returns false unless `text` is the digits of a key and a line end.
bool read_key(std::string_view text, LinkKey& key) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() != 2 * key.size()) return false;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const int high = base::hex_digit(text[2 * i]);
    const int low = base::hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    key[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return true;
}

}  // namespace

Result<LinkKey, std::string> open_link_key_in(const std::string& directory) {
  const std::string file = directory + "/link.key";
  const base::Fd locked = net::lock_folder_of(file);
  const Result<std::string, int> text = file::read_whole_file(file, key_file_bytes_max);
  LinkKey key{};
  if (text) {
    if (read_key(*text, key)) return key;
    return std::unexpected(fmt::format(
        "{} is not a key of h2server; remove it to make a new one, which ends all links", file));
  }
  int error = text.error();
  if (error == ENOENT) {
    key = make_key();
    error = net::write_unfinished(file, content::hex_digits(key) + '\n', 0600);
    if (error == 0) error = net::publish(file);
    if (error == 0) return key;
  }
  return std::unexpected(
      fmt::format("can't keep the key of links in {}: {}", file, std::strerror(error)));
}

Result<LinkKey, std::string> open_link_key() {
  const Result<std::string, std::string> directory = state_directory();
  if (!directory) return std::unexpected(directory.error());
  return open_link_key_in(*directory);
}

}  // namespace h2server::app
