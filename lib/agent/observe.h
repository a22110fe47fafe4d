// Observer: polls the runtime on behalf of all entries. ImageWatch: reports the runtime's image events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/cluster/periodic_thread.h"
#include "base/call.h"
#include "base/clock.h"
#include "cri/content_service.h"
#include "cri/image_service.h"
#include "image/local_image.h"
#include "image/platform.h"
#include "plan/desired.h"
#include "plan/disk_budget.h"
#include "plan/observation.h"
#include "plan/unlisted.h"

namespace prefetch::agent {

// Measures the filesystem that holds `mountpoint`. Injected: tests have no disk to fill.
using DiskProbe = std::function<plan::DiskSpace(const std::string& mountpoint)>;
// Measures by statvfs. A pod does not mount the runtime's folders, but its root is an overlay with an upper
// layer among the runtime's snapshots, and statvfs of an overlay measures the upper layer (Linux:
// fs/overlayfs/super.c).
plan::DiskSpace ProbeDisk(const std::string& mountpoint);

// `probe` for a filesystem that may not answer: after a second, the space is that of the newest answer.
// Copies share it. Any thread may call.
DiskProbe WithDeadline(DiskProbe probe);

struct RuntimePoll {
  std::optional<image::RuntimeInfo> connected;  // a connection was made, or made anew
  std::optional<cri::CallError> error;          // nothing below is known
  // Nothing that concerns the list has changed since the previous poll; `locals` is then empty.
  bool unchanged = false;
  std::vector<std::optional<plan::Local>> locals;  // by index in the list
  // Images that came and are on no list; null: as in the poll before.
  std::shared_ptr<const plan::Unlisted> unlisted;
  plan::DiskSpace disk;
  std::string disk_path;
};

// Caches the facts about each image id, and a hash of the newest answer, by which it recognises an unchanged
// one. No lock: the Agent runs one Poll at a time. Owned by the Agent.
class Observer {
 public:
  // `audit_ignore`: patterns of images that no list needs to have (image/reference.h).
  Observer(cri::ImageService& images, cri::ContentService& content, DiskProbe disk, image::Platform node,
           std::vector<std::string> audit_ignore)
      : images_(images),
        content_(content),
        disk_(std::move(disk)),
        node_(std::move(node)),
        audit_ignore_(std::move(audit_ignore)) {}

  // Calls ListImages once, and ImageStatus for each image id that is new, or has lost its last tag. For a
  // name without a repo digest, or an image without layers, further calls find out whether it starts.
  // Connects first, if there is no connection or the runtime may be another process than before. `full`:
  // answers in full even if nothing has changed, since the list or the caller's memory has. `wall`: now.
  RuntimePoll Poll(const base::Call& call, const plan::ImageList& list, bool full, base::WallTime wall);

 private:
  struct ImageFacts {
    std::optional<image::Platform> platform;
    std::string chain_id;
    bool artifact = false;
    bool untagged = false;  // it had no tag when that was asked
    bool gone = false;      // the runtime has nothing by its name: gone in between, or never there (C34)
    bool foreign = false;   // for another architecture, which the node runs as well
    // Result of pulling::IsStartable. An image that starts is not asked about again while it is here: only
    // its removal takes its snapshots away.
    bool starts = false;
  };

  std::optional<cri::CallError> Connect(const base::Call& call, RuntimePoll& poll);
  RuntimePoll PollConnected(const base::Call& call, const plan::ImageList& list, bool full,
                            base::WallTime wall);
  std::shared_ptr<const plan::Unlisted> Audit(const std::vector<image::LocalImage>& images,
                                              const plan::ImageList& list, base::WallTime wall);
  std::optional<cri::CallError> Learn(const base::Call& call, const plan::ImageList& list,
                                      const image::LocalImageIndex& index);
  const image::LocalImage* FindHere(const image::LocalImageIndex& index,
                                    const image::Reference& reference) const;

  cri::ImageService& images_;
  cri::ContentService& content_;
  DiskProbe disk_;
  image::Platform node_;
  const std::vector<std::string> audit_ignore_;
  plan::Arrivals arrivals_;
  bool connected_ = false;
  bool names_are_pulled_ = false;  // the runtime has no name that was not pulled (C34)
  std::uint64_t generation_ = 0;   // of the runtime that was asked who it is
  std::string mountpoint_;
  std::optional<std::uint64_t> last_;        // hash of the newest answer; none: the answer was not applied
  std::map<std::string, ImageFacts> facts_;  // by image id; those of the newest answer
};

// Receives the runtime's image events on a thread of its own. A runtime without such events is asked for them
// every ten minutes. One owner. `content` and everything that `changed` uses must outlive it.
class ImageWatch {
 public:
  // `changed` is called on that thread, at most four times a second: changes within 250 ms after a call cause
  // no further call, so the callee polls again after that time.
  ImageWatch(cri::ContentService& content, std::function<void()> changed);

 private:
  base::TimePoint Turn(const base::Call& call);

  cri::ContentService& content_;
  const std::function<void()> changed_;
  int failures_ = 0;  // in a row
  base::TimePoint reported_at_;
  PeriodicThread thread_;  // the last member: its turns use the others
};

}  // namespace prefetch::agent
