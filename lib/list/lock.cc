#include "list/lock.h"

#include <optional>
#include <utility>

#include "base/fs.h"
#include "doc/reader.h"
#include "doc/write.h"
#include "doc/yaml.h"
#include "image/reference.h"
#include "list/canonical.h"
#include "list/image_list.h"

namespace prefetch::list {
namespace {

constexpr std::string_view kLockKind = "ImageLock";

void ReadEntry(const doc::Reader& item, ListLock& lock) {
  doc::ObjectReader entry(item);
  std::optional<std::string> image = entry.String("image", doc::Need::kRequired);
  std::optional<std::string> digest = entry.String("digest", doc::Need::kRequired);
  entry.Finish();
  if (!image || !digest) return;
  auto reference = image::Reference::Parse(*image);
  if (!reference) return entry.Fail("image", reference.error().message());
  if (!image::IsDigest(*digest)) return entry.Fail("digest", image::DigestError(*digest));
  // With two digests for one image, the lock would no longer fix what is pulled.
  if (!lock.emplace(reference->Normalized(), *digest).second) entry.Fail("image", "stands here twice");
}

}  // namespace

std::string LockPath(const std::string& list_path) {
  return list_path + ".lock";
}

base::Result<ListLock> ReadLockOf(const std::string& list_path, const std::string& list_name) {
  auto text = base::ReadFile(LockPath(list_path), kMostLockBytes);
  if (text) return ReadLock(*text, list_name + ".lock");
  if (text.error().code() == base::Code::kNotFound) return ListLock();
  return text.error();
}

std::string WriteLock(const ListLock& lock, const std::string& list_name) {
  std::vector<doc::Node> images;
  for (const auto& [image, digest] : lock) {
    images.push_back(
        doc::Node::Mapping().Set("image", doc::Node::String(image)).Set("digest", doc::Node::String(digest)));
  }
  return "# Written by prefetchctl list lock " + list_name + "\n" +
         doc::WriteYaml(ListDocument(kLockKind, std::move(images)));
}

base::Result<ListLock> ReadLock(std::string_view text, const std::string& name) {
  doc::Problems problems(name);
  ListLock lock;
  if (auto root = doc::ParseYaml(text, problems)) {
    doc::ObjectReader document(doc::Reader(*root, problems));
    document.Expect("apiVersion", kListApiVersion);
    document.Expect("kind", kLockKind);
    for (const doc::Reader& item : document.Items("images")) ReadEntry(item, lock);
    document.Finish();
  }
  if (!problems.empty()) return problems.ToStatus().error();
  return lock;
}

std::vector<LockChange> DiffLocks(const ListLock& locked, const ListLock& now) {
  std::map<std::string, LockChange> changes;
  // First all locked images count as removed. The loop below then enters their new digests, and adds images
  // that only the new lock has.
  for (const auto& [image, digest] : locked) changes[image] = {image, digest, ""};
  for (const auto& [image, digest] : now) {
    LockChange& change = changes[image];
    change.image = image;
    change.to = digest;
  }
  std::vector<LockChange> different;
  for (auto& [image, change] : changes) {
    if (change.from != change.to) different.push_back(std::move(change));
  }
  return different;
}

}  // namespace prefetch::list
