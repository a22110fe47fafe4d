// ConfigFiles: kubelet's main configuration file and its drop-ins, read again only when they changed.
// Internal to kubelet/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kubelet/drop_ins.h"
#include "kubelet/node_facts.h"

namespace prefetch::kubelet {

// Part of one NodeFactsReader. Blocks only as a disk does. Only regular files of at most 1 MiB are read.
class ConfigFiles {
 public:
  // Either path may be empty. A configured file must exist and be valid; a usual one may be absent or no
  // KubeletConfiguration, and is then kNone.
  ConfigFiles(std::string file, std::string drop_ins, ConfigReading::Origin origin);

  const ConfigReading& Read();
  // Would Read() read anything again? Some stats.
  bool Moved() const { return !seen_ || *seen_ != ReadStamps(); }
  const ConfigReading& reading() const { return reading_; }  // of the last Read()

 private:
  // The state of the folder and the stamps, which shows whether anything must be read.
  struct Stamps {
    ConfigStamp main;
    std::optional<base::Error> folder_error;
    std::vector<DropIn> drop_ins;

    friend bool operator==(const Stamps&, const Stamps&) = default;
  };

  Stamps ReadStamps() const;
  // Whether the files are so old that a change from now on shows in their stamps.
  static bool IsSettled(const Stamps& stamps);
  ConfigReading ReadAll(const Stamps& stamps) const;
  ConfigReading Broken(const std::string& lines) const;
  bool OnlyUsual() const { return origin_ == ConfigReading::Origin::kUsual; }

  std::string file_;
  std::string folder_;
  ConfigReading::Origin origin_;
  std::optional<Stamps> seen_;  // what reading_ was made of; nullopt: read again in any case
  ConfigReading reading_;
};

}  // namespace prefetch::kubelet
