// Options that change while a hotel runs, through the facade.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <unistd.h>

#include "hotel/hotel.h"
#include "hotel/testing/recorders.h"

#include "absl/status/status.h"
#include "tests/support/catch.h"

namespace {

using namespace hotel;
using namespace std::chrono_literals;

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hotel-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::unique_ptr<Hotel> Open(const std::string& data_dir, const std::string& config,
                            EventSink* events = nullptr) {
  Options options;
  options.data_dir = data_dir;
  options.config_text = config;
  options.master_key = Secret("a master key of more than thirty-two characters");
  options.events = events;
  auto hotel = Hotel::Open(std::move(options));
  if (!hotel.ok()) throw std::runtime_error(std::string(hotel.status().message()));
  return *std::move(hotel);
}

// Opens the circuit of a model with one failure when one is enough.
bool OneFailureOpens(Hotel& hotel, const std::string& model) {
  const CircuitKey key{"00000000-0000-4000-8000-000000000001", model, "acme"};
  const TimePoint now{1h};
  Permit permit = hotel.circuits().AcquireDirect(key, now);
  std::move(permit).Report({Verdict::kFailure, "upstream status 500", 500}, now);
  return hotel.circuits().Blocked(key, now).has_value();
}

TEST_CASE("Decisions 3: a change counts for what is decided after it, and outlives the process") {
  TempDir dir;
  {
    const auto hotel = Open(dir.path(), "");
    CHECK_FALSE(OneFailureOpens(*hotel, "a"));
    REQUIRE(hotel->settings().Put({{"circuit_breaker_threshold", "1"}}).ok());
    CHECK(OneFailureOpens(*hotel, "b"));
  }
  {
    const auto hotel = Open(dir.path(), "");
    CHECK(OneFailureOpens(*hotel, "a"));
    REQUIRE(hotel->settings().Reset({}).ok());
    CHECK_FALSE(OneFailureOpens(*hotel, "b"));
  }
  // What the file says is not changed at run time.
  const auto hotel = Open(dir.path(), "settings: {circuit_breaker_threshold: 3}\n");
  const absl::Status status = hotel->settings().Put({{"circuit_breaker_threshold", "1"}});
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK(std::string(status.message()).find("is pinned by <config>:1") != std::string::npos);
  CHECK_FALSE(OneFailureOpens(*hotel, "a"));
}

TEST_CASE("A stored option that no longer fits the file is told and left out") {
  TempDir dir;
  {
    const auto hotel = Open(dir.path(), "");
    REQUIRE(
        hotel->settings().Put({{"circuit_breaker_span_models", "4"}, {"ttft_timeout", "7s"}}).ok());
  }
  hotel::testing::RecordingEvents events;
  const auto hotel =
      Open(dir.path(), "resilience: {circuit_breaker: {scope: provider}}\n", &events);
  REQUIRE(events.events.size() == 1);
  CHECK(events.events[0].type == "settings.ignored");
  CHECK(events.events[0].severity == Event::Severity::kWarning);
  CHECK(std::get<std::string>(events.events[0].metadata[0].second) ==
        "resilience.circuit_breaker.span_models");
  CHECK(hotel->settings().Current()->global.timeouts.ttft_timeout == 7s);
}

TEST_CASE("Virtual models given in code are checked with those of the file") {
  const auto problem = [](VirtualModelSpec spec) {
    Options options;
    options.config_text =
        "providers:\n"
        "  acme: {type: openai}\n"
        "virtual_models: [{source: s, targets: [{model: acme/a}]}]\n";
    TempDir dir;
    options.data_dir = dir.path();
    options.master_key = Secret("a master key of more than thirty-two characters");
    options.virtual_models.push_back(std::move(spec));
    auto hotel = Hotel::Open(std::move(options));
    return hotel.ok() ? std::string() : std::string(hotel.status().message());
  };
  using Strategy = VirtualModelSpec::Strategy;
  CHECK(problem({"t", Strategy::kFailover, {{"s", "", 1}, {"b", "acme", 1}}}) == "");
  CHECK(problem({"s", Strategy::kFailover, {{"acme/b", "", 1}}}) ==
        "virtual_models[1] \"s\": is the source of another virtual model too; choose another name");
  CHECK(problem({"t", Strategy::kFailover, {{"acne/b", "", 1}}}) ==
        "virtual_models[1] \"t\": \"acne/b\" is not <provider>/<model> of a known provider");
  CHECK(problem({"t", Strategy::kFailover, {{"u", "", 1}}}) ==
        "virtual_models[1] \"t\": \"u\" is not <provider>/<model> of a known provider");
}

}  // namespace
