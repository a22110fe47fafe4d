#include "kubelet/config_files.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/fs.h"
#include "base/text.h"

namespace prefetch::kubelet {
namespace {

constexpr std::size_t kLongestConfig = 1 << 20;
// File times move in ticks (of 4 ms at the usual 250 Hz, of 1 s on old network filesystems). A file that was
// read within the tick of its last change may change again and keep its stamp.
constexpr std::chrono::nanoseconds kTick = std::chrono::seconds(1);

}  // namespace

ConfigFiles::ConfigFiles(std::string file, std::string drop_ins, ConfigReading::Origin origin)
    : file_(std::move(file)), folder_(std::move(drop_ins)), origin_(origin) {}

ConfigFiles::Stamps ConfigFiles::ReadStamps() const {
  Stamps stamps;
  if (!file_.empty()) stamps.main = StampOf(file_);
  // A usual folder is a guess. It says nothing if the usual file beside it is not there.
  if (folder_.empty() || (OnlyUsual() && stamps.main.error != 0)) return stamps;
  auto drop_ins = ListDropIns(folder_);
  if (drop_ins) {
    stamps.drop_ins = *std::move(drop_ins);
  } else {
    stamps.folder_error = drop_ins.error();
  }
  return stamps;
}

bool ConfigFiles::IsSettled(const Stamps& stamps) {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  std::int64_t newest = stamps.main.changed_ns;
  for (const DropIn& drop_in : stamps.drop_ins) newest = std::max(newest, drop_in.stamp.changed_ns);
  return std::chrono::nanoseconds(newest) + kTick < now;
}

ConfigReading ConfigFiles::Broken(const std::string& lines) const {
  ConfigReading reading{.state = ConfigReading::State::kBroken, .origin = origin_};
  for (std::string_view line : base::Split(lines, '\n')) {
    reading.problems.push_back("kubelet's configuration cannot be used: " + std::string(line));
  }
  return reading;
}

ConfigReading ConfigFiles::ReadAll(const Stamps& stamps) const {
  ConfigReading none{.state = ConfigReading::State::kNone, .origin = origin_};
  ConfigDocuments documents;
  if (!file_.empty()) {
    auto text = base::ReadFile(file_, kLongestConfig);
    if (!text) {
      // A file at a usual place is a guess, so its absence is no mistake. Any other failure to read it is
      // reported.
      bool absent = text.error().code() == base::Code::kNotFound;
      return OnlyUsual() && absent ? none : Broken(text.error().message());
    }
    // Some distributions keep a kubeconfig under the same name.
    if (OnlyUsual() && !IsKubeletConfig(*text)) return none;
    documents.main = ConfigDocument{file_, *std::move(text)};
  }
  bool folder_absent = stamps.folder_error && stamps.folder_error->code() == base::Code::kNotFound;
  bool has_folder = !folder_.empty() && !(OnlyUsual() && folder_absent);
  if (has_folder && stamps.folder_error) {
    return Broken("drop-in folder " + folder_ + ": " + stamps.folder_error->message());
  }
  if (has_folder) documents.drop_ins.emplace();
  for (const DropIn& drop_in : stamps.drop_ins) {
    auto text = base::ReadFile(drop_in.path, kLongestConfig);
    // One file that cannot be read makes all settings unknown, since it may set any of them.
    if (!text) return Broken(text.error().message());
    documents.drop_ins->push_back({drop_in.path, *std::move(text)});
  }
  if (!documents.main && stamps.drop_ins.empty() && OnlyUsual()) return none;
  auto config = MergeKubeletConfigs(documents);
  if (!config) return Broken(config.error().message());
  return {.state = ConfigReading::State::kRead, .origin = origin_, .config = *std::move(config)};
}

const ConfigReading& ConfigFiles::Read() {
  Stamps stamps = ReadStamps();
  if (seen_ && *seen_ == stamps) return reading_;
  // The stamps are taken before the files are read: a change in between shows in the next poll. If the files
  // are too young, they are read again next time.
  bool settled = IsSettled(stamps);
  reading_ = ReadAll(stamps);
  seen_ = settled ? std::optional<Stamps>(std::move(stamps)) : std::nullopt;
  return reading_;
}

}  // namespace prefetch::kubelet
