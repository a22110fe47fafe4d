// StatusDocument: what prefetchctl understands of a status document (the reverse of status_json.h).
//
// It may come from an older or newer agent, or from another server on that port. So the frame is strict,
// missing or unknown members are ignored, words from enums stay text, and nothing in it can harm a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "plan/snapshot.h"

namespace prefetch::status {
class Members;
}

namespace prefetch::screen {

struct StatusVerdict {
  std::string result, reason;  // empty: the document does not say

  friend bool operator==(const StatusVerdict&, const StatusVerdict&) = default;
};

struct StatusPull {
  std::string state;
  std::uint64_t attempts = 0;
  std::optional<std::uint64_t> bytes_done, bytes_total, bytes_per_second;
  std::optional<base::WallTime> started_at, finished_at, next_attempt_at, retry_requested_at;
  std::string last_error;

  friend bool operator==(const StatusPull&, const StatusPull&) = default;
};

struct StatusTouch {
  std::string state;          // "Done"; empty: never touched, and not to be
  std::string obstacle, why;  // "None"; of the newest one without effect
  std::uint64_t attempts = 0;

  friend bool operator==(const StatusTouch&, const StatusTouch&) = default;
};

// The registry's answers about it.
struct StatusRegistry {
  std::string answer, detail, digest;  // answer empty: not asked since the agent started
  std::string reason, message;
  bool fresh = false;
  bool agrees = false;  // a pod with Always would pass
  std::optional<base::WallTime> checked_at, confirmed_at, next_check_at;
  std::string changed_from;  // what a pull of the agent's replaced last; empty: nothing
  std::optional<base::WallTime> changed_at;

  friend bool operator==(const StatusRegistry&, const StatusRegistry&) = default;
};

// One registry, as the node asks it.
struct StatusRegistryServer {
  std::string name, trouble, message;  // trouble empty: it answers, or was not asked
  std::uint64_t entries = 0;
  std::optional<base::WallTime> unreachable_since, held_until;

  friend bool operator==(const StatusRegistryServer&, const StatusRegistryServer&) = default;
};

// One of several pods that the entry is to be ready for.
struct StatusSpelling {
  std::string image;  // as such pods write it
  StatusVerdict never, if_not_present, always;
  std::string ready_as{};  // image::TextOf; empty: pods without credentials of their own

  friend bool operator==(const StatusSpelling&, const StatusSpelling&) = default;
};

struct StatusImage {
  std::string image;  // as the list writes it; of several spellings the first
  bool required = true, applies = true, present = false, ready = false, exposed = false;
  bool usable = true;            // false: absent, or no container would run from it (not unpacked)
  bool pinned = false;           // in the runtime: kubelet's garbage collection leaves it alone
  bool settled = false;          // ready once, or failed for good: waiting longer changes nothing
  std::string ready_for;         // "Never"
  bool ready_as_hidden = false;  // the agent does not tell for which pods it is judged
  std::string ready_as;          // as StatusSpelling::ready_as; empty, too, where `spellings` differ in it
  std::string phase, reason, message;
  std::string image_id, digest, pulled_with, credential;
  std::uint64_t size_bytes = 0;
  StatusVerdict never, if_not_present, always;  // the worst of `spellings`
  std::vector<StatusSpelling> spellings;        // empty: there is one such pod
  StatusPull pull;
  std::string open;  // "Auto"
  StatusTouch touch;
  std::optional<StatusRegistry> registry;  // none: its registry is not asked
  std::vector<std::string> from, aliases;

  friend bool operator==(const StatusImage&, const StatusImage&) = default;
};

struct StatusSource {
  std::string name, hash, error;
  std::uint64_t entries = 0;
  std::optional<base::WallTime> loaded_at;

  friend bool operator==(const StatusSource&, const StatusSource&) = default;
};

struct StatusDisk {
  std::string path;
  std::uint64_t capacity_bytes = 0, available_bytes = 0, needed_bytes = 0;
  std::uint64_t kept_free_bytes = 0;  // 0: the agent does not tell (yet)
  bool pressure = false;

  friend bool operator==(const StatusDisk&, const StatusDisk&) = default;
};

struct StatusKubelet {
  // "none": it was declared that there is no kubelet here. Empty: not known.
  std::string version, verification, root;
  std::string version_from, verification_from;  // "declared", a file, "command line", "default"
  std::string rules;                            // of another version than its own; empty: its own count
  std::string records_note;                     // the problem with its records; empty: none

  bool None() const { return version == "none"; }

  friend bool operator==(const StatusKubelet&, const StatusKubelet&) = default;
};

// A name that came while the agent looked, and is on no list.
struct StatusUnlisted {
  std::string image, image_id;
  std::uint64_t size_bytes = 0;
  std::optional<base::WallTime> first_seen, arrived_at;
  bool present = true;

  friend bool operator==(const StatusUnlisted&, const StatusUnlisted&) = default;
};

struct StatusDocument {
  std::string node, phase, reason, message;
  std::vector<std::string> hidden;  // the members that only known callers see; empty: none
  bool ready = false;
  std::uint64_t required = 0, required_ready = 0;
  std::optional<base::WallTime> time;
  std::string list_hash;
  std::vector<StatusSource> sources;
  std::vector<std::string> warnings, problems;
  std::string runtime_name, runtime_version, runtime_endpoint, runtime_error;
  bool runtime_up = false;
  StatusKubelet kubelet;
  std::optional<StatusDisk> disk;
  std::vector<StatusRegistryServer> registries;
  std::vector<StatusImage> images;
  std::vector<StatusUnlisted> unlisted;
  std::optional<base::WallTime> unlisted_since;  // none: the agent does not tell (yet)
  std::uint64_t unlisted_left_out = 0;

  friend bool operator==(const StatusDocument&, const StatusDocument&) = default;
};

// InvalidArgument if it is no NodeStatus of prefetchd.dev/v1, a known member has a wrong type (the message
// names its path), or it is longer than 32 MiB. Control characters in texts become blanks.
base::Result<StatusDocument> ParseStatusDocument(std::string_view json);

// Returns this agent's own Snapshot as if its status document had been read. A new member is read and made in
// status_document.cc, and set by the HostileNode of snapshot_document_test.cc, which compares the two.
StatusDocument DocumentOf(const plan::Snapshot& snapshot);

// Parts that the status document and the document about one image share. Internal to screen/.
// Mistakes go to `in`; missing or unknown members are left out.
StatusImage ReadStatusImage(const status::Members& in);
StatusKubelet ReadStatusKubelet(const status::Members& in);

}  // namespace prefetch::screen
