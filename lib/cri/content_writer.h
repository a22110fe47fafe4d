// ContentWriter: blobs on their way into containerd's content store (C37). Internal to cri: included by .cc
// files only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/call.h"
#include "containerd_content_v1.grpc.pb.h"
#include "cri/content_service.h"
#include "cri/endpoint.h"
#include "cri/rpc.h"

namespace prefetch::cri {

// Any thread may call. Uses a connection of its own, so that bytes of blobs delay no short call.
class ContentWriter {
 public:
  explicit ContentWriter(const Endpoint& endpoint)
      : channel_(endpoint, "fetch"),
        stub_(::containerd::services::content::v1::Content::NewStub(channel_.grpc())) {}
  ContentWriter(const ContentWriter&) = delete;
  ContentWriter& operator=(const ContentWriter&) = delete;

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
  // Discards the bytes that were written under `ref`.
  void Abort(const std::string& ref);

  RpcChannel channel_;  // its writers do not outlive it
  const std::unique_ptr<::containerd::services::content::v1::Content::Stub> stub_;
};

}  // namespace prefetch::cri
