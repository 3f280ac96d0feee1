// What the simulated provider knows: its models, how often each was asked, the last request.
#ifndef HOTEL_SERVER_SIM_SIM_H_
#define HOTEL_SERVER_SIM_SIM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "server/sim/answers.h"
#include "server/sim/behaviour.h"
#include "server/sim/http_request.h"
#include "server/sim/script.h"

namespace hotel::sim {

/// Counters since the start or the last POST /reset, but for the two that say how it is now.
struct Stats {
  std::uint64_t connections = 0;
  std::uint64_t open_connections = 0;  ///< now
  std::uint64_t max_open_connections = 0;
  std::uint64_t requests = 0;               ///< for an answer; GETs and resets are not counted
  std::uint64_t running = 0;                ///< answers now
  std::uint64_t answered = 0;               ///< whole answers, errors included
  std::uint64_t broken = 0;                 ///< cut or reset on purpose
  std::uint64_t cut_by_client = 0;          ///< the client left before the end
  std::uint64_t streams_cut_by_client = 0;  ///< those of them that were streams
  std::uint64_t bytes_in = 0;
  std::map<int, std::uint64_t> statuses;  ///< of the answers that were begun, before any fault
};

class Sim {
 public:
  /// `aliases`: model name -> behaviour, both checked by the caller.
  explicit Sim(std::map<std::string, std::string> aliases, TimePoint now);

  /// Takes one request. Returns the answer as a script, or nullopt when it wrote a whole answer to
  /// `out` itself.
  std::optional<Script> Handle(HttpRequest request, TimePoint now, std::string* out);

  Stats& stats() { return stats_; }

 private:
  /// What is kept of one (path, model). Schedules count here.
  struct Model {
    std::shared_ptr<const Plan> plan;  ///< null: the name is in no table
    std::string model_json;
    std::uint64_t requests = 0;
  };
  /// Answers that run at one path; what a ceiling refuses does not count.
  struct Load {
    std::uint64_t running = 0;
    std::uint64_t most = 0;
  };
  std::optional<Script> Answer(Dialect dialect, HttpRequest request, TimePoint now,
                               std::string* out);
  Model& Find(const std::string& path, const std::string& model);
  std::shared_ptr<Load> LoadOf(const std::string& path);
  std::string Models() const;
  std::string StatsJson() const;
  std::string LastJson() const;
  void Reset(TimePoint now);

  std::map<std::string, std::string> aliases_;
  std::unordered_map<std::string, Model> models_;
  std::unordered_map<std::string, std::shared_ptr<Load>> loads_;
  std::shared_ptr<const Plan> wrong_key_;
  Stats stats_;
  HttpRequest last_;
  TimePoint started_;
};

}  // namespace hotel::sim

#endif  // HOTEL_SERVER_SIM_SIM_H_
