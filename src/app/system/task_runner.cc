#include "app/system/task_runner.h"

#include "io/mailbox.h"

namespace h2server::app {

Result<TaskRunner, std::string> TaskRunner::open() {
  Result<std::unique_ptr<io::EpollEngine>> engine = io::EpollEngine::open();
  if (!engine) return std::unexpected("can't start an engine: " + engine.error().message());
  io::Mailbox::add_to(**engine);
  return TaskRunner(*std::move(engine));
}

}  // namespace h2server::app
