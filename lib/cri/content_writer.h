// ContentWriter: blobs on their way into containerd's content store (C37). Internal to cri: included by .cc
// files only.
#pragma once

#include <memory>
#include <string>

#include "base/call.h"
#include "cri/content_service.h"
#include "cri/endpoint.h"
#include "cri/rpc.h"

namespace prefetch::cri {

// Any thread may call. Has a connection of its own: bytes of blobs delay no short call.
class ContentWriter {
 public:
  explicit ContentWriter(const Endpoint& endpoint);
  ContentWriter(const ContentWriter&) = delete;
  ContentWriter& operator=(const ContentWriter&) = delete;
  ~ContentWriter();

  CallResult<OpenedBlob> Open(const base::Call& call, const std::string& lease, const BlobToWrite& blob);

 private:
  class Stream;
  struct Connection;
  std::unique_ptr<Connection> connection_;  // its writers do not outlive it
};

}  // namespace prefetch::cri
