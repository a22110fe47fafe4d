// kubelet's records of its own pulls: ImagePulledRecord and ImagePullIntent (K15 to K17, K35). Pure;
// verdict_reader.h reads the files.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_name.h"
#include "base/secret.h"
#include "image/kubelet_version.h"
#include "image/pod_coordinates.h"

namespace prefetch::kubelet {

using image::Coordinates;

// A pull secret: one that a record names, or one that a pod has. The hash is the unsalted digest of a
// password, so it is held like one; empty if it is not known.
struct HashedSecret {
  Coordinates secret;
  base::Secret hash;
};

// The pods that may use the image under one repository's name.
struct CredentialEntry {
  bool node_pods_accessible = false;  // every pod of the node
  std::vector<HashedSecret> secrets;
  std::vector<Coordinates> service_accounts;
};

struct PulledRecord {
  std::string image_ref;
  // By "trimmed image": which spelling of a repository that is depends on the version, see TrimmedImage().
  std::map<std::string, CredentialEntry> mapping;
};

// kubelet's own reading of one of its files.
enum class Reading {
  kNotAsked,     // there is no image, or no kubelet
  kAbsent,       // no file, or one that is about something else
  kUndecodable,  // kubelet itself cannot make sense of it, whatever we could
  kUnreadable,   // we could not read it; kubelet perhaps can
  kFound,
};

struct RecordReading {
  Reading reading = Reading::kAbsent;
  PulledRecord record;  // if kFound
};

// The content of the file of `image_ref` as a kubelet of `version` reads it: strictly, JSON or YAML, only
// versions of the record that it knows. Never kUnreadable.
RecordReading DecodeRecord(std::string_view content, std::string_view image_ref,
                           image::KubeletVersion version);
// Decodes the intent to pull `image`, the pod's literal text, likewise.
Reading DecodeIntent(std::string_view content, std::string_view image, image::KubeletVersion version);

// Returns the name of a record's file in image_manager/pulled, and of an intent's in image_manager/pulling.
std::string FileNameFor(std::string_view image_ref_or_image);

// The state of kubelet's image_manager folder as a whole.
enum class RecordsAccess {
  kReadable,
  kNoFolder,  // the root is there and has no image_manager: an old kubelet, or one whose gate is off
  kNoRoot,    // kubelet's root directory is not there
  kForbidden,
  kReplaced,  // RecordsFolderIsReplaced
};

// Returns why no record of kubelet's ever matches an image of this runtime (K18); empty if they match. `name`
// and `version` are those of CRI's Version. Verdicts need no rule of their own for it: the record of an image
// id is never there.
std::string RecordMismatchReason(std::string_view name, std::string_view version);

}  // namespace prefetch::kubelet
