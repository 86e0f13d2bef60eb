#include "server/worker_services.h"

#include <gtest/gtest.h>

#include "content/support.h"
#include "file/support.h"
#include "io/choose.h"
#include "server/context.h"

namespace h2server::server {
namespace worker_services_test {

TEST(Context, FilesAreLoadedFromTheRootOfTheThreadsEngine) {
  const tests::TemporaryDirectory directory;
  directory.write("sub/a.txt", "text");
  SharedContext shared;
  shared.root = *file::Folder::open(directory.path(), {.make_file = http::make_file});
  EXPECT_EQ(load_file_from_filecache("sub/a.txt"), nullptr) << "no engine";
  tests::on_a_new_thread([&] {
    const std::unique_ptr<io::Engine> engine = io::open_engine({io::EngineKind::epoll}).value();
    io::Engine::set_current(engine.get());
    EXPECT_EQ(load_file_from_filecache("sub/a.txt"), nullptr) << "no services yet";
    WorkerServices::add_to(*engine, shared);
    const FileRef file = load_file_from_filecache("sub/a.txt");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(tests::bytes_of(*file), "text");
    EXPECT_EQ(load_file_from_filecache("/sub/a.txt")->etag(), file->etag());
    for (const char* const path : {"", "sub", "gone", "../a.txt", "sub/../../x"}) {
      EXPECT_EQ(load_file_from_filecache(path), nullptr) << path;
    }
    shared.root = nullptr;
    EXPECT_EQ(load_file_from_filecache("sub/a.txt"), nullptr);
    io::Engine::set_current(nullptr);
  });
}

}  // namespace worker_services_test
}  // namespace h2server::server
