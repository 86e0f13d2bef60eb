#include "app/put/put_state.h"

#include <unistd.h>

#include <utility>

#include "app/system/state_directory.h"
#include "content/storage/file_digest.h"
#include "file/whole_file.h"
#include "net/certs/new_file.h"
#include "net/crypto/tls_sha256.h"

namespace h2server::app {

namespace {

constexpr std::size_t url_bytes_max = 8192;

}  // namespace

PutState::PutState(std::string directory, std::string_view key) {
  if (!directory.empty()) {
    file_ = std::move(directory) + '/' + content::hex_digits(net::sha256(key));
  }
}

std::string PutState::load() const {
  if (file_.empty()) return {};
  Result<std::string, int> text = file::read_whole_file(file_, url_bytes_max);
  if (!text || !text->ends_with('\n')) return {};
  text->pop_back();
  return *std::move(text);
}

// A signed link's query may be in the URL, so it is only this user's. What can't be kept is only
// missed by a later run.
void PutState::save(const std::string& url) {
  if (file_.empty() || net::write_unfinished(file_, url + '\n', 0600) != 0) return;
  static_cast<void>(net::publish_over(file_));
}

void PutState::forget() {
  if (!file_.empty()) ::unlink(file_.c_str());
}

std::string put_state_directory() {
  const auto state = state_directory();
  return state ? *state + "/put" : std::string();
}

}  // namespace h2server::app
