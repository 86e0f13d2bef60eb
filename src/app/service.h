// Service: the program while it serves. Makes a generation of the configuration, and waits for
// signals: SIGINT and SIGTERM end it, SIGHUP reads the configuration anew, SIGUSR1 prints the load,
// SIGUSR2 starts the successor. If the path of a served folder leads to another one, it makes the
// next generation of the same configuration.
//
// The main thread's.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/acme/acme_challenges.h"
#include "app/console.h"
#include "app/generation.h"
#include "app/listening_sockets.h"
#include "app/system/folder_watch.h"
#include "app/system/pid_file.h"
#include "app/system/service_manager.h"
#include "app/upgrade.h"
#include "base/fd.h"

namespace h2server::app {

class Service {
 public:
  // `argv` is main()'s.
  Service(int argc, char** argv);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service();

  // Returns the exit status.
  int run();

 private:
  // One that ends; a thread waits for it.
  struct Ending {
    std::unique_ptr<Generation> generation;
    std::thread waiting = {};
    std::atomic<bool> ended{false};
    bool left_behind = false;  // written before `ended`
  };

  Result<void, Stop> begin();
  Result<void, Stop> adopt_sockets();
  Result<Credentials, Stop> prepare_while_alive(config::Configuration& configuration);
  Result<std::unique_ptr<Generation>, Stop> make_generation(config::Configuration configuration);
  std::unique_ptr<Generation> replace_current(std::unique_ptr<Generation> next);
  void watch_folders();
  void show_start(std::uint16_t wanted_port);
  void start_console();

  void serve_until_ended();
  void handle(int signal);
  [[nodiscard]] int wait_ms() const;
  void reload();
  void open_replaced();
  // Returns its time.
  std::int64_t begin_reload();
  [[nodiscard]] bool is_reload_wanted() const noexcept {
    return reload_asked_ || !replaced_folder_.empty();
  }
  Result<void, Stop> serve_next(Result<config::Configuration, Stop> configuration);
  void move_pid_file(const std::string& before);
  void show_new_tokens(const std::vector<ShownToken>& known) const;
  void reopen_logs();
  void print_report();
  void upgrade();
  void end_upgrade();
  void go_on();
  void tell_alive();
  [[nodiscard]] std::string describe_state() const;
  [[nodiscard]] bool delay_stop();
  void stop();
  // Its server has been told to end.
  void await_end(std::unique_ptr<Generation> generation);
  void take_ended();

  const int argc_;
  char** const argv_;
  const ProgramStart program_;
  ServiceManager manager_;
  base::Fd signals_;       // a signalfd
  base::Fd end_arrived_;   // an eventfd: one of `ending_` has ended
  Inheritance inherited_;  // to the end: a predecessor takes the end of the pipe for that
  ListeningSockets sockets_;
  PidFile pid_file_;
  std::unique_ptr<Console> console_;
  std::string url_for_others_;
  AcmeChallenges acme_challenges_;       // of all generations
  std::mutex current_mutex_;             // for the console, which asks `current_` for its load
  std::unique_ptr<Generation> current_;  // null while the program ends
  std::list<Ending> ending_;
  // What making a generation changes of its configuration, as it was read.
  struct AsRead {
    ServerOptions server;
    std::vector<config::Listener> listeners;
  };
  AsRead as_read_;  // of current_
  FolderWatch folder_watch_;
  std::string replaced_folder_;  // empty: none
  bool reload_asked_ = false;
  std::int64_t reload_from_ms_ = 0;  // the next one not before
  std::optional<Successor> successor_;
  std::int64_t successor_due_ms_ = 0;
  std::int64_t stop_due_ms_ = 0;   // of --shutdown-delay; 0: it is not to stop
  std::int64_t alive_due_ms_ = 0;  // for the service manager's watchdog
  // The workers that have not answered yet whether they run; null: none was asked.
  std::shared_ptr<std::atomic<unsigned>> silent_workers_;
  int status_ = 0;            // of the exit
  bool left_behind_ = false;  // threads run that use what would be destroyed
};

}  // namespace h2server::app
