// What wins when an option is written in several places, and whether the outcome makes sense.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "libhotel/settings/registry.h"
#include "libhotel/settings/sections.h"

namespace hotel::settings {
namespace {

constexpr std::string_view kRetryStatuses = "failover.retry_on_statuses";
constexpr std::string_view kRateLimitKey = "failover_on_rate_limit";
constexpr std::array<std::string_view, 3> kBreakerLists = {
    "resilience.circuit_breaker.failure_on_statuses", "resilience.circuit_breaker.open_on_statuses",
    "resilience.circuit_breaker.neutral_on_statuses"};

const OptionWrite* FindWrite(const std::vector<OptionWrite>& writes, std::string_view path) {
  for (const OptionWrite& write : writes) {
    if (write.option->path == path) return &write;
  }
  return nullptr;
}

void Apply(const std::vector<OptionWrite>& writes, EngineSettings* settings) {
  for (const OptionWrite& write : writes) write.option->set(settings, write.value);
}

void CheckWrittenTwice(Reader* reader, const std::vector<OptionWrite>& flat,
                       const std::vector<OptionWrite>& dotted) {
  for (const OptionWrite& write : flat) {
    const OptionWrite* other = FindWrite(
        dotted, write.option->flat_key == kRateLimitKey ? kRetryStatuses : write.option->path);
    if (other == nullptr) continue;
    const bool flat_is_later = write.line > other->line;
    const OptionWrite& later = flat_is_later ? write : *other;
    const OptionWrite& earlier = flat_is_later ? *other : write;
    reader->Error(later.line, later.path,
                  fmt::format("is the same option as {} in line {}; keep one of them", earlier.path,
                              earlier.line));
  }
}

// An empty variable counts as not set: that is how a container file passes on what it was not
// given.
std::vector<OptionWrite> ReadEnvironment(Reader* reader) {
  std::vector<OptionWrite> writes;
  for (const Option& option : Options()) {
    if (option.env.empty()) continue;
    const std::optional<std::string> text = reader->env()(option.env);
    if (!text || text->empty()) continue;
    absl::StatusOr<OptionValue> value = ParseOption(option, *text, false);
    if (value.ok()) {
      writes.push_back({&option, *std::move(value), 0, std::string(option.env)});
    } else {
      reader->EnvError(option.env, ValueProblem({*text, *text}, value.status()));
    }
  }
  return writes;
}

std::string_view LastWord(std::string_view path) { return path.substr(path.rfind('.') + 1); }

// The first code or class that two sets share at the same specificity, "" if there is none.
std::string Overlap(const StatusSet& a, const StatusSet& b) {
  for (int code = 100; code <= 599; ++code) {
    if (a.ContainsExactly(code) && b.ContainsExactly(code)) return std::to_string(code);
  }
  for (int hundreds = 1; hundreds <= 5; ++hundreds) {
    if (a.ContainsClass(hundreds) && b.ContainsClass(hundreds)) {
      return std::to_string(hundreds) + "xx";
    }
  }
  return {};
}

const OptionWrite* LastWrite(const std::vector<const std::vector<OptionWrite>*>& sources,
                             std::string_view path) {
  const OptionWrite* last = nullptr;
  for (const std::vector<OptionWrite>* writes : sources) {
    if (const OptionWrite* write = FindWrite(*writes, path)) last = write;
  }
  return last;
}

void ErrorAt(Reader* reader, const OptionWrite& write, std::string message) {
  if (write.line == 0) {
    reader->EnvError(write.path, std::move(message));
  } else {
    reader->Error(write.line, write.path, std::move(message));
  }
}

// The three lists of the breaker must tell what a status means; an exact code beats a class, so
// only equals clash (decisions 2). Defaults do not overlap: some list was written.
void CheckBreakerLists(Reader* reader, const EngineSettings& settings,
                       const std::vector<const std::vector<OptionWrite>*>& sources) {
  for (std::size_t i = 0; i < kBreakerLists.size(); ++i) {
    for (std::size_t j = i + 1; j < kBreakerLists.size(); ++j) {
      const OptionWrite* a = LastWrite(sources, kBreakerLists[i]);
      const OptionWrite* b = LastWrite(sources, kBreakerLists[j]);
      if (a == nullptr && b == nullptr) continue;
      const std::string shared =
          Overlap(std::get<StatusSet>(FindOption(kBreakerLists[i])->get(settings)),
                  std::get<StatusSet>(FindOption(kBreakerLists[j])->get(settings)));
      if (shared.empty()) continue;
      const bool at_b = b != nullptr && (a == nullptr || b->line >= a->line);
      const OptionWrite* other = at_b ? a : b;
      ErrorAt(reader, at_b ? *b : *a,
              fmt::format("{} is in {} too{}; leave it in one list", shared,
                          LastWord(kBreakerLists[at_b ? i : j]),
                          other == nullptr ? ", which was not written here" : ""));
    }
  }
}

void CheckTimes(Reader* reader, const EngineSettings& settings,
                const std::vector<const std::vector<OptionWrite>*>& sources) {
  const TimeoutSettings& timeouts = settings.timeouts;
  const Duration attempt = timeouts.request_timeout * timeouts.long_factor;
  if (timeouts.ttft_timeout > attempt) {
    for (const char* path : {"timeouts.ttft_timeout", "timeouts.request_timeout"}) {
      const OptionWrite* write = LastWrite(sources, path);
      if (write == nullptr) continue;
      reader->Warn(write->line, write->path,
                   fmt::format("the wait for first output ({}) is longer than a whole streaming "
                               "attempt ({}) and never ends one",
                               FormatDuration(timeouts.ttft_timeout), FormatDuration(attempt)));
      break;
    }
  }
  const auto check_ceiling = [&](std::string_view initial_path, std::string_view max_path) {
    const OptionWrite* initial = LastWrite(sources, initial_path);
    const auto span = [&](std::string_view path) {
      return std::get<Duration>(FindOption(path)->get(settings));
    };
    if (initial == nullptr || span(initial_path) <= span(max_path)) return;
    reader->Warn(
        initial->line, initial->path,
        fmt::format("is above {} ({}), which caps it", max_path, FormatDuration(span(max_path))));
  };
  check_ceiling("failover.backoff.initial", "failover.backoff.max");
  check_ceiling("resilience.retry.initial_backoff", "resilience.retry.max_backoff");
}

}  // namespace

EngineSettings GlobalSettings(Reader* reader, std::size_t profile,
                              const std::vector<OptionWrite>& flat,
                              const std::vector<OptionWrite>& dotted) {
  CheckWrittenTwice(reader, flat, dotted);
  const std::vector<OptionWrite> environment = ReadEnvironment(reader);
  EngineSettings settings = ProfileDefaults(profile);
  const std::vector<const std::vector<OptionWrite>*> sources = {&flat, &dotted, &environment};
  for (const std::vector<OptionWrite>* writes : sources) Apply(*writes, &settings);
  CheckBreakerLists(reader, settings, sources);
  CheckTimes(reader, settings, sources);
  return settings;
}

EngineSettings ProviderSettings(Reader* reader, const EngineSettings& global,
                                const std::vector<OptionWrite>& own) {
  EngineSettings settings = global;
  Apply(own, &settings);
  CheckBreakerLists(reader, settings, {&own});
  CheckTimes(reader, settings, {&own});
  return settings;
}

}  // namespace hotel::settings
