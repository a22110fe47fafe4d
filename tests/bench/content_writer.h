// ContentWriter: one blob on its way into containerd's content store.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"

namespace prefetch::bench {

struct BlobToWrite {
  // As containerd names the ingest of its own pull ("layer-sha256:…"), so that a pull at the same time waits
  // for this one instead of fetching the blob again.
  std::string ref;
  std::string digest;
  std::uint64_t size = 0;
  std::map<std::string, std::string> labels;
};

// Makes writers over one connection. Any thread may call.
class ContentStore {
 public:
  // Everything that is written belongs to `lease`.
  ContentStore(const std::string& socket, std::string lease);
  ContentStore(const ContentStore&) = delete;
  ContentStore& operator=(const ContentStore&) = delete;
  ~ContentStore();

  class Writer;
  // Begins or resumes. The store checks size and digest when the blob is complete.
  std::unique_ptr<Writer> Open(BlobToWrite blob);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

// One thread at a time.
class ContentStore::Writer {
 public:
  struct Stream;
  Writer(BlobToWrite blob, std::unique_ptr<Stream> stream);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();

  // How much is there already. The blob's size if it is complete.
  base::Result<std::uint64_t> Begin();
  // The bytes that follow those that are there.
  base::Status Append(std::string bytes);
  // Whole and right, or an error.
  base::Status Commit();

 private:
  base::Status Failure(const std::string& what);

  const BlobToWrite blob_;
  std::unique_ptr<Stream> stream_;
  std::uint64_t offset_ = 0;
};

}  // namespace prefetch::bench
