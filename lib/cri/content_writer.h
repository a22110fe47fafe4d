// ContentWriter: blobs on their way into containerd's content store (C37). Internal to cri: included by .cc
// files only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/call.h"
#include "cri/content_service.h"
#include "cri/endpoint.h"
#include "cri/rpc.h"

namespace prefetch::cri {

// Any thread may call. Uses a connection of its own, so that bytes of blobs delay no short call.
class ContentWriter {
 public:
  explicit ContentWriter(const Endpoint& endpoint);
  ContentWriter(const ContentWriter&) = delete;
  ContentWriter& operator=(const ContentWriter&) = delete;
  ~ContentWriter();

  CallResult<OpenedBlob> Open(const base::Call& call, const std::string& lease, const BlobToWrite& blob);

  // Ends one ingest, for ContentService::FinishIngests: commits it if it is complete. `discard`: aborts it
  // otherwise; without, it stays. Returns the number of discarded bytes.
  CallResult<std::uint64_t> Finish(const base::Call& call, const std::string& lease, const std::string& ref,
                                   bool discard);

 private:
  class Stream;
  // Opens the ingest. The Stream is null unless the state is kWritable.
  CallResult<std::pair<BlobState, std::unique_ptr<Stream>>> Begin(const base::Call& call,
                                                                  const std::string& lease,
                                                                  const BlobToWrite& blob);
  struct Connection;
  std::unique_ptr<Connection> connection_;  // its writers do not outlive it
};

}  // namespace prefetch::cri
