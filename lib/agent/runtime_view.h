// RuntimeView: the loop's facts about the container runtime: state, name, version, and the next poll.
// Observer: polls the runtime on behalf of all entries. ImageWatch: reports the runtime's image events.
// StaleMounts: mounted files that were replaced on the node.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/cluster/periodic_thread.h"
#include "agent/loop.h"
#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/timed_reader.h"
#include "credentials/keyring.h"
#include "cri/content_service.h"
#include "cri/image_service.h"
#include "image/local_image.h"
#include "image/platform.h"
#include "plan/desired.h"
#include "plan/disk_budget.h"
#include "plan/observation.h"
#include "plan/poll_trigger.h"
#include "plan/snapshot.h"
#include "plan/unlisted.h"
#include "pulling/query_registry.h"

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

// Single-file mounts of this process's container whose file was replaced on the node: docker configs, CA
// bundles, lists. With or without a kubelet. No lock: several threads may use it, one after the other.
class StaleMounts {
 public:
  // `mountinfo`: the file that lists this process's mounts; empty to look at none.
  explicit StaleMounts(std::string mountinfo) : mountinfo_(std::move(mountinfo)) {}

  // A sentence for each such file. Looks anew every half minute: a node has thousands of mounts. Blocks for a
  // second at most: a mount may not answer.
  const std::vector<std::string>& Poll(base::TimePoint now);

 private:
  base::SequenceChecker sequence_checker_;
  const std::string mountinfo_;
  base::TimePoint next_;
  std::vector<std::string> problems_;
  std::unique_ptr<base::TimedReader> files_ = std::make_unique<base::TimedReader>();
};

// Result of one poll of the runtime.
struct RuntimePolled {
  std::uint64_t list_epoch = 0;  // the list that was in force; an answer for an older list is discarded
  std::uint64_t sequence = 0;    // the number of the poll
  RuntimePoll poll;
  credentials::KeyringHealth credentials;
  std::vector<std::string> stale_mounts;  // a sentence each
};

// No lock: the loop's thread alone uses it, which Loop::Check checks. The constructor's arguments must
// outlive it.
class RuntimeView {
 public:
  // `endpoint`: as shown in status and logs.
  RuntimeView(Loop& loop, credentials::Keyring& keyring, Observer observer, StaleMounts mounts,
              pulling::RegistryAccessFor access, std::string endpoint);

  const plan::RuntimeStatus& status() const { return status_; }
  bool up() const { return status_.up; }
  bool ever_up() const { return ever_up_; }
  // Returns the time since the runtime stopped answering; nullopt while it answers.
  std::optional<base::Duration> DownFor() const;
  image::RuntimeInfo info() const { return status_.Info(); }
  // Returns true if the runtime may keep a pull waiting for others, so that none of its bytes move:
  // containerd 2.1 and later.
  bool queues() const { return queues_; }
  const std::shared_ptr<const plan::Unlisted>& unlisted() const { return unlisted_; }
  // Mounted files that were replaced on the node, a sentence each; each poll tells them.
  const std::vector<std::string>& stale_mounts() const { return stale_mounts_; }

  // Number of polls that were begun. An answer to one of them may not know yet what changes now.
  std::uint64_t polls() const { return sequence_; }
  // Returns true if the newest poll reported every entry.
  bool seen_in_full() const { return !in_full_; }
  // The next poll tells of every entry, whatever has changed.
  void PollInFull() { in_full_ = true; }
  // Polls as soon as possible. A poll that runs may be too old for the caller, so another one follows it.
  void PollNow() {
    next_poll_ = loop_.now();
    poll_again_ = poll_running_;
  }
  // The runtime has reported that an image has come, gone or changed.
  void ImagesAnnounced() { trigger_ = plan::AfterRuntimeEvent(trigger_, loop_.now()); }
  // The runtime did not answer. The result of a poll that runs no longer shows that it does. `pulls`: how
  // many pulls that it has begun go on.
  void Failed(const cri::CallError& error, std::size_t pulls);
  // Logs once how registries are asked.
  void ReportAccess();

  // Call it once a turn. Before the first list, there is nothing to look for. The loop gives the result to
  // `apply`, which returns whether it brings news.
  void StartPollIfDue(base::Workers& workers, std::shared_ptr<const plan::ImageList> list,
                      std::uint64_t list_epoch, std::function<bool(RuntimePolled polled)> apply);
  struct News {
    bool reconnected = false;  // perhaps to another process
    bool answered = false;
    bool reports_entries = false;  // RuntimePoll::locals are of the list in force
  };
  // `pulls`: as with Failed.
  News Handle(RuntimePolled& event, std::uint64_t list_epoch, std::size_t pulls);
  // Call it once a turn. A runtime that stays away is no news by itself, but the end of its grace period is.
  void CheckGrace();
  // Returns the time of the next turn that is needed without an event.
  base::TimePoint NextTurn(bool has_list) const;

 private:
  void ApplyUnlisted(std::shared_ptr<const plan::Unlisted> unlisted);
  void ApplyMounts(std::vector<std::string> stale);
  void ApplyAccess();

  Loop& loop_;
  credentials::Keyring& keyring_;
  Observer observer_;
  StaleMounts mounts_;
  const pulling::RegistryAccessFor access_;
  plan::RuntimeStatus status_;
  bool access_logged_ = false;  // status_.access, in the log
  bool ever_up_ = false;
  std::optional<base::TimePoint> down_since_;
  bool grace_over_ = false;
  bool queues_ = false;
  bool poll_running_ = false;
  bool poll_again_ = false;        // as soon as it has ended
  bool poll_is_outdated_ = false;  // the runtime has gone since it began
  bool in_full_ = true;
  std::uint64_t sequence_ = 0;
  base::TimePoint next_poll_;
  plan::PollTrigger trigger_;
  int failed_polls_ = 0;
  std::shared_ptr<const plan::Unlisted> unlisted_;
  std::vector<std::string> stale_mounts_;
};

}  // namespace prefetch::agent
