#include "libhotel/settings/layered_settings.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include <fmt/format.h>

#include "libhotel/base/strings.h"
#include "libhotel/settings/config.h"
#include "libhotel/settings/reader.h"

namespace hotel::settings {
namespace {

// An option as a caller names it: by its path, by its path without "resilience.", by its flat key.
struct Named {
  const Option* option = nullptr;
  bool flat = false;
};

Named FindNamed(std::string_view name) {
  if (const Option* option = FindOption(name)) return {option, false};
  if (const Option* option = FindOption(fmt::format("resilience.{}", name))) return {option, false};
  return {FindFlatOption(name), true};
}

std::vector<std::string> AllNames() {
  std::vector<std::string> names;
  for (const Option& option : Options()) {
    if (!option.path.empty()) names.emplace_back(option.path);
    if (!option.flat_key.empty()) names.emplace_back(option.flat_key);
  }
  return names;
}

std::string UnknownName(std::string_view name) {
  const std::vector<std::string> names = AllNames();
  const std::string_view near = Nearest(name, names);
  return near.empty() ? "is no option"
                      : fmt::format("is no option; did you mean {}?", Quoted(near));
}

absl::StatusOr<OptionWrite> ParseNamed(std::string_view name, std::string_view text) {
  const Named named = FindNamed(name);
  if (named.option == nullptr) return absl::InvalidArgumentError(UnknownName(name));
  if (text.size() > LiveSettings::kMaxValueBytes) {
    return absl::InvalidArgumentError(
        fmt::format("is longer than {} bytes", LiveSettings::kMaxValueBytes));
  }
  const std::string value(base::Trim(text));
  absl::StatusOr<OptionValue> parsed = ParseOption(*named.option, value, named.flat);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(ValueProblem({value, value}, parsed.status()));
  }
  return OptionWrite{named.option, *std::move(parsed), 0, std::string(name),
                     OptionWrite::Where::kRuntime};
}

std::string PinText(const OptionWrite& pin, const std::string& file) {
  return pin.where == OptionWrite::Where::kFile
             ? fmt::format("is pinned by {}:{} ({}); change it there", file, pin.line, pin.path)
             : fmt::format("is pinned by the environment variable {}; change it there", pin.path);
}

std::string ProblemText(const Problem& problem, const std::string& file) {
  const OptionWrite& at = problem.at;
  return at.where == OptionWrite::Where::kFile
             ? fmt::format("{}:{}: {}: {}", file, at.line, at.path, problem.message)
             : fmt::format("{}: {}", at.path, problem.message);
}

void AddLine(std::string* text, const std::string& line) {
  if (!text->empty()) *text += '\n';
  *text += line;
}

void Forget(const Option& option, std::vector<OptionWrite>* writes) {
  writes->erase(
      std::remove_if(writes->begin(), writes->end(),
                     [&](const OptionWrite& write) { return SameThing(*write.option, option); }),
      writes->end());
}

// Takes out the values set at run time that `problem` is about; false when there are none.
bool TakeOut(const Problem& problem, const std::string& file, std::vector<OptionWrite>* runtime,
             std::vector<IgnoredSetting>* ignored) {
  const auto about = [&](const OptionWrite& write) {
    return std::any_of(problem.options.begin(), problem.options.end(), [&](std::string_view path) {
      return SameThing(*write.option, *FindOption(path));
    });
  };
  const auto first = std::stable_partition(runtime->begin(), runtime->end(), std::not_fn(about));
  if (first == runtime->end()) return false;
  for (auto it = first; it != runtime->end(); ++it) {
    ignored->push_back({it->path, ProblemText(problem, file)});
  }
  runtime->erase(first, runtime->end());
  return true;
}

void TakeOutProblems(Layers* layers, std::vector<IgnoredSetting>* ignored) {
  bool again = true;
  while (again) {
    again = false;
    for (const Problem& problem : CheckLayers(*layers, Merge(*layers))) {
      if (problem.warning) continue;
      again = TakeOut(problem, layers->file, &layers->runtime, ignored);
      if (again) break;
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<LayeredSettings>> LayeredSettings::Open(
    Layers layers, SettingsStore* store, std::vector<IgnoredSetting>* ignored) {
  absl::StatusOr<std::vector<StoredSetting>> rows = store->ReadSettings();
  if (!rows.ok()) return rows.status();
  std::map<std::string, const Option*, std::less<>> stored;
  for (const StoredSetting& row : *rows) {
    absl::StatusOr<OptionWrite> write = ParseNamed(row.key, row.value);
    stored[row.key] = FindNamed(row.key).option;
    const bool twice = write.ok() && std::any_of(layers.runtime.begin(), layers.runtime.end(),
                                                 [&write](const OptionWrite& other) {
                                                   return SameThing(*other.option, *write->option);
                                                 });
    if (!write.ok()) {
      ignored->push_back({row.key, std::string(write.status().message())});
    } else if (twice) {
      ignored->push_back({row.key, "is stored under another name too"});
    } else {
      layers.runtime.push_back(*std::move(write));
    }
  }
  TakeOutProblems(&layers, ignored);
  std::unique_ptr<LayeredSettings> settings(new LayeredSettings(std::move(layers), store));
  base::MutexLock lock(&settings->writer_mutex_);
  settings->stored_ = std::move(stored);
  return settings;
}

LayeredSettings::LayeredSettings(Layers layers, SettingsStore* store) : store_(store) {
  Publish(std::move(layers));
}

std::shared_ptr<const LayeredSettings::State> LayeredSettings::Snapshot() const noexcept {
  base::MutexLock lock(&state_mutex_);
  return state_;
}

std::shared_ptr<const Settings> LayeredSettings::Current() const noexcept {
  std::shared_ptr<const State> state = Snapshot();
  const Settings* settings = &state->settings;
  return {std::move(state), settings};
}

void LayeredSettings::Publish(Layers layers) {
  auto next = std::make_shared<State>();
  next->settings = Merge(layers);
  next->layers = std::move(layers);
  std::shared_ptr<const State> old = std::move(next);
  {
    base::MutexLock lock(&state_mutex_);
    state_.swap(old);
    generation_.fetch_add(1, std::memory_order_release);
  }
  // The old state dies here, outside of the lock that readers take.
}

absl::Status LayeredSettings::Commit(Layers layers, const std::vector<StoredSetting>& put,
                                     const std::vector<std::string>& erase) {
  if (absl::Status status = store_->WriteSettings(put, erase); !status.ok()) return status;
  for (const std::string& key : erase) stored_.erase(key);
  for (const StoredSetting& row : put) stored_[row.key] = FindNamed(row.key).option;
  Publish(std::move(layers));
  return absl::OkStatus();
}

std::vector<std::string> LayeredSettings::StoredKeys(const Option& option) const {
  std::vector<std::string> keys;
  for (const auto& [key, stored] : stored_) {
    if (stored != nullptr && SameThing(*stored, option)) keys.push_back(key);
  }
  return keys;
}

absl::Status LayeredSettings::Put(const std::vector<std::pair<std::string, std::string>>& values) {
  absl::Status status;
  {
    base::MutexLock lock(&writer_mutex_);
    status = PutLocked(values);
  }
  if (status.ok() && on_change_) on_change_();
  return status;
}

absl::Status LayeredSettings::PutLocked(
    const std::vector<std::pair<std::string, std::string>>& values) {
  if (values.size() > kMaxKeysPerCall) {
    return absl::InvalidArgumentError(fmt::format("{} options at once are too many; set at most {}",
                                                  values.size(), kMaxKeysPerCall));
  }
  Layers layers = Snapshot()->layers;
  std::vector<OptionWrite> writes;
  std::string wrong;
  std::string pinned;
  for (const auto& [name, text] : values) {
    const std::string shown = Join("", name);
    absl::StatusOr<OptionWrite> write = ParseNamed(name, text);
    if (!write.ok()) {
      AddLine(&wrong, fmt::format("{}: {}", shown, std::string(write.status().message())));
      continue;
    }
    const auto other = std::find_if(
        writes.begin(), writes.end(),
        [&write](const OptionWrite& each) { return SameThing(*each.option, *write->option); });
    if (other != writes.end()) {
      AddLine(&wrong,
              fmt::format("{}: is the same option as {}; keep one of them", shown, other->path));
    }
    if (const OptionWrite* pin = FindPin(layers, *write->option)) {
      AddLine(&pinned, fmt::format("{}: {}", shown, PinText(*pin, layers.file)));
    }
    writes.push_back(*std::move(write));
  }
  if (!wrong.empty()) return absl::InvalidArgumentError(wrong);
  if (!pinned.empty()) return absl::FailedPreconditionError(pinned);

  std::vector<StoredSetting> put;
  std::vector<std::string> erase;
  for (OptionWrite& write : writes) {
    const Option& option = *write.option;
    for (std::string& key : StoredKeys(option)) erase.push_back(std::move(key));
    put.push_back({std::string(option.name()), FormatOption(option, write.value)});
    Forget(option, &layers.runtime);
    layers.runtime.push_back(std::move(write));
  }
  for (const Problem& problem : CheckLayers(layers, Merge(layers))) {
    if (!problem.warning) AddLine(&wrong, ProblemText(problem, layers.file));
  }
  if (!wrong.empty()) return absl::InvalidArgumentError(wrong);
  return Commit(std::move(layers), put, erase);
}

absl::Status LayeredSettings::Reset(const std::vector<std::string>& names) {
  absl::Status status;
  {
    base::MutexLock lock(&writer_mutex_);
    status = ResetLocked(names);
  }
  if (status.ok() && on_change_) on_change_();
  return status;
}

absl::Status LayeredSettings::ResetLocked(const std::vector<std::string>& names) {
  Layers layers = Snapshot()->layers;
  std::vector<std::string> erase;
  std::string wrong;
  if (names.empty()) {
    layers.runtime.clear();
    for (const auto& [key, option] : stored_) erase.push_back(key);
  }
  for (const std::string& name : names) {
    const Named named = FindNamed(name);
    if (named.option != nullptr) {
      // Only what was set by this very option: its other spelling is another value.
      for (const auto& [key, option] : stored_) {
        if (option == named.option) erase.push_back(key);
      }
      layers.runtime.erase(
          std::remove_if(layers.runtime.begin(), layers.runtime.end(),
                         [&](const OptionWrite& write) { return write.option == named.option; }),
          layers.runtime.end());
    } else if (stored_.count(name) != 0) {
      erase.push_back(name);
    } else {
      AddLine(&wrong, fmt::format("{}: {}", Join("", name), UnknownName(name)));
    }
  }
  if (!wrong.empty()) return absl::InvalidArgumentError(wrong);
  for (const Problem& problem : CheckLayers(layers, Merge(layers))) {
    if (!problem.warning) AddLine(&wrong, ProblemText(problem, layers.file));
  }
  if (!wrong.empty()) return absl::InvalidArgumentError(wrong);
  if (erase.empty()) return absl::OkStatus();
  return Commit(std::move(layers), {}, erase);
}

}  // namespace hotel::settings
