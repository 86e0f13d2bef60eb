// PutState: which upload at the server a file's earlier run began, so that a later one goes on with
// it. A small file of the state directory for each upload under way.
//
// For one thread. Blocks on the disk. Without a place for it, nothing is remembered.
#pragma once

#include <string>
#include <string_view>

namespace h2server::app {

class PutState {
 public:
  // `directory` need not exist; empty: none. `key` names the URL, the file and its name there.
  PutState(std::string directory, std::string_view key);

  // Returns the URL of the upload, or an empty string.
  [[nodiscard]] std::string load() const;
  void save(const std::string& url);
  void forget();

 private:
  std::string file_;  // empty: none
};

// Returns the directory for these files, or an empty string if the user has no home.
std::string put_state_directory();

}  // namespace h2server::app
