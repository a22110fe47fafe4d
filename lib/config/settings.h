// Settings: the one table of what an operator may set. Flags, environment variables, fields of the
// configuration file, the overlay of these sources, --help and the reference page all derive from it. A new
// setting: a member of RawConfig, a row in settings.cc, and its validation in agent_config.cc. A member
// without a row does not compile. Below: the defaults of settings, and patterns of their values.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/constant_text.h"
#include "config/raw_config.h"
#include "image/kubelet_version.h"

namespace prefetch::config {

// The titles of --help, in its order.
enum class SettingGroup { kList, kRuntime, kKubelet, kRegistry, kTouch, kNode, kEndpoints, kOnce };
const char* GroupTitle(SettingGroup group);

// Where a setting may be given. Every setting but --config has an environment variable and a field of the
// file.
enum class SettingPlace {
  kEverywhere,
  kNotInFile,  // it names the file
  kFileFirst,  // rarely set: the flag still works, is not shown by --help, and warns
};

struct Setting {
  using Text = std::optional<SourcedValue<std::string>> RawConfig::*;
  using Switch = std::optional<SourcedValue<bool>> RawConfig::*;
  using Texts = std::optional<SourcedValue<std::vector<std::string>>> RawConfig::*;

  const char* name;  // "kubelet-version"; the flag, the variable and the field are spelled from it
  std::variant<Text, Switch, Texts> member;
  SettingGroup group;
  SettingPlace place = SettingPlace::kEverywhere;
  const char* fallback = "";  // the value if nothing is set, as the help shows it; empty: there is none
  const char* help;
  char divider = ',';               // between the values of the variable, where there may be several
  const char* flag_name = nullptr;  // another name of the flag, in the singular: "…-mirror"
  const char* words = "";           // "auto|none": all values that there are; empty: any
  const char* pattern = "";         // a regular expression (ECMA 262) that every valid value matches
};

std::span<const Setting> Settings();
// The words of a setting, one by one; none: any value.
std::vector<std::string> WordsOf(const Setting& setting);
// The row of this name; it must exist.
const Setting& SettingNamed(std::string_view name);

std::string FlagOf(const Setting& setting);      // "--kubelet-version"
std::string VariableOf(const Setting& setting);  // "PREFETCHD_KUBELET_VERSION"
std::string FieldOf(const Setting& setting);     // "kubeletVersion"
// One line for --help, with "(repeatable)" and the fallback.
std::string HelpOf(const Setting& setting);

// Defaults of what an operator may set. Those of the limits stand with them, in plan/limits.h.
constexpr const char* kDefaultListen = "127.0.0.1:9477";
// The exit codes of --once, as --help and the reference have them.
inline constexpr const char* kOnceExitCodes =
    "0 all ready, 1 not all ready (or the result could not be printed), 2 bad usage or input, 3 timed out, 4 "
    "the "
    "runtime could not be reached";
constexpr const char* kDefaultLocal = "/run/prefetchd/prefetchd.sock";

// Patterns of the values of settings, for the JSON Schema (ECMA 262). Internal to config/. The complete rules
// are in config/agent_config.cc.

inline constexpr const char* kPath = "^/";
inline constexpr const char* kNotEmpty = "[^\\u0000]";
inline constexpr const char* kHostPort =
    "^(\\[.+\\]|[^:\\[\\]]*):0*(0|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|"
    "6553[0-5])$";
inline constexpr const char* kOtherHostPort =
    "^(\\[.+\\]|[^:\\[\\]]+):0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|"
    "6553[0-5])$";
inline constexpr const char* kProxy = "^https?://";
// kVersion matches versions from image::kOldestKnownKubelet on, and kRules those whose rules are known.
// Numbers have four digits at most.
inline constexpr const char* kVersion =
    "^v?(0{0,3}1\\.(0{0,2}(3[1-9]|[4-9][0-9])|0?[1-9][0-9]{2}|[1-9][0-9]{3})|"
    "(0{0,3}[2-9]|0{0,2}[1-9][0-9]|0?[1-9][0-9]{2}|[1-9][0-9]{3})\\.[0-9]{1,4})(\\.[0-9]{1,4})?([+-]|$)";
static_assert(image::kOldestKnownKubelet.minor == 31 && image::kNewestKnownMinor < 40);
inline constexpr std::string_view kRulesBegin = "^v?0{0,3}1\\.0{0,2}3[1-";
inline constexpr std::string_view kRulesEnd = "](\\.[0-9]{1,4})?([+-]|$)";
inline constexpr std::string_view kNewestDigit = image::kNewestKnownName.substr(3);
inline constexpr const char* kRules = base::ConstantText<kRulesBegin, kNewestDigit, kRulesEnd>::kText;
inline constexpr const char* kImagePattern = "^[^\\u0000-\\u0020\\u007f]{1,500}$";
inline constexpr const char* kLabelKey = "^[a-z0-9.-]{1,253}/[A-Za-z0-9._-]{1,63}$";
inline constexpr const char* kLabelName = "^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$";

}  // namespace prefetch::config
