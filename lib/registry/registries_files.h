// RegistriesFiles: CRI-O's registries.conf on this node, with its drop-ins and short names (R49).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/stamped_files.h"
#include "registry/registries_conf.h"

namespace prefetch::registry {

// The files' settings, or that they are unknown. A value.
struct RegistriesSettings {
  std::string file;                            // the first one, as the host calls it; empty: not looked at
  std::shared_ptr<const RegistriesConf> conf;  // nullptr: only CRI-O knows
  std::vector<std::string> notes;              // a sentence each

  friend bool operator==(const RegistriesSettings& a, const RegistriesSettings& b) {
    bool same = a.conf == b.conf || (a.conf && b.conf && *a.conf == *b.conf);
    return same && a.file == b.file && a.notes == b.notes;
  }
};

// Any thread may call. Files are looked at each time and read again when one of them, or a folder of
// drop-ins, has changed: CRI-O reads them when it starts, when it gets SIGHUP and when a drop-in changes, so
// for a while this may know more than it does.
class RegistriesFiles {
 public:
  // CRI-O's `file` ("/etc/containers/registries.conf") is `host_root` + `file` here.
  RegistriesFiles(std::string file, std::string host_root);
  RegistriesFiles(const RegistriesFiles&) = delete;
  RegistriesFiles& operator=(const RegistriesFiles&) = delete;

  // Returns the same object while the content is the same. Blocks for disk reads only. Problems are notes in
  // it.
  std::shared_ptr<const RegistriesSettings> Current() PREFETCH_EXCLUDES(mutex_);

 private:
  const std::string file_;
  const std::string host_root_;
  base::Mutex mutex_;
  base::MadeOfFiles<RegistriesSettings> settings_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::registry
