// What was written where, and what comes out of it (decisions 3).
//
// Weakest first: the built-in defaults in the profile's column, values set at run time, the
// configuration file, the environment; and for a provider, above all of these, what stands under
// `providers.<name>`. A provider's own profile replaces the column of defaults only: what an
// operator wrote anywhere wins over it.
#ifndef HOTEL_SETTINGS_LAYERS_H_
#define HOTEL_SETTINGS_LAYERS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/settings.h"

#include "libhotel/settings/registry.h"

namespace hotel::settings {

/// One option as somebody wrote it.
struct OptionWrite {
  enum class Where { kRuntime, kFile, kEnvironment };
  const Option* option = nullptr;  ///< null only for a provider's profile, in problems
  OptionValue value;
  int line = 0;      ///< kFile
  std::string path;  ///< as written, for messages; the variable for kEnvironment
  Where where = Where::kFile;
};

/// What stands under one provider.
struct ProviderLayer {
  std::optional<std::size_t> profile;
  int profile_line = 0;
  std::string profile_path;  ///< "providers.acme.profile"
  std::vector<OptionWrite> writes;

  bool empty() const noexcept { return !profile && writes.empty(); }
};

/// Everything that was written, not merged. A value.
struct Layers {
  std::string file;  ///< name for messages
  std::size_t profile = 0;
  std::vector<OptionWrite> runtime;
  std::vector<OptionWrite> written;  ///< in the file
  std::vector<OptionWrite> environment;
  std::map<std::string, ProviderLayer, std::less<>> providers;  ///< by routing name
};

/// One consistent set of options. A span beside scope `provider` is dropped.
Settings Merge(const Layers& layers);

/// The strongest write that has a say in what a global option is: its own, or one of another
/// spelling of (a part of) it. Null when none.
const OptionWrite* StrongestWrite(const Layers& layers, const Option& option);
/// The write of the file or the environment that settles what `option` is, itself or by another
/// spelling; null when a value set at run time is free to.
const OptionWrite* FindPin(const Layers& layers, const Option& option);
/// Whether writing both is writing one thing twice.
bool SameThing(const Option& a, const Option& b) noexcept;

/// Something about a merged set of options that makes no sense.
struct Problem {
  OptionWrite at;  ///< where to say it
  std::string message;
  bool warning = false;
  std::vector<std::string_view> options;  ///< paths of the options it is about
};

/// Errors and warnings of values that are each in range but do not go together (decisions 2). A
/// mistake in global values is reported once, not again for every provider.
std::vector<Problem> CheckLayers(const Layers& layers, const Settings& merged);

}  // namespace hotel::settings

#endif  // HOTEL_SETTINGS_LAYERS_H_
