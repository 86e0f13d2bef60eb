#include "server/context.h"

#include "h2server/file.h"

namespace h2server {

namespace server {

namespace {

struct Root final : io::EngineLocal {
  explicit Root(const file::Folder* of_server) : folder(of_server) {}
  const file::Folder* const folder;
};

constexpr char root_key = 0;  // its address is the key

const file::Folder* own_root() {
  const io::Engine* const engine = io::Engine::current();
  if (engine == nullptr) return nullptr;
  const auto* const root = static_cast<const Root*>(engine->local(&root_key));
  return root != nullptr ? root->folder : nullptr;
}

}  // namespace

void set_root(io::Engine& engine, const file::Folder* root) {
  engine.set_local(&root_key, std::make_unique<Root>(root));
}

}  // namespace server

FileRef load_file_from_filecache(std::string_view path) {
  const file::Folder* const root = server::own_root();
  return root != nullptr ? root->find_now(path).file : nullptr;
}

}  // namespace h2server
